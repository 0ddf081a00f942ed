"""Ingestion: files, folders and, where the web is on, addresses become documents in the library.

Each document is stored in one transaction (`agent.indexing`). A file whose bytes are already there is
not read again.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.found_files import FoundFile, file_at, files_in, is_empty, is_folder, is_gone, is_renamed
from agent.indexing import Indexing, Origin, file_name, page_name, stop_if
from agent.reading import MAX_BYTES, SUFFIXES, read, read_bytes
from agent.reading.document import ParsedDocument, UnreadableDocument
from models.catalogue import CATALOGUE
from models.protocols import Embedder, GenerationCancelled, ModelError, ModelMissing, ModelUnreachable
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import Document
from traces.store import Store, StoreError
from traces.typed_path import expanded_path

if TYPE_CHECKING:
    from agent.web.fetch import Fetched

_WORD = "word"  # any that a sound embedder embeds
Outcome = Literal["added", "updated", "unchanged", "removed"]


class NothingToIngest(DeepthinkError):
    """Raised when the paths hold no file of a kind that can be read."""

    title = "Nothing to read"
    kind = "input"


@dataclass(frozen=True, slots=True)
class IngestEvent:
    """Something that happened while files were read."""


@dataclass(frozen=True, slots=True)
class FileFound(IngestEvent):
    """How many files there are to look at."""

    total: int


@dataclass(frozen=True, slots=True)
class FileStarted(IngestEvent):
    """A file is being read, or a page fetched; ``source`` is its absolute path or URL."""

    source: str
    name: str


@dataclass(frozen=True, slots=True)
class FileEmbedding(IngestEvent):
    """Progress of a file's vectors."""

    source: str
    done_chunks: int
    total_chunks: int


@dataclass(frozen=True, slots=True)
class FileDone(IngestEvent):
    """A file is in the library, or was already, or is gone from it.

    Attributes:
        language: ISO 639-1 code of the language it is in, where the embedder does not know that; else "".
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


@dataclass(frozen=True, slots=True)
class LanguagesUnknown(IngestEvent):
    """Documents that were read are in languages that the embedder does not know; told once, at the end.

    Attributes:
        documents: How many.
        languages: Their names in English, the most frequent first.
        embedder: Its name.
    """

    documents: int
    languages: tuple[str, ...]
    embedder: str


@dataclass(frozen=True, slots=True)
class FileFailed(IngestEvent):
    """A file could not be read or embedded; what the library held of it before is still there."""

    source: str
    name: str
    error: DeepthinkError


@dataclass(frozen=True, slots=True)
class IngestFinished(IngestEvent):
    """The sum of it."""

    added: int
    updated: int
    unchanged: int
    removed: int
    failed: int
    chunks: int
    seconds: float


def ingest(
    paths: Sequence[Path],
    *,
    addresses: Sequence[str] = (),
    fetch: Callable[[str], Fetched] | None = None,
    collection: str,
    description: str = "",
    store: Store,
    embedder: Embedder,
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
        cancel: Stops between files and between batches; documents stored so far stay.

    Raises:
        NothingToIngest: no path holds a readable file, or one does not exist.
        GenerationCancelled: ``cancel`` was set.
        ModelError: the embedder is missing, does not answer or fails at any text.
        StoreError: the store cannot be written.
    """
    began = time.monotonic()
    library = Library(store)
    known = {doc.source: doc for doc in library.documents(collection)}
    files = [(_stored_as(file, known), file) for file in _files(paths)]
    here = {str(path) for path, _ in files}
    gone = _gone(paths, here, known)
    if not files and not gone and not addresses:
        raise NothingToIngest(
            f"No readable file in {', '.join(str(p) for p in paths)}.",
            f"deepthink reads {', '.join(sorted(SUFFIXES))}.",
        )
    if description:
        library.describe_collection(collection, description)
    wanted: list[_File | _Page] = [
        # One that was read with its folder keeps the name it has there when it is named by itself.
        _File(path, known[str(path)].name if file.outright and str(path) in known else file.name, file)
        for path, file in files
    ]
    if fetch is not None:
        wanted += [_Page(url, fetch) for url in dict.fromkeys(addresses)]
    yield FileFound(len(wanted))
    counts: dict[str, int] = dict.fromkeys(("added", "updated", "unchanged", "removed", "failed"), 0)
    chunks = 0
    unknown: Counter[str] = Counter()
    for one in wanted:
        for event in _one(one, collection, known, library, embedder, cancel):
            if isinstance(event, FileDone):
                counts[event.outcome] += 1
                chunks += event.chunks
                unknown.update([event.language] if event.language else [])
            elif isinstance(event, FileFailed):
                counts["failed"] += 1
            yield event
    stop_if(cancel)
    gone += _renamed(library.documents(collection), here, but={document.id for document in gone})
    for document in gone:
        library.remove_document(document.id)
        counts["removed"] += 1
        yield FileDone(document.source, document.name, "removed", 0, 0.0, None, 0.0, ())
    if unknown:
        names = tuple(_language_name(code) for code, _ in unknown.most_common())
        yield LanguagesUnknown(unknown.total(), names, embedder.name)
    yield IngestFinished(**counts, chunks=chunks, seconds=round(time.monotonic() - began, 3))


