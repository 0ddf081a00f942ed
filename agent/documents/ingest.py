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
    earlier,
    file_at,
    files_in,
    gone,
    inside,
    is_folder,
    no_longer_inside,
    renamed,
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
from agent.documents.wanted import Fetched, File, Member, Page, Wanted
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

_WORD = "word"  # any that a sound embedder embeds


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
    """A file or web page is started; ``source`` is its absolute path or URL."""

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
        language: ISO 639-1 code of its language if the embedder does not support that; else "".
        was: Its name before it was moved; else "".
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
    """An estimate for OCR, sent before it starts.

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
    """Files were skipped, because their type is not supported; sent once, at the end.

    Attributes:
        kinds: Extensions with the number of files, the most frequent first; "" for files without one.
    """

    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class FolderAway(IngestEvent):
    """A followed folder is missing, or has no readable file: its documents are kept.

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
    """Files that are being written and were not read."""

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
    """Read files, folders and web pages into a collection, and update what is already there.

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
        recogniser: Recognises the text of scans, which are read last; None leaves scans out.
        scans: A folder for recognised pages until their file is finished, so that a stopped ingestion
            resumes; None starts again.
        cancel: Stops the ingestion between files and between batches; stored documents stay.
        follow: Whether the folders are followed once they are read (`agent.folders.sync`).
        exclude: Patterns to exclude from folders, as in a .gitignore file; None keeps the earlier ones.

    Raises:
        BadPattern: One of ``exclude`` is not a pattern.
        NothingToIngest: The paths contain no readable file, or one does not exist.
        GenerationCancelled: ``cancel`` was set.
        ModelError: The embedder is missing, does not respond or fails at every text.
        StoreError: The store cannot be written.
    """
    library, folders = Library(store), Folders(store)
    reading = Reading(store, collection, embedder, Scanning(recogniser, scans), cancel)
    known = reading.known
    followed = {folder.path: folder.exclude for folder in folders.followed(collection)}

    def root(folder: Path) -> Root:
        patterns = followed.get(os.path.realpath(folder), ()) if exclude is None else exclude
        return Root(folder, patterns)

    roots: list[Root] = []
    found: list[FoundFile] = []
    for given in paths:
        path = expanded_path(given)
        if is_folder(path):
            roots.append(root(path))
            found += reading.found(roots[-1])
        else:
            found.append(_named(path, given))
    files = located(found, known)
    here = {str(path) for path, _ in files}
    missing = gone(roots, here, known)
    if not files and not missing and not addresses:
        raise NothingToIngest(
            f"No readable file in {', '.join(str(p) for p in paths)}.",
            "`deepthink library formats` lists the supported file types.",
        )
    if description:
        library.describe_collection(collection, description)
    wanted: list[Wanted] = [
        # A file that was read with its folder keeps its name there, also when it is named by itself.
        File(path, known[str(path)].name if file.outright and str(path) in known else file.name, file)
        for path, file in files
    ]
    if fetch is not None:
        wanted += [Page(url, fetch) for url in dict.fromkeys(addresses)]
    yield from reading.bring(wanted, here, missing)
    if follow:
        for one in roots:
            folders.follow(Folder(collection, str(one.real), one.exclude))


def located(found: Iterable[FoundFile], known: dict[str, Document]) -> list[tuple[Path, FoundFile]]:
    """Each file once with its source; the file itself if both it and a link to it were found."""
    files: dict[Path, FoundFile] = {}
    for file in found:
        if file.real not in files or (file.path == file.real != files[file.real].path):
            files[file.real] = file
    return [(stored_as(file, known), file) for file in files.values()]


def _named(path: Path, given: Path) -> FoundFile:
    try:
        file = file_at(path)
    except OSError as error:
        raise NothingToIngest(
            f"{given} cannot be opened: {error.strerror}.", "Check the path and its permissions."
        ) from error
    if file is None:
        raise NothingToIngest(f"{given} does not exist.", "Check the path and try again.")
    return file


