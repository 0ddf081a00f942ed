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
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Literal, dataclass_transform

import numpy as np

from agent.documents.cover import title_of_name
from agent.documents.document import NoText, ParsedDocument, UnreadableDocument
from agent.documents.indexing import (
    READER_VERSION,
    is_read_as_now,
    keyword_terms,
    new_document,
    passage_text,
    stop_if,
    unknown_language,
)
from agent.documents.reading import PICTURES, SUFFIXES
from agent.documents.scanning import Scanning
from agent.documents.sources import (
    NO_FILE_ERRORS,
    Content,
    Fetched,
    File,
    Item,
    Member,
    Root,
    WebPage,
    documents_inside,
    files_in,
    gone_documents,
    is_folder,
    is_renamed,
    lies_in,
    located,
    why_skipped,
)
from models.protocols import (
    Embedder,
    GenerationCancelled,
    ModelError,
    ModelMissing,
    ModelUnreachable,
    TextRecogniser,
    Vectors,
)
from models.token_estimate import estimate
from traces.errors import DeepthinkError
from traces.folders import Folder, Folders, Unreadable
from traces.library import Library
from traces.paths import expanded_path
from traces.records import Document, NewDocument, UnknownCollection
from traces.store import Store, StoreError

_BATCH = 32  # passages embedded at once
_MOST_NAMED = 3  # of the files inside another that could not be read
_NO_READER = 0  # of a file that is not tried
_PROBE = "word"  # any text that a working embedder embeds

Outcome = Literal["added", "updated", "moved", "unchanged", "removed"]


@dataclass_transform(frozen_default=True)
class IngestEvent:
    """An event of an ingestion. Its kinds are frozen dataclasses, without saying so each."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class FileFound(IngestEvent):
    """The number of files to read."""

    total: int


class FileEvent(IngestEvent):
    """An event of one file or web page."""

    source: str  # its absolute path or URL
    name: str


class FileStarted(FileEvent):
    """Reading of a file starts."""


class FileProgress(FileEvent):
    """How many passages of a file are embedded, or how many of its scanned pages recognised."""

    done: int
    total: int
    unit: Literal["passages", "scanned pages"]
    seconds_left: float = 0.0  # estimated


class FileDone(FileEvent):
    """A file is finished: ``outcome`` is what happened to its document.

    ``was`` is the file's name before it was moved, else "".
    """

    outcome: Outcome
    chunks: int = 0
    coverage: float = 0.0
    pages: int | None = None
    seconds: float = 0.0
    notices: tuple[str, ...] = ()
    was: str = ""


class LanguagesUnknown(IngestEvent):
    """Documents are in languages that the embedder does not support; sent once, at the end."""

    names: Mapping[str, Sequence[str]]  # of the documents, by the English name of their language
    embedder: str


class FileSetAside(FileEvent):
    """A file has scans and is read after the others."""


class ScansFound(IngestEvent):
    """An estimate of the OCR time, sent before OCR starts."""

    documents: int  # number of files with scans
    pages: int  # number of their scanned pages
    seconds: float  # estimated duration


class FilesUnread(IngestEvent):
    """Files were skipped."""

    names: Mapping[str, Sequence[str]]  # of the files, by the reason


class FolderAway(IngestEvent):
    """A followed folder is missing or has no readable file, so its documents are kept."""

    collection: str
    path: str
    is_there: bool  # whether the folder exists and is empty
    documents: int  # its documents in the library


class FileFailed(FileEvent):
    """A file could not be read or embedded; its earlier document is still in the library."""

    error: DeepthinkError


class IngestFinished(IngestEvent):
    """The duration of an ingestion, and the number of files that did not change."""

    unchanged: int
    seconds: float


class NothingToIngest(DeepthinkError, title="Nothing to read", kind="input"):
    """Raised when the paths contain no file of a supported type."""


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
        description: What the collection contains, in one line for the planner.
        recogniser: Recognises the text of scans, which are read last; None skips scans.
        cancel: Stops the ingestion between files and between batches; stored documents stay.
        follow: Whether the folders are followed once they are read (`agent.documents.following`).
        exclude: Patterns to exclude from folders, as in a .gitignore file; None keeps the earlier ones.

    Raises:
        BadPattern: One of ``exclude`` is not a pattern.
        NothingToIngest: The paths contain no readable file, or one does not exist.
        GenerationCancelled: ``cancel`` was set.
        ModelError: The embedder is missing, does not respond or fails on every text.
        StoreError: The store cannot be written.
    """
    folders = Folders(store)
    reading = Reading(store, collection, embedder, recogniser, cancel)
    followed = {folder.path: folder.exclude for folder in folders.followed(collection)}
    roots: list[Root] = []
    found_files: list[File] = []
    for typed_path in paths:
        path = expanded_path(typed_path)
        if is_folder(path):
            patterns = followed.get(os.path.realpath(path), ()) if exclude is None else exclude
            roots.append(Root(path, patterns))
            found_files += reading.find_files(roots[-1])
        else:
            found_files.append(_named_file(path, typed_path))
    files = located(found_files, reading.documents)
    existing = {file.source for file in files}
    missing = gone_documents(roots, existing, reading.documents)
    if not files and not missing and not addresses:
        raise NothingToIngest(
            f"No readable file in {', '.join(f'“{path}”' for path in paths)}.",
            "`deepthink library formats` lists the supported file types.",
        )
    if description:
        Library(store).describe_collection(collection, description)
    items: list[Item] = [*files]
    if fetch is not None:
        items += [WebPage(url, lambda url: fetch(url).content()) for url in dict.fromkeys(addresses)]
    for file in files:
        if file.outright:  # it may have been removed, and excluded by that
            folders.exclude(collection, file.source, excluded=False)
    yield from reading.read_all(items, existing, missing)
    if follow:
        for root in roots:
            folders.follow(Folder(collection, str(root.real), root.exclude))