def _files(paths: Sequence[Path]) -> list[FoundFile]:
    """Each file once, as itself rather than by a link to it where it is found as both.

    A file named outright is taken whatever its ending; its content decides.
    """
    found: dict[Path, FoundFile] = {}
    for given in paths:
        path = expanded_path(given)
        if is_folder(path):
            inside: Iterable[FoundFile] = files_in(path, SUFFIXES)
        else:
            inside = (_named(path, given),)
        for file in inside:
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


def _gone(paths: Sequence[Path], here: Container[str], known: dict[str, Document]) -> list[Document]:
    """Stored documents that came from one of the folders and are no longer in it, or doubled by a link.

    A folder that is empty altogether may be that of a drive which is not mounted: it takes nothing along.
    """
    folders = [Path(os.path.realpath(path)) for path in map(expanded_path, paths) if is_folder(path)]
    full = [folder for folder in folders if not is_empty(folder)]
    return [
        document
        for source, document in known.items()
        if source not in here
        and any(Path(source).is_relative_to(folder) for folder in full)
        # One that is still there may have been named outright and be of a kind that folders leave out.
        and (is_gone(Path(source)) or _is_link_to(source, known))
    ]


def _is_link_to(source: str, known: Container[str]) -> bool:
    real = os.path.realpath(source)
    return real != source and real in known


def _renamed(documents: Sequence[Document], here: Container[str], *, but: Container[int]) -> list[Document]:
    """Documents, ``but`` these, whose file lies here under another name, where it has just been read."""
    read: dict[str, list[Path]] = {}
    for document in documents:
        if document.source in here:
            read.setdefault(document.sha256, []).append(Path(document.source))
    return [
        document
        for document in documents
        if document.source not in here
        and document.id not in but
        and any(is_renamed(Path(document.source), new) for new in read.get(document.sha256, ()))
    ]


def _stored_as(file: FoundFile, known: dict[str, Document]) -> Path:
    """The path that is a file's source: where it was found, so that a link that is gone is missed.

    A file that is in the library already keeps its source. Libraries of older versions hold what a link
    leads to, and so does one to which the file itself was added.
    """
    at = (path for path in (file.real, file.path) if str(path) in known)
    return next(at, file.real if file.outright else file.path)


class _File:
    """A file that is wanted, by its source and the name it goes by."""

    def __init__(self, path: Path, name: str, found: FoundFile) -> None:
        self.source = _utf8(str(path))
        self.name = _utf8(name)
        self._path = path
        self._unlisted = found.unlisted

    def origin(self) -> Origin:
        """What identifies its content, which is not read as a document yet."""
        if self.source != str(self._path):  # the store could not hold it
            raise UnreadableDocument(f"The name of {self.source} is not valid UTF-8.", "Rename the file.")
        try:
            if self._unlisted is not None:
                raise self._unlisted
            size = self._path.stat().st_size
            if size > MAX_BYTES:
                raise UnreadableDocument(
                    f"{self.name} is {size / 1e6:,.0f} MB; up to {MAX_BYTES / 1e6:,.0f} MB are read.",
                    "Split it, or convert it to plain text.",
                )
            return Origin(self.source, self.name, _sha256(self._path), size)
        except OSError as error:
            raise UnreadableDocument(f"{self.name}: {error.strerror}.", "Check its permissions.") from error

    def parsed(self) -> ParsedDocument:
        """Its content."""
        return read(self._path)


class _Page:
    """A page or file of the web that is wanted, and read whole: tables and all, as if it were a file."""

    def __init__(self, url: str, fetch: Callable[[str], Fetched]) -> None:
        self.source = _utf8(url)
        self.name = page_name(self.source)
        self._fetch = fetch
        self._fetched: Fetched | None = None

    def origin(self) -> Origin:
        """What identifies its content, which is fetched for that."""
        self._fetched = self._fetch(self.source)
        return Origin.of_page(self.source, self._fetched.data)

    def parsed(self) -> ParsedDocument:
        """Its content."""
        page = self._fetched
        assert page is not None, "an origin is asked for first"
        return read_bytes(file_name(page.url), page.data, served_as=page.media_type, charset=page.charset)


def _one(
    wanted: _File | _Page,
    collection: str,
    known: dict[str, Document],
    library: Library,
    embedder: Embedder,
    cancel: threading.Event | None,
) -> Iterator[IngestEvent]:
    began = time.monotonic()
    before = known.get(wanted.source)
    stop_if(cancel)
    try:
        yield FileStarted(wanted.source, wanted.name)
        origin = wanted.origin()
        if before is not None and origin.is_stored_as(before):
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
        parsed = wanted.parsed()
        work = Indexing(origin, parsed, embedder)
        for done, total in work.embed(cancel):
            yield FileEmbedding(wanted.source, done, total)
        work.store(library, collection)
    except (GenerationCancelled, StoreError, ModelMissing, ModelUnreachable):
        raise  # the other files would fare no better
    except DeepthinkError as error:
        if isinstance(error, ModelError):
            embedder.embed_query(_WORD)  # a model that fails at this too is at fault, not the file
        yield FileFailed(wanted.source, wanted.name, error)
        return
    yield FileDone(
        wanted.source,
        wanted.name,
        "updated" if before else "added",
        len(work.chunks),
        work.coverage,
        parsed.pages,
        round(time.monotonic() - began, 3),
        parsed.notices,
        _unknown_language(work, embedder),
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


def _utf8(text: str) -> str:
    """``text`` as it can be stored and shown: Python keeps the odd bytes of a file name as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