class Reading:
    """An ingestion into one collection.

    Attributes:
        known: The collection's earlier documents, by source.
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
        self.known = {document.source: document for document in library.documents(collection)}
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
        self._waiting: list[tuple[Wanted, Origin, ParsedDocument]] = []
        self._redated: dict[int, int] = {}
        self._elsewhere: dict[str, list[Document]] = {}  # by content
        self._leaving: dict[int, Document] = {}

    @property
    def with_scans(self) -> bool:
        """Whether scanned pages are read."""
        return self._scanning.is_on

    def found(self, root: Root) -> Iterator[FoundFile]:
        """The supported files in a folder; the others are counted in ``unread``."""
        return files_in(root, self.suffixes, self.unread)

    def bring(
        self, wanted: Sequence[Wanted], here: Container[str], missing: Iterable[Document]
    ) -> Iterator[IngestEvent]:
        """Read the wanted files, and remove the documents of missing ones.

        Args:
            wanted: Files and pages.
            here: Sources of all files that exist.
            missing: Documents whose files are gone; one whose file was only moved is kept.
        """
        self._leaving = {document.id: document for document in missing}
        for document in self.known.values():
            if document.source not in here:
                self._elsewhere.setdefault(document.sha256, []).append(document)
        yield FileFound(len(wanted))
        for one in wanted:
            yield from self.one(one)
        yield from self.scans()
        stop_if(self._cancel)
        left = list(self._leaving.values())
        documents = self._library.documents(self._collection) if wanted else []
        left += renamed(documents, here, but=self._leaving)
        yield from self.removed(left)
        if self._redated:
            self._library.date_files(self._redated)
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
        self.chunks += self.known[file.source].chunks

    def is_hopeless(self, file: File) -> bool:
        """Whether a file could not be read and has not changed since."""
        failed = self._unreadable.get(file.source)
        return (
            failed is not None
            and is_read_as_now(failed.reader, with_scans=self.with_scans)
            and file.is_untouched(failed.bytes, failed.modified)
        )

    def is_unchanged(self, file: File) -> bool:
        """Whether a file is unchanged, by its size and date alone."""
        before = self.known.get(file.source)
        return (
            before is not None
            and is_read_as_now(before.reader, with_scans=self.with_scans)
            and file.is_untouched(before.bytes, before.modified, before.ingested)
        )

    def one(self, wanted: Wanted) -> Iterator[IngestEvent]:
        """Read a file and the files inside it; one with scans, in itself or inside, is read later."""
        stop_if(self._cancel)
        yield FileStarted(wanted.source, wanted.name)
        yield from self._guarded(wanted, self._read(wanted))

    def scans(self) -> Iterator[IngestEvent]:
        """Read the files with scans, page by page."""
        pages = [len(parsed.scans) for _, _, parsed in self._waiting if parsed.scans]
        if pages:
            yield ScansFound(len(pages), sum(pages), sum(pages) * self._scanning.seconds_a_page)
        for wanted, origin, parsed in self._waiting:
            stop_if(self._cancel)
            yield FileStarted(wanted.source, wanted.name)
            yield from self._guarded(wanted, self._recognised(wanted, origin, parsed))

    def removed(self, documents: Sequence[Document]) -> Iterator[IngestEvent]:
        """Remove documents, and the documents inside them."""
        within = inside((document.source for document in documents), self.known.values())
        for document in {one.id: one for one in (*documents, *within)}.values():
            self._library.remove_document(document.id)
            self.counts["removed"] += 1
            yield FileDone(document.source, document.name, "removed", 0, 0.0, None, 0.0, ())

    def _guarded(self, wanted: Wanted, events: Iterator[IngestEvent]) -> Iterator[IngestEvent]:
        """Pass on the events of one file; its failure does not end the ingestion."""
        try:
            yield from events
        except (GenerationCancelled, StoreError, ModelMissing, ModelUnreachable, UnknownCollection):
            raise  # the other files would fail too
        except DeepthinkError as error:
            suffix = PurePath(wanted.source).suffix.casefold()
            if isinstance(error, UnreadableDocument) and isinstance(wanted, File):
                self._remember(wanted)
            if isinstance(error, NoText) and suffix in PICTURES and not wanted.outright:
                self.unread[f"{suffix} without words"] += 1
                yield FileSetAside(wanted.source, wanted.name, waits=False)
                return
            if isinstance(error, ModelError):
                self._embedder.embed_query(_WORD)  # raises if the model fails at every text
            self.counts["failed"] += 1
            yield FileFailed(wanted.source, wanted.name, error)

    def _read(self, wanted: Wanted) -> Iterator[IngestEvent]:
        began = time.monotonic()
        origin = wanted.origin()
        was = self._follow_move(wanted, origin) if isinstance(wanted, File) else ""
        before = self.known.get(wanted.source)
        if before is not None and origin.is_stored_as(before, with_scans=self._scanning.is_on):
            outcome: Outcome = "moved" if was else "unchanged"
            self.counts[outcome] += 1
            self.chunks += before.chunks
            if isinstance(wanted, File) and not self.is_unchanged(wanted):
                self._redated[before.id] = origin.modified
            yield FileDone(
                wanted.source,
                wanted.name,
                outcome,
                before.chunks,
                before.coverage,
                before.pages,
                time.monotonic() - began,
                before.notices,
                was=was,
            )
            return
        parsed = wanted.parsed(self._scanning.kept(origin))
        waiting = len(self._waiting)
        failed: list[str] = []
        for event in self._inside(wanted, parsed, origin):
            failed += [event.name] if isinstance(event, FileFailed) else []
            yield event
        if failed:
            notice = f"{len(failed)} files in it could not be read, such as {failed[0]}."
            parsed = replace(parsed, notices=(*parsed.notices, notice))
        if (parsed.scans and self._scanning.is_on) or len(self._waiting) > waiting:
            self._waiting.append((wanted, origin, parsed))
            yield FileSetAside(wanted.source, wanted.name, waits=True)
        else:
            yield from self._indexed(wanted, origin, parsed, began)

    def _follow_move(self, wanted: File, origin: Origin) -> str:
        """Give a moved file its earlier document; returns its earlier name, "" if it was not moved."""
        if wanted.source in self.known:
            return ""
        same = [one for one in self._elsewhere.get(origin.sha256, ()) if origin.is_stored_as(one)]
        document = earlier(same, Path(wanted.source), self._leaving)
        if document is None:
            return ""
        title = _title_after_move(document.title, Path(document.source), Path(wanted.source))
        words: dict[int, str] | None = None
        if title is not None:
            words = {
                one.id: " ".join(
                    terms(
                        keyword_text(
                            title,
                            (document.author, document.sender),
                            one.section.split(SECTION_SEPARATOR) if one.section else (),
                            one.text,
                        )
                    )
                )
                for one in self._library.document_passages(document.id)
            }
        self._library.move_document(document.id, wanted.source, wanted.name, title=title, terms=words)
        for moved in (document, *inside([document.source], self.known.values())):
            source = wanted.source + moved.source.removeprefix(document.source)
            name = wanted.name + moved.name.removeprefix(document.name)
            self.known[source] = replace(self.known.pop(moved.source), source=source, name=name)
            self._leaving.pop(moved.id, None)
        self._elsewhere[origin.sha256].remove(document)
        return document.name

    def _remember(self, file: File) -> None:
        """Remember that a file could not be read."""
        about = file.size_and_date()
        if about is not None:
            reader = READER_VERSION if self.with_scans else -READER_VERSION
            self._unreadable[file.source] = Unreadable(*about, reader)

    def _inside(self, outer: Wanted, parsed: ParsedDocument, origin: Origin) -> Iterator[IngestEvent]:
        """Read the supported files inside a file."""
        members = [Member(enclosed, outer, parsed, origin) for enclosed in parsed.enclosed]
        suffixes = [PurePath(member.source).suffix.casefold() for member in members]
        wanted = [one for one, suffix in zip(members, suffixes, strict=True) if suffix in self.suffixes]
        self.unread.update(suffix for suffix in suffixes if suffix not in self.suffixes)
        if wanted:
            yield FileFound(len(wanted))
        for member in wanted:
            yield from self.one(member)
        sources = [member.source for member in wanted]
        yield from self.removed(no_longer_inside(outer.source, sources, self.known.values()))

    def _recognised(self, wanted: Wanted, origin: Origin, parsed: ParsedDocument) -> Iterator[IngestEvent]:
        began = time.monotonic()
        if parsed.scans:
            for done in self._scanning.recognise(origin, wanted.data(), parsed.scans, self._cancel):
                yield PageRecognised(wanted.source, done, len(parsed.scans))
            parsed = wanted.parsed(self._scanning.kept(origin))
        yield from self._indexed(wanted, origin, parsed, began)

    def _indexed(
        self, wanted: Wanted, origin: Origin, parsed: ParsedDocument, began: float
    ) -> Iterator[IngestEvent]:
        work = Indexing(origin, parsed, self._embedder)
        for done, total in work.embed(self._cancel):
            yield FileEmbedding(wanted.source, done, total)
        work.store(self._library, self._collection, must_follow=self._must_follow)
        self._unreadable.pop(wanted.source, None)
        self._scanning.forget(origin)
        outcome: Outcome = "updated" if wanted.source in self.known else "added"
        language = _unknown_language(work, self._embedder)
        self.counts[outcome] += 1
        self.chunks += len(work.chunks)
        self.languages.update([language] if language else [])
        yield FileDone(
            wanted.source,
            wanted.name,
            outcome,
            len(work.chunks),
            work.coverage,
            parsed.pages,
            round(time.monotonic() - began, 3),
            parsed.notices,
            language,
        )


def _title_after_move(title: str, old: Path, new: Path) -> str | None:
    """The new title of a moved document whose title is its file's name; None if the title stays."""
    for named in (title_of_name, lambda path: path.name):
        if title == named(old):
            return named(new) if named(new) != title else None
    return None


def _unknown_language(work: Indexing, embedder: Embedder) -> str:
    """The document's language if the embedder does not support it, else ""."""
    known = next((entry.languages for entry in CATALOGUE if entry.name == embedder.name), ())
    spoken = work.language if known else ""
    return "" if spoken in known else spoken


def _language_name(code: str) -> str:
    from babel import Locale

    name: str | None = Locale("en").languages.get(code)
    return name or code
