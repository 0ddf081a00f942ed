"""Ingestion: files, folders and, if the web is on, addresses become documents in the library.

Each document is stored in one transaction (`agent.documents.indexing`). A file whose content is already in
the library is not read again, even under another name. A file that contains others (a mail, an archive) is
stored after them, so that it is in the library only when all of them are. Files with scans come last,
because they take longest.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Literal, get_args

from agent.documents.cover import title_of_name
from agent.documents.document import NoText, ParsedDocument, UnreadableDocument
from agent.documents.found_files import (
    FoundFile,
    Root,
    documents_inside,
    earlier_document,
    file_at,
    files_in,
    gone_documents,
    is_folder,
    no_longer_inside,
    renamed_documents,
    stored_as,
)
from agent.documents.indexing import (
    READER_VERSION,
    Indexing,
    Origin,
    is_read_as_now,
    keyword_text,
    stop_if,
)
from agent.documents.reading import PICTURES, SUFFIXES
from agent.documents.scanning import Scanning
from agent.documents.wanted import Fetched, File, Item, Member, Page
from agent.text.terms import terms
from models.catalogue import CATALOGUE
from models.protocols import (
    Embedder,
    GenerationCancelled,
    ModelError,
    ModelMissing,
    ModelUnreachable,
    TextRecogniser,
)
from traces.errors import DeepthinkError
from traces.folders import Folder, Folders, Unreadable
from traces.library import Library
from traces.records import SECTION_SEPARATOR, Document, UnknownCollection
from traces.store import Store, StoreError
from traces.typed_path import expanded_path

_PROBE = "word"  # any text that a working embedder embeds


Outcome = Literal["added", "updated", "moved", "unchanged", "removed"]


@dataclass(frozen=True, slots=True)
class IngestEvent:
    """An event of an ingestion."""


@dataclass(frozen=True, slots=True)
class FileFound(IngestEvent):
    """The number of files to read."""

    total: int


@dataclass(frozen=True, slots=True)
class FileStarted(IngestEvent):
    """Reading of a file or web page starts; ``source`` is its absolute path or URL."""

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class FileEmbedding(IngestEvent):
    """Progress in embedding a file."""

    source: str
    done_chunks: int
    total_chunks: int


@dataclass(frozen=True, slots=True)
class FileDone(IngestEvent):
    """A file is finished: ``outcome`` is what happened to its document.

    Attributes:
        language: ISO 639-1 code of the document's language if the embedder does not support it; else "".
        was: The file's name before it was moved; else "".
    """

    source: str
    name: str
    outcome: Outcome
    chunks: int
    coverage: float
    pages: int | None
    seconds: float
    notices: tuple[str, ...]
    language: str = ""
    was: str = ""


@dataclass(frozen=True, slots=True)
class LanguagesUnknown(IngestEvent):
    """Documents are in languages that the embedder does not support; sent once, at the end.

    Attributes:
        documents: Number of documents.
        languages: English names of the languages, the most frequent first.
        embedder: Name of the embedder.
    """

    documents: int
    languages: tuple[str, ...]
    embedder: str


@dataclass(frozen=True, slots=True)
class FileSetAside(IngestEvent):
    """A file is not read now.

    Attributes:
        waits: Whether it has scans and is read after the others; else it is a picture without words.
    """

    source: str
    name: str
    waits: bool


@dataclass(frozen=True, slots=True)
class ScansFound(IngestEvent):
    """An estimate of the OCR time, sent before OCR starts.

    Attributes:
        documents: Number of files with scans.
        pages: Number of their scanned pages.
        seconds: Estimated duration.
    """

    documents: int
    pages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PageRecognised(IngestEvent):
    """Progress in recognising a file's scanned pages."""

    source: str
    done_pages: int
    total_pages: int


@dataclass(frozen=True, slots=True)
class FilesUnread(IngestEvent):
    """Files were skipped because their type is not supported; sent once, at the end.

    Attributes:
        kinds: Extensions with the number of files, the most frequent first; "" for files without one.
    """

    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class FolderAway(IngestEvent):
    """A followed folder is missing or has no readable file, so its documents are kept.

    Attributes:
        path: The folder.
        is_there: Whether the folder exists and is empty.
        documents: Number of its documents in the library.
    """

    collection: str
    path: str
    is_there: bool
    documents: int


