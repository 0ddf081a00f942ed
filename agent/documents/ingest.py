"""Ingestion: files, folders and, where the web is on, addresses become documents in the library.

Each document is stored in one transaction (`agent.documents.indexing`). A file whose bytes are already
there is not read again. A file that holds others (a mail, an archive) is stored after them, so that it
stands for all of them; files with scans come last, because they take longest.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import get_args

from agent.documents.document import NoText, ParsedDocument
from agent.documents.found_files import FoundFile, file_at, files_in, is_folder
from agent.documents.indexing import Indexing, Origin, stop_if
from agent.documents.ingest_events import (
    FileDone,
    FileEmbedding,
    FileFailed,
    FileFound,
    FileSetAside,
    FileStarted,
    FilesUnread,
    IngestEvent,
    IngestFinished,
    LanguagesUnknown,
    Outcome,
    PageRecognised,
    ScansFound,
)
from agent.documents.known_files import gone, inside, no_longer_inside, renamed, stored_as
from agent.documents.reading import PICTURES, SUFFIXES
from agent.documents.scanning import Scanning
from agent.documents.wanted import Fetched, File, Member, Page, Wanted
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
from traces.library import Library
from traces.records import Document
from traces.store import Store, StoreError
from traces.typed_path import expanded_path

__all__ = [
    "FileDone",
    "FileEmbedding",
    "FileFailed",
    "FileFound",
    "FileSetAside",
    "FileStarted",
    "FilesUnread",
    "IngestEvent",
    "IngestFinished",
    "LanguagesUnknown",
    "NothingToIngest",
    "Outcome",
    "PageRecognised",
    "ScansFound",
    "ingest",
]

_WORD = "word"  # any that a sound embedder embeds


class NothingToIngest(DeepthinkError):
    """Raised when the paths hold no file of a kind that can be read."""

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
) -> Iterator[IngestEvent]:
    """Bring a collection up to date with files, folders and pages of the web.

    A folder is taken whole: what was read from it before and is no longer there is removed. So is what
    was read under an earlier name of a file or folder.

    Args:
        paths: Files, and folders that are searched for readable files (hidden ones left out).
        addresses: URLs of pages and files, each read whole as a file would be.
        fetch: Fetches one of them; needed where there are any.
        collection: Where they go; made if new.
        description: What the collection holds, in one line: the planner reads it.
        store: Where the library is.
        embedder: Makes the vectors.
        recogniser: Recognises the text on scans, which are read last; without it they are not read.
        scans: A folder that keeps what was recognised until its file is read to the end, so that a reading
            that was stopped goes on; without it, it begins again.
        cancel: Stops between files and between batches; documents stored so far stay.

    Raises:
        NothingToIngest: no path holds a readable file, or one does not exist.
        GenerationCancelled: ``cancel`` was set.
        ModelError: the embedder is missing, does not answer or fails at any text.
        StoreError: the store cannot be written.
    """
    began = time.monotonic()
    library = Library(store)
    reading = _Reading(library, collection, embedder, Scanning(recogniser, scans), cancel)
    known = reading.known
    found = _files(paths, reading.suffixes, reading.unread)
    files = [(stored_as(file, known), file) for file in found]
    here = {str(path) for path, _ in files}
    missing = gone(paths, here, known)
    if not files and not missing and not addresses:
        raise NothingToIngest(
            f"No readable file in {', '.join(str(p) for p in paths)}.",
            "`deepthink library formats` shows what is read.",
        )
    if description:
        library.describe_collection(collection, description)
    wanted: list[Wanted] = [
        # One that was read with its folder keeps the name it has there when it is named by itself.
        File(path, known[str(path)].name if file.outright and str(path) in known else file.name, file)
        for path, file in files
    ]
    if fetch is not None:
        wanted += [Page(url, fetch) for url in dict.fromkeys(addresses)]
    yield FileFound(len(wanted))
    for one in wanted:
        yield from reading.one(one)
    yield from reading.scans()
    stop_if(cancel)
    documents = library.documents(collection)
    missing += renamed(documents, here, but={document.id for document in missing})
    yield from reading.removed(missing)
    if reading.languages:
        names = tuple(_language_name(code) for code, _ in reading.languages.most_common())
        yield LanguagesUnknown(reading.languages.total(), names, embedder.name)
    if reading.unread:
        yield FilesUnread(tuple(reading.unread.most_common()))
    counts = {outcome: reading.counts[outcome] for outcome in (*get_args(Outcome), "failed")}
    yield IngestFinished(**counts, chunks=reading.chunks, seconds=round(time.monotonic() - began, 3))


def _files(paths: Sequence[Path], suffixes: Container[str], unread: Counter[str]) -> list[FoundFile]:
    """Each file once, as itself rather than by a link to it where it is found as both.

    A file named outright is taken whatever its ending; its content decides. What a folder holds of other
    kinds is counted in ``unread``.
    """
    found: dict[Path, FoundFile] = {}
    for given in paths:
        path = expanded_path(given)
        if is_folder(path):
            listed: Iterable[FoundFile] = files_in(path, suffixes, unread)
        else:
            listed = (_named(path, given),)
        for file in listed:
            if file.real not in found or (file.path == file.real != found[file.real].path):
                found[file.real] = file
    return list(found.values())


def _named(path: Path, given: Path) -> FoundFile:
    try:
        file = file_at(path)
    except OSError as error:
        raise NothingToIngest(
            f"{given} cannot be looked at: {error.strerror}.", "Check the path and its permissions."
        ) from error
    if file is None:
        raise NothingToIngest(f"{given} does not exist.", "Check the path and try again.")
    return file


class _Reading:
    """Files on their way into a collection, and what came of those before.

    Attributes:
        known: The collection's documents before, by their source.
        counts: Files by what came of them.
        chunks: Passages of what was read.
        languages: Codes of languages that the embedder does not know, by documents.
        unread: Files of kinds that are not read, by the endings of their names.
    """

    def __init__(
        self,
        library: Library,
        collection: str,
        embedder: Embedder,
        scanning: Scanning,
        cancel: threading.Event | None,
    ) -> None:
        self.known = {document.source: document for document in library.documents(collection)}
        self.suffixes = SUFFIXES if scanning.is_on else SUFFIXES - PICTURES
        self.counts: Counter[str] = Counter()
        self.chunks = 0
        self.languages: Counter[str] = Counter()
        self.unread: Counter[str] = Counter()
        self._library = library
        self._collection = collection
        self._embedder = embedder
        self._scanning = scanning
        self._cancel = cancel
        self._waiting: list[tuple[Wanted, Origin, ParsedDocument]] = []

    def one(self, wanted: Wanted) -> Iterator[IngestEvent]:
        """Read a file and those inside it; one with scans waits, and so does one that holds such a file."""
        stop_if(self._cancel)
        yield FileStarted(wanted.source, wanted.name)
        yield from self._guarded(wanted, self._read(wanted))

    def scans(self) -> Iterator[IngestEvent]:
        """Read what waits, page by page."""
        pages = [len(parsed.scans) for _, _, parsed in self._waiting if parsed.scans]
        if pages:
            yield ScansFound(len(pages), sum(pages), sum(pages) * self._scanning.seconds_a_page)
        for wanted, origin, parsed in self._waiting:
            stop_if(self._cancel)
            yield FileStarted(wanted.source, wanted.name)
            yield from self._guarded(wanted, self._recognised(wanted, origin, parsed))

    def removed(self, documents: Sequence[Document]) -> Iterator[IngestEvent]:
        """Remove documents, and those of files inside theirs."""
        within = inside((document.source for document in documents), self.known.values())
        for document in {one.id: one for one in (*documents, *within)}.values():
            self._library.remove_document(document.id)
            self.counts["removed"] += 1
            yield FileDone(document.source, document.name, "removed", 0, 0.0, None, 0.0, ())

    def _guarded(self, wanted: Wanted, events: Iterator[IngestEvent]) -> Iterator[IngestEvent]:
        """The events of one file, whose failure is no other's."""
        try:
            yield from events
        except (GenerationCancelled, StoreError, ModelMissing, ModelUnreachable):
            raise  # the other files would fare no better
        except DeepthinkError as error:
            suffix = PurePath(wanted.source).suffix.casefold()
            if isinstance(error, NoText) and suffix in PICTURES and not wanted.outright:
                self.unread[f"{suffix} without words"] += 1
                yield FileSetAside(wanted.source, wanted.name, waits=False)
                return
            if isinstance(error, ModelError):
                self._embedder.embed_query(
                    _WORD
                )  # a model that fails at this too is at fault, not the file
            self.counts["failed"] += 1
            yield FileFailed(wanted.source, wanted.name, error)

    def _read(self, wanted: Wanted) -> Iterator[IngestEvent]:
        began = time.monotonic()
        before = self.known.get(wanted.source)
        origin = wanted.origin()
        if before is not None and origin.is_stored_as(before, with_scans=self._scanning.is_on):
            self.counts["unchanged"] += 1
            self.chunks += before.chunks
            yield FileDone(
                wanted.source,
                wanted.name,
                "unchanged",
                before.chunks,
                before.coverage,
                before.pages,
                time.monotonic() - began,
                before.notices,
            )
            return
        parsed = wanted.parsed(self._scanning.kept(origin))
        waiting = len(self._waiting)
        failed: list[str] = []
        for event in self._inside(wanted, parsed):
            failed += [event.name] if isinstance(event, FileFailed) else []
            yield event
        if failed:
            told = f"{len(failed)} files in it could not be read, such as {failed[0]}."
            parsed = replace(parsed, notices=(*parsed.notices, told))
        if (parsed.scans and self._scanning.is_on) or len(self._waiting) > waiting:
            self._waiting.append((wanted, origin, parsed))
            yield FileSetAside(wanted.source, wanted.name, waits=True)
        else:
            yield from self._indexed(wanted, origin, parsed, began)

    def _inside(self, outer: Wanted, parsed: ParsedDocument) -> Iterator[IngestEvent]:
        """Read the files inside one, of the kinds that are read."""
        members = [Member(enclosed, outer) for enclosed in parsed.enclosed]
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
        work.store(self._library, self._collection)
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


def _unknown_language(work: Indexing, embedder: Embedder) -> str:
    """The document's language where the embedder is known not to know it, else ""."""
    known = next((entry.languages for entry in CATALOGUE if entry.name == embedder.name), ())
    spoken = work.language if known else ""
    return "" if spoken in known else spoken


def _language_name(code: str) -> str:
    from babel import Locale

    name: str | None = Locale("en").languages.get(code)
    return name or code
