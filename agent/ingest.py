"""Ingestion: files, folders and, where the web is on, addresses become documents in the library.

Each document is stored in one transaction (`agent.indexing`). A file whose bytes are already there is
not read again.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from agent.indexing import Indexing, Origin, file_name, page_name
from agent.reading import MAX_BYTES, SUFFIXES, read, read_bytes
from agent.reading.document import ParsedDocument, UnreadableDocument
from models.protocols import Embedder, GenerationCancelled, ModelError, ModelMissing, ModelUnreachable
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import Document, EmbedderMismatch
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
    """A file is in the library, or was already, or is gone from it."""

    source: str
    name: str
    outcome: Outcome
    chunks: int
    coverage: float
    pages: int | None
    seconds: float
    notices: tuple[str, ...]


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

    A folder is taken whole: what was read from it before and is no longer there is removed.

    Args:
        paths: Files, and folders that are searched for readable files (hidden ones left out).
        addresses: URLs of pages and files, each read whole as a file would be.
        fetch: Fetches one of them; needed where there are any.
        collection: Where they go; made if new.
        description: What the collection holds, in one line: the planner reads it.
        store: Where the library is.
        embedder: Makes the vectors.
        cancel: Stops between batches; documents stored so far stay.

    Raises:
        NothingToIngest: no path holds a readable file, or one does not exist.
        EmbedderMismatch: the library's vectors were made by another model.
        GenerationCancelled: ``cancel`` was set.
        ModelError: the embedder is missing, does not answer or fails at any text.
        StoreError: the store cannot be written.
    """
    began = time.monotonic()
    library = Library(store)
    files = _files(paths)
    known = {doc.source: doc for doc in library.documents(collection)}
    gone = _gone(paths, files, known)
    if not files and not gone and not addresses:
        raise NothingToIngest(
            f"No readable file in {', '.join(str(p) for p in paths)}.",
            f"deepthink reads {', '.join(sorted(SUFFIXES))}.",
        )
    if description:
        library.describe_collection(collection, description)
    outright = {path.resolve() for path in map(expanded_path, paths) if not path.is_dir()}
    wanted: list[_File | _Page] = [
        # One that was read with its folder keeps the name it has there when it is named by itself.
        _File(path, known[str(path)].name if path in outright and str(path) in known else name)
        for path, name in files
    ]
    if fetch is not None:
        wanted += [_Page(url, fetch) for url in dict.fromkeys(addresses)]
    yield FileFound(len(wanted))
    counts: dict[str, int] = dict.fromkeys(("added", "updated", "unchanged", "removed", "failed"), 0)
    chunks = 0
    for one in wanted:
        for event in _one(one, collection, known, library, embedder, cancel):
            if isinstance(event, FileDone):
                counts[event.outcome] += 1
                chunks += event.chunks
            elif isinstance(event, FileFailed):
                counts["failed"] += 1
            yield event
    for document in gone:
        library.remove_document(document.id)
        counts["removed"] += 1
        yield FileDone(document.source, document.name, "removed", 0, 0.0, None, 0.0, ())
    yield IngestFinished(**counts, chunks=chunks, seconds=round(time.monotonic() - began, 3))


def _files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each file once, with the name a person knows it by.

    A file named outright is taken whatever its ending; its content decides.
    """
    found: dict[Path, str] = {}
    for given in paths:
        path = expanded_path(given)
        if path.is_dir():
            for file in sorted(path.rglob("*")):
                inside = file.relative_to(path)
                hidden = any(part.startswith((".", "~$")) for part in inside.parts)
                if not hidden and file.suffix.casefold() in SUFFIXES and file.is_file():
                    found.setdefault(file.resolve(), inside.as_posix())
        elif path.exists():
            found.setdefault(path.resolve(), path.name)
        else:
            raise NothingToIngest(f"{given} does not exist.", "Check the path and try again.")
    return list(found.items())


def _gone(
    paths: Sequence[Path], files: Sequence[tuple[Path, str]], known: dict[str, Document]
) -> list[Document]:
    """Stored documents that came from one of the folders and are no longer in it."""
    here = {str(path) for path, _ in files}
    folders = [path.resolve() for path in map(expanded_path, paths) if path.is_dir()]
    return [
        document
        for source, document in known.items()
        if source not in here
        and any(Path(source).is_relative_to(folder) for folder in folders)
        and not Path(source).exists()  # one that was named outright may be of a kind folders leave out
    ]


class _File:
    """A file that is wanted."""

    def __init__(self, path: Path, name: str) -> None:
        self.source = _utf8(str(path))
        self.name = _utf8(name)
        self._path = path

    def origin(self) -> Origin:
        """What identifies its content, which is not read as a document yet."""
        if self.source != str(self._path):  # the store could not hold it
            raise UnreadableDocument(f"The name of {self.source} is not valid UTF-8.", "Rename the file.")
        try:
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
    except (GenerationCancelled, EmbedderMismatch, StoreError, ModelMissing, ModelUnreachable):
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
    )


def _utf8(text: str) -> str:
    """``text`` as it can be stored and shown: Python keeps the odd bytes of a file name as surrogates."""
    return text.encode("utf-8", "backslashreplace").decode()


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