def _named_file(path: Path, typed_path: Path) -> File:
    try:
        path.stat()
    except (OSError, ValueError) as error:  # ValueError: no path has such characters
        if isinstance(error, OSError) and error.errno not in NO_FILE_ERRORS:
            raise NothingToIngest(
                f"{typed_path} cannot be opened: {error.strerror}.", "Check the path and its permissions."
            ) from error
        raise NothingToIngest(f"{typed_path} does not exist.", "Check the path and try again.") from error
    return File.at(path, path.name, outright=True)


class Reading:
    """An ingestion into one collection; ``documents`` are its earlier documents, by source."""

    def __init__(
        self,
        store: Store,
        collection: str,
        embedder: Embedder,
        recogniser: TextRecogniser | None,
        cancel: threading.Event | None,
        *,
        must_follow: bool = False,
    ) -> None:
        self._library = library = Library(store)
        self._folders = Folders(store)
        self.documents = {document.source: document for document in library.documents(collection)}
        self._unchanged = 0
        self._scanning = Scanning(recogniser)
        self._suffixes = SUFFIXES if self._scanning.is_on else SUFFIXES - PICTURES
        self._skipped: dict[str, list[str]] = {}  # names of files by reason
        self._languages: dict[str, list[str]] = {}  # unsupported ones, with names of documents
        self._collection = collection
        self._embedder = embedder
        self._cancel = cancel
        self._must_follow = must_follow
        self._unreadable = self._folders.unreadable(collection)
        self._unreadable_before = dict(self._unreadable)
        self._began = time.monotonic()
        self._waiting: list[tuple[Item, ParsedDocument]] = []
        self._new_dates: dict[int, int] = {}
        self._absent_by_hash: dict[str, list[Document]] = {}  # documents whose file is not in its place
        self._to_remove: dict[int, Document] = {}

    def find_files(self, root: Root) -> Iterator[File]:
        """The supported files in a folder; the others are remembered, as unread ones too."""
        self._unreadable = {
            source: file for source, file in self._unreadable.items() if not root.excludes(source)
        }
        skipped: dict[str, list[str]] = {}
        yield from files_in(root, self._suffixes, skipped)
        for reason, names in skipped.items():
            self._skipped.setdefault(reason, []).extend(names)
            for file in (File.at(root.path / name, name) for name in names):
                size_and_date = file.size_and_date(with_permissions=True)
                if size_and_date is not None and file.source not in self.documents:
                    self._unreadable[file.source] = Unreadable(*size_and_date, _NO_READER, f"{reason}.")

    def read_all(
        self, items: Sequence[Item], existing: Container[str], missing: Iterable[Document]
    ) -> Iterator[IngestEvent]:
        """Read ``items``, and remove the documents of ``missing`` files, unless they were only moved.

        ``existing`` are the sources of all files that exist.
        """
        self._to_remove = {document.id: document for document in missing}
        for document in self.documents.values():
            if document.source not in existing:
                self._absent_by_hash.setdefault(document.sha256, []).append(document)
        yield FileFound(len(items))
        for item in items:
            yield from self._attempt(item, self._read(item))
        yield from self._read_scans()
        stop_if(self._cancel)
        yield from self._remove(list(self._to_remove.values()))
        if self._new_dates:
            self._library.date_documents(self._new_dates)
        if self._unreadable != self._unreadable_before:
            self._folders.set_unreadable(self._collection, self._unreadable)
        if self._languages:
            yield LanguagesUnknown(self._languages, self._embedder.name)
        if self._skipped:
            yield FilesUnread(self._skipped)
        yield IngestFinished(self._unchanged, round(time.monotonic() - self._began, 3))

    def changed(self, files: Sequence[File]) -> list[File]:
        """The files whose size or date changed since they were read, or could not be read."""
        touched = [file for file in files if not self._is_unchanged(file)]
        self._unchanged += len(files) - len(touched)
        hopeless = [file for file in touched if self._is_hopeless(file)]
        if hopeless:
            self._skipped["could not be read, and has not changed"] = [file.name for file in hopeless]
        return [file for file in touched if file not in hopeless]

    def _is_hopeless(self, file: File) -> bool:
        """Whether a file could not be read and has not changed since."""
        failure = self._unreadable.get(file.source)
        return (
            failure is not None
            and self._is_current(failure)
            and file.size_and_date(with_permissions=True) == (failure.bytes, failure.modified)
        )

    def _is_unchanged(self, file: File) -> bool:
        """Whether a file is unchanged, judged by its size and date alone."""
        document = self.documents.get(file.source)
        return (
            document is not None
            and self._is_current(document)
            and file.is_untouched(document.bytes, document.modified, document.ingested)
        )

    def _is_current(self, earlier: Document | Unreadable) -> bool:
        """Whether a file was read as it would be now."""
        return is_read_as_now(earlier.reader, with_scans=self._scanning.is_on)

    def _read_scans(self) -> Iterator[IngestEvent]:
        pages = [len(parsed.scans) for _, parsed in self._waiting if parsed.scans]
        if pages:
            yield ScansFound(len(pages), sum(pages), sum(pages) * self._scanning.seconds_a_page)
        for item, parsed in self._waiting:
            yield from self._attempt(item, self._recognise(item, parsed))

    def _remove(self, documents: Sequence[Document]) -> Iterator[IngestEvent]:
        """Remove documents, and the documents inside them."""
        members = documents_inside({document.source for document in documents}, self.documents.values())
        for document in {entry.id: entry for entry in (*documents, *members)}.values():
            self._library.remove_document(document.id)
            yield FileDone(document.source, document.name, "removed")

    def _attempt(self, item: Item, events: Iterator[IngestEvent]) -> Iterator[IngestEvent]:
        """Pass on the events of one file; its failure does not end the ingestion."""
        stop_if(self._cancel)
        yield FileStarted(item.source, item.name)
        try:
            yield from events
        except (GenerationCancelled, StoreError, ModelMissing, ModelUnreachable, UnknownCollection):
            raise  # the other files would fail too
        except DeepthinkError as error:
            if isinstance(error, UnreadableDocument) and isinstance(item, File):
                size_and_date = item.size_and_date(with_permissions=True)
                if size_and_date is not None:
                    reader = READER_VERSION if self._scanning.is_on else -READER_VERSION
                    self._unreadable[item.source] = Unreadable(*size_and_date, reader, error.message)
            is_picture = PurePath(item.source).suffix.casefold() in PICTURES
            if isinstance(error, NoText) and is_picture and not item.outright:
                self._skipped.setdefault("no words in the picture", []).append(item.name)
                return
            if isinstance(error, ModelError):
                self._embedder.embed_query(_PROBE)  # raises if the model fails on every text
            yield FileFailed(item.source, item.name, error)

    def _read(self, item: Item) -> Iterator[IngestEvent]:
        """Read a file and the files inside it; if any of them has scans, it is read later."""
        began = time.monotonic()
        content = item.content()
        earlier_name = self._follow_move(item, content.sha256) if isinstance(item, File) else ""
        document = self.documents.get(item.source)
        if document is not None and document.sha256 == content.sha256 and self._is_current(document):
            self._unchanged += not earlier_name
            if isinstance(item, WebPage) or (isinstance(item, File) and not self._is_unchanged(item)):
                self._new_dates[document.id] = content.modified
            yield FileDone(
                item.source,
                item.name,
                "moved" if earlier_name else "unchanged",
                document.chunks,
                document.coverage,
                document.pages,
                time.monotonic() - began,
                document.notices,
                was=earlier_name,
            )
            return
        parsed = content.parse(self._scanning.pages_of(content.sha256))
        waiting_before = len(self._waiting)
        failures: list[str] = []
        for event in self._read_members(item, content, parsed):
            failures += [event.name] if isinstance(event, FileFailed) else []
            yield event
        if failures:
            names = ", ".join(failures[:_MOST_NAMED]) + (" …" if len(failures) > _MOST_NAMED else "")
            notice = f"{len(failures)} of its files could not be read: {names}."
            parsed = replace(parsed, notices=(*parsed.notices, notice))
        if (parsed.scans and self._scanning.is_on) or len(self._waiting) > waiting_before:
            self._waiting.append((item, parsed))
            yield FileSetAside(item.source, item.name)
        else:
            yield from self._index(item, content, parsed, began)

    def _follow_move(self, file: File, sha256: str) -> str:
        """Give a moved file its earlier document; returns the earlier name, or "" if it was not moved."""
        if file.source in self.documents:
            return ""
        matches = [
            document
            for document in self._absent_by_hash.get(sha256, ())
            if document.id in self._to_remove or is_renamed(Path(document.source), file.path)
        ]
        if not matches:
            return ""
        named_alike = (match for match in matches if PurePath(match.source).name == file.path.name)
        document = next(named_alike, matches[0])
        title = _title_after_move(document.title, Path(document.source), file.path)
        terms_by_passage: dict[int, list[str]] = {}
        if title is not None:
            people = (document.author, document.sender)
            terms_by_passage = {
                passage.id: keyword_terms(title, people, passage.headings, passage.text)
                for passage in self._library.document_passages(document.id)
            }
        self._library.move_document(
            document.id, file.source, file.name, title=title, terms=terms_by_passage
        )
        for member in (document, *documents_inside({document.source}, self.documents.values())):
            source = file.source + member.source.removeprefix(document.source)
            name = file.name + member.name.removeprefix(document.name)
            self.documents[source] = replace(self.documents.pop(member.source), source=source, name=name)
            self._to_remove.pop(member.id, None)
        self._absent_by_hash[sha256].remove(document)
        return document.name

    def _read_members(self, outer: Item, content: Content, parsed: ParsedDocument) -> Iterator[IngestEvent]:
        supported: list[Member] = []
        for enclosed in parsed.enclosed:
            member = Member(enclosed, outer, content, parsed)
            if reason := why_skipped(PurePath(member.source), self._suffixes, enclosed.content):
                self._skipped.setdefault(reason, []).append(member.name)
            else:
                supported.append(member)
        if supported:
            yield FileFound(len(supported))
        for member in supported:
            yield from self._attempt(member, self._read(member))
        kept = {member.source for member in supported}
        yield from self._remove(
            [
                document
                for document in documents_inside({outer.source}, self.documents.values())
                if document.source not in kept and not lies_in(document.source, kept)
            ]
        )

    def _recognise(self, item: Item, parsed: ParsedDocument) -> Iterator[IngestEvent]:
        began = time.monotonic()
        content = item.content()
        if parsed.scans:
            for done in self._scanning.recognise(item.name, content, parsed.scans, self._cancel):
                left = _seconds_left(began, done, len(parsed.scans))
                yield FileProgress(item.source, item.name, done, len(parsed.scans), "scanned pages", left)
            parsed = content.parse(self._scanning.pages_of(content.sha256))
        yield from self._index(item, content, parsed, began)

    def _index(
        self, item: Item, content: Content, parsed: ParsedDocument, began: float
    ) -> Iterator[IngestEvent]:
        document = new_document(self._collection, item.source, item.name, content, parsed)
        vectors = yield from self._embed(document)
        name = self._embedder.name
        self._library.put_document(document, vectors, name, must_follow=self._must_follow)
        self._unreadable.pop(item.source, None)
        self._scanning.forget(content.sha256)
        if language := unknown_language(name, document.chunks):
            self._languages.setdefault(language, []).append(item.name)
        yield FileDone(
            item.source,
            item.name,
            "updated" if item.source in self.documents else "added",
            len(document.chunks),
            document.coverage,
            parsed.pages,
            round(time.monotonic() - began, 3),
            parsed.notices,
        )

    def _embed(self, document: NewDocument) -> Generator[IngestEvent, None, Vectors]:
        """Make a document's vectors, a row for each chunk; a repeated text is embedded once."""
        began = time.monotonic()
        texts = [passage_text(document.title, piece.section, piece.text) for piece in document.chunks]
        # A batch takes as long as its longest text, so texts of similar length share one.
        order = sorted(dict.fromkeys(texts), key=lambda text: -estimate(text))
        rows: dict[str, Vectors] = {}
        for start in range(0, len(order), _BATCH):
            stop_if(self._cancel)
            batch = order[start : start + _BATCH]
            rows |= zip(batch, self._embedder.embed_passages(batch), strict=True)
            left = _seconds_left(began, len(rows), len(order))
            yield FileProgress(document.source, document.name, len(rows), len(order), "passages", left)
        return np.stack([rows[text] for text in texts])


def _seconds_left(began: float, done: int, total: int) -> float:
    return (time.monotonic() - began) / done * (total - done)


def _title_after_move(title: str, old: Path, new: Path) -> str | None:
    """The new title of a moved document that is titled by its file name; None if the title stays."""
    for name_of in (title_of_name, lambda path: path.name):
        if title == name_of(old):
            return name_of(new) if name_of(new) != title else None
    return None