@dataclass(frozen=True, slots=True)
class FilesUnsettled(IngestEvent):
    """Files that were not read because they are still being written."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileFailed(IngestEvent):
    """A file could not be read or embedded; its earlier document is still in the library."""

    source: str
    name: str
    error: DeepthinkError


@dataclass(frozen=True, slots=True)
class IngestFinished(IngestEvent):
    """The counts and the duration of an ingestion."""

    added: int
    updated: int
    moved: int
    unchanged: int
    removed: int
    failed: int
    chunks: int
    seconds: float


class NothingToIngest(DeepthinkError):
    """Raised when the paths contain no file of a supported type."""

    title = "Nothing to read"
    kind = "input"


def ingest(
    paths: Sequence[Path],
    *,
    addresses: Sequence[str] = (),
    fetch: Callable[[str], Fetched] | None = None,
    collection: str,
    description: str = "",
    store: Store,
    embedder: Embedder,
    recogniser: TextRecogniser | None = None,
    scans: Path | None = None,
    cancel: threading.Event | None = None,
    follow: bool = False,
    exclude: Sequence[str] | None = None,
) -> Iterator[IngestEvent]:
    """Read files, folders and web pages into a collection, and update documents already in it.

    Documents of a folder whose files are gone are removed. A file that was renamed or moved is recognised
    by its content and keeps its document.

    Args:
        paths: Files, and folders that are searched for readable files (except hidden ones).
        addresses: URLs of pages and files, each read like a file.
        fetch: Fetches a URL; required if there are ``addresses``.
        collection: Name of the collection; created if new.
        description: What the collection contains, in one line for the planner.
        store: The store with the library.
        embedder: Makes the vectors.
        recogniser: Recognises the text of scans, which are read last; None skips scans.
        scans: A folder for recognised pages until their file is finished, so that a stopped ingestion
            can resume; None keeps no pages.
        cancel: Stops the ingestion between files and between batches; stored documents stay.
        follow: Whether the folders are followed once they are read (`agent.folders.sync`).
        exclude: Patterns to exclude from folders, as in a .gitignore file; None keeps the earlier ones.

    Raises:
        BadPattern: One of ``exclude`` is not a pattern.
        NothingToIngest: The paths contain no readable file, or one does not exist.
        GenerationCancelled: ``cancel`` was set.
        ModelError: The embedder is missing, does not respond or fails on every text.
        StoreError: The store cannot be written.
    """
    library, folders = Library(store), Folders(store)
    reading = Reading(store, collection, embedder, Scanning(recogniser, scans), cancel)
    documents = reading.documents
    followed = {folder.path: folder.exclude for folder in folders.followed(collection)}

    def make_root(folder: Path) -> Root:
        patterns = followed.get(os.path.realpath(folder), ()) if exclude is None else exclude
        return Root(folder, patterns)

    roots: list[Root] = []
    found_files: list[FoundFile] = []
    for typed_path in paths:
        path = expanded_path(typed_path)
        if is_folder(path):
            roots.append(make_root(path))
            found_files += reading.find_files(roots[-1])
        else:
            found_files.append(_named_file(path, typed_path))
    files = located(found_files, documents)
    existing = {str(path) for path, _ in files}
    missing = gone_documents(roots, existing, documents)
    if not files and not missing and not addresses:
        raise NothingToIngest(
            f"No readable file in {', '.join(str(p) for p in paths)}.",
            "`deepthink library formats` lists the supported file types.",
        )
    if description:
        library.describe_collection(collection, description)
    items: list[Item] = [
        # A file that was read with its folder keeps that name, even if the user now names it directly.
        File(
            path, documents[str(path)].name if file.outright and str(path) in documents else file.name, file
        )
        for path, file in files
    ]
    if fetch is not None:
        items += [Page(url, fetch) for url in dict.fromkeys(addresses)]
    yield from reading.read_all(items, existing, missing)
    if follow:
        for root in roots:
            folders.follow(Folder(collection, str(root.real), root.exclude))


def located(
    found_files: Iterable[FoundFile], documents: dict[str, Document]
) -> list[tuple[Path, FoundFile]]:
    """Each file once, with its source; the file itself if both it and a link to it were found."""
    by_path: dict[Path, FoundFile] = {}
    for file in found_files:
        if file.real not in by_path or (file.path == file.real != by_path[file.real].path):
            by_path[file.real] = file
    return [(stored_as(file, documents), file) for file in by_path.values()]


def _named_file(path: Path, typed_path: Path) -> FoundFile:
    try:
        file = file_at(path)
    except OSError as error:
        raise NothingToIngest(
            f"{typed_path} cannot be opened: {error.strerror}.", "Check the path and its permissions."
        ) from error
    if file is None:
        raise NothingToIngest(f"{typed_path} does not exist.", "Check the path and try again.")
    return file


class Reading:
    """An ingestion into one collection.

    Attributes:
        documents: The collection's earlier documents, by source.
        suffixes: Extensions of supported files.
        counts: Number of files by outcome.
        chunks: Number of passages.
        languages: Number of documents by language that the embedder does not support (ISO 639-1).
        unread: Number of unsupported files by extension.
    """

    def __init__(
        self,
        store: Store,
        collection: str,
        embedder: Embedder,
        scanning: Scanning,
        cancel: threading.Event | None,
        *,
        must_follow: bool = False,
    ) -> None:
        self._library = library = Library(store)
        self._folders = Folders(store)
        self.documents = {document.source: document for document in library.documents(collection)}
        self.suffixes = SUFFIXES if scanning.is_on else SUFFIXES - PICTURES
        self.counts: Counter[str] = Counter()
        self.chunks = 0
        self.languages: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self._collection = collection
        self._embedder = embedder
        self._scanning = scanning
        self._cancel = cancel
        self._must_follow = must_follow
        self._unreadable = self._folders.unreadable(collection)
        self._unreadable_before = dict(self._unreadable)
        self._began = time.monotonic()
        self._waiting: list[tuple[Item, Origin, ParsedDocument]] = []
        self._new_dates: dict[int, int] = {}
        self._absent_by_hash: dict[str, list[Document]] = {}  # documents whose file is not in its place
        self._to_remove: dict[int, Document] = {}

    @property
    def with_scans(self) -> bool:
        """Whether scanned pages are read."""
        return self._scanning.is_on

    def find_files(self, root: Root) -> Iterator[FoundFile]:
        """The supported files in a folder; the others are counted in ``unread``."""
        return files_in(root, self.suffixes, self.unread)

    def read_all(
        self, items: Sequence[Item], existing: Container[str], missing: Iterable[Document]
    ) -> Iterator[IngestEvent]:
        """Read files and pages, and remove the documents of missing files.

        Args:
            items: Files and pages to read.
            existing: Sources of all files that exist.
            missing: Documents whose files are gone; those whose files were only moved are kept.
        """
        self._to_remove = {document.id: document for document in missing}
        for document in self.documents.values():
            if document.source not in existing:
                self._absent_by_hash.setdefault(document.sha256, []).append(document)
        yield FileFound(len(items))
        for item in items:
            yield from self.read_item(item)
        yield from self.read_scans()
        stop_if(self._cancel)
        obsolete = list(self._to_remove.values())
        documents = self._library.documents(self._collection) if items else []
        obsolete += renamed_documents(documents, existing, exclude=self._to_remove)
        yield from self.remove(obsolete)
        if self._new_dates:
            self._library.date_documents(self._new_dates)
        if self._unreadable != self._unreadable_before:
            self._folders.set_unreadable(self._collection, self._unreadable)
        if self.languages:
            names = tuple(_language_name(code) for code, _ in self.languages.most_common())
            yield LanguagesUnknown(self.languages.total(), names, self._embedder.name)
        if self.unread:
            yield FilesUnread(tuple(self.unread.most_common()))
        counts = {outcome: self.counts[outcome] for outcome in (*get_args(Outcome), "failed")}
        seconds = round(time.monotonic() - self._began, 3)
        yield IngestFinished(**counts, chunks=self.chunks, seconds=seconds)

    def count_unchanged(self, file: File) -> None:
        """Count an unchanged file."""
        self.counts["unchanged"] += 1
        self.chunks += self.documents[file.source].chunks

    def is_hopeless(self, file: File) -> bool:
        """Whether a file could not be read and has not changed since."""
        failure = self._unreadable.get(file.source)
        return (
            failure is not None
            and is_read_as_now(failure.reader, with_scans=self.with_scans)
            and file.is_untouched(failure.bytes, failure.modified)
        )

    def is_unchanged(self, file: File) -> bool:
        """Whether a file is unchanged, judged by its size and date alone."""
        document = self.documents.get(file.source)
        return (
            document is not None
            and is_read_as_now(document.reader, with_scans=self.with_scans)
            and file.is_untouched(document.bytes, document.modified, document.ingested)
        )

    def read_item(self, item: Item) -> Iterator[IngestEvent]:
        """Read a file and the files inside it; if any of them has scans, it is read later."""
        stop_if(self._cancel)
        yield FileStarted(item.source, item.name)
        yield from self._contain_failure(item, self._read(item))

    def read_scans(self) -> Iterator[IngestEvent]:
        """Read the files with scans, page by page."""
        pages = [len(parsed.scans) for _, _, parsed in self._waiting if parsed.scans]
        if pages:
            yield ScansFound(len(pages), sum(pages), sum(pages) * self._scanning.seconds_a_page)
        for item, origin, parsed in self._waiting:
            stop_if(self._cancel)
            yield FileStarted(item.source, item.name)
            yield from self._contain_failure(item, self._recognise(item, origin, parsed))

    def remove(self, documents: Sequence[Document]) -> Iterator[IngestEvent]:
        """Remove documents, and the documents inside them."""
        members = documents_inside((document.source for document in documents), self.documents.values())
        for document in {entry.id: entry for entry in (*documents, *members)}.values():
            self._library.remove_document(document.id)
            self.counts["removed"] += 1
            yield FileDone(document.source, document.name, "removed", 0, 0.0, None, 0.0, ())

    def _contain_failure(self, item: Item, events: Iterator[IngestEvent]) -> Iterator[IngestEvent]:
        """Pass on the events of one file; its failure does not end the ingestion."""
        try:
            yield from events
        except (GenerationCancelled, StoreError, ModelMissing, ModelUnreachable, UnknownCollection):
            raise  # the other files would fail too
        except DeepthinkError as error:
            suffix = PurePath(item.source).suffix.casefold()
            if isinstance(error, UnreadableDocument) and isinstance(item, File):
                self._remember(item)
            if isinstance(error, NoText) and suffix in PICTURES and not item.outright:
                self.unread[f"{suffix} without words"] += 1
                yield FileSetAside(item.source, item.name, waits=False)
                return
            if isinstance(error, ModelError):
                self._embedder.embed_query(_PROBE)  # raises if the model fails on every text
            self.counts["failed"] += 1
            yield FileFailed(item.source, item.name, error)

    def _read(self, item: Item) -> Iterator[IngestEvent]:
        began = time.monotonic()
        origin = item.origin()
        earlier_name = self._follow_move(item, origin) if isinstance(item, File) else ""
        document = self.documents.get(item.source)
        if document is not None and origin.is_stored_as(document, with_scans=self._scanning.is_on):
            outcome: Outcome = "moved" if earlier_name else "unchanged"
            self.counts[outcome] += 1
            self.chunks += document.chunks
            if isinstance(item, File) and not self.is_unchanged(item):
                self._new_dates[document.id] = origin.modified
            yield FileDone(
                item.source,
                item.name,
                outcome,
                document.chunks,
                document.coverage,
                document.pages,
                time.monotonic() - began,
                document.notices,
                was=earlier_name,
            )
            return
        parsed = item.parsed(self._scanning.pages_of(origin))
        waiting_before = len(self._waiting)
        failures: list[str] = []
        for event in self._read_members(item, parsed, origin):
            failures += [event.name] if isinstance(event, FileFailed) else []
            yield event
        if failures:
            notice = f"{len(failures)} files in it could not be read, such as {failures[0]}."
            parsed = replace(parsed, notices=(*parsed.notices, notice))
        if (parsed.scans and self._scanning.is_on) or len(self._waiting) > waiting_before:
            self._waiting.append((item, origin, parsed))
            yield FileSetAside(item.source, item.name, waits=True)
        else:
            yield from self._index(item, origin, parsed, began)

    def _follow_move(self, file: File, origin: Origin) -> str:
        """Give a moved file its earlier document; returns the earlier name, or "" if it was not moved."""
        if file.source in self.documents:
            return ""
        absent = self._absent_by_hash.get(origin.sha256, ())
        candidates = [document for document in absent if origin.is_stored_as(document)]
        document = earlier_document(candidates, Path(file.source), self._to_remove)
        if document is None:
            return ""
        title = _title_after_move(document.title, Path(document.source), Path(file.source))
        terms_by_passage: dict[int, str] | None = None
        if title is not None:
            terms_by_passage = {
                passage.id: " ".join(
                    terms(
                        keyword_text(
                            title,
                            (document.author, document.sender),
                            passage.section.split(SECTION_SEPARATOR) if passage.section else (),
                            passage.text,
                        )
                    )
                )
                for passage in self._library.document_passages(document.id)
            }
        self._library.move_document(
            document.id, file.source, file.name, title=title, terms=terms_by_passage
        )
        for member in (document, *documents_inside([document.source], self.documents.values())):
            source = file.source + member.source.removeprefix(document.source)
            name = file.name + member.name.removeprefix(document.name)
            self.documents[source] = replace(self.documents.pop(member.source), source=source, name=name)
            self._to_remove.pop(member.id, None)
        self._absent_by_hash[origin.sha256].remove(document)
        return document.name

    def _remember(self, file: File) -> None:
        """Remember that a file could not be read."""
        size_and_date = file.size_and_date()
        if size_and_date is not None:
            reader = READER_VERSION if self.with_scans else -READER_VERSION
            self._unreadable[file.source] = Unreadable(*size_and_date, reader)

    def _read_members(self, outer: Item, parsed: ParsedDocument, origin: Origin) -> Iterator[IngestEvent]:
        """Read the supported files inside a file."""
        members = [Member(enclosed, outer, parsed, origin) for enclosed in parsed.enclosed]
        suffixes = [PurePath(member.source).suffix.casefold() for member in members]
        supported = [
            member for member, suffix in zip(members, suffixes, strict=True) if suffix in self.suffixes
        ]
        self.unread.update(suffix for suffix in suffixes if suffix not in self.suffixes)
        if supported:
            yield FileFound(len(supported))
        for member in supported:
            yield from self.read_item(member)
        sources = [member.source for member in supported]
        yield from self.remove(no_longer_inside(outer.source, sources, self.documents.values()))

    def _recognise(self, item: Item, origin: Origin, parsed: ParsedDocument) -> Iterator[IngestEvent]:
        began = time.monotonic()
        if parsed.scans:
            for done_pages in self._scanning.recognise(origin, item.data(), parsed.scans, self._cancel):
                yield PageRecognised(item.source, done_pages, len(parsed.scans))
            parsed = item.parsed(self._scanning.pages_of(origin))
        yield from self._index(item, origin, parsed, began)

    def _index(
        self, item: Item, origin: Origin, parsed: ParsedDocument, began: float
    ) -> Iterator[IngestEvent]:
        work = Indexing(origin, parsed, self._embedder)
        for done_chunks, total_chunks in work.embed(self._cancel):
            yield FileEmbedding(item.source, done_chunks, total_chunks)
        work.store(self._library, self._collection, must_follow=self._must_follow)
        self._unreadable.pop(item.source, None)
        self._scanning.forget(origin)
        outcome: Outcome = "updated" if item.source in self.documents else "added"
        language = _unsupported_language(work, self._embedder)
        self.counts[outcome] += 1
        self.chunks += len(work.chunks)
        self.languages.update([language] if language else [])
        yield FileDone(
            item.source,
            item.name,
            outcome,
            len(work.chunks),
            work.coverage,
            parsed.pages,
            round(time.monotonic() - began, 3),
            parsed.notices,
            language,
        )


def _title_after_move(title: str, old: Path, new: Path) -> str | None:
    """The new title of a moved document that is titled by its file name; None if the title stays."""
    for name_of in (title_of_name, lambda path: path.name):
        if title == name_of(old):
            return name_of(new) if name_of(new) != title else None
    return None


def _unsupported_language(work: Indexing, embedder: Embedder) -> str:
    """The document's language if the embedder does not support it, else ""."""
    supported = next((entry.languages for entry in CATALOGUE if entry.name == embedder.name), ())
    code = work.language if supported else ""
    return "" if code in supported else code


def _language_name(code: str) -> str:
    from babel import Locale

    name: str | None = Locale("en").languages.get(code)
    return name or code
