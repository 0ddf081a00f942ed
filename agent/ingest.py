"""Ingestion: files and folders become documents with chunks, vectors and keyword terms in the store.

Each document is stored in one transaction, so a crash leaves the library as it was before that
document. A file whose bytes are already there is not read again.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from agent.chunking import chunk
from agent.coverage import coverage
from agent.reading import MAX_BYTES, SUFFIXES, read
from agent.reading.document import Chunk, ParsedDocument, UnreadableDocument
from agent.retrieval.terms import terms
from models.protocols import Embedder, GenerationCancelled, Vectors
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import Document, NewChunk, NewDocument
from traces.store import Store

READER_VERSION = 1  # grows when reading or chunking changes, so that files are read anew
_BATCH = 32

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
    """A file is being read; ``size`` in bytes."""

    path: Path
    name: str
    size: int


@dataclass(frozen=True, slots=True)
class FileEmbedding(IngestEvent):
    """Progress of a file's vectors."""

    path: Path
    done_chunks: int
    total_chunks: int


@dataclass(frozen=True, slots=True)
class FileDone(IngestEvent):
    """A file is in the library, or was already, or is gone from it."""

    path: Path
    name: str
    outcome: Outcome
    chunks: int
    coverage: float
    pages: int | None
    seconds: float
    notices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileFailed(IngestEvent):
    """A file could not be read; what the library held of it before is still there."""

    path: Path
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
    collection: str,
    description: str = "",
    store: Store,
    embedder: Embedder,
    cancel: threading.Event | None = None,
) -> Iterator[IngestEvent]:
    """Bring a collection up to date with files and folders.

    A folder is taken whole: what was read from it before and is no longer there is removed.

    Args:
        paths: Files, and folders that are searched for readable files (hidden ones left out).
        collection: Where they go; made if new.
        description: What the collection holds, in one line: the planner reads it.
        store: Where the library is.
        embedder: Makes the vectors.
        cancel: Stops between batches; documents stored so far stay.

    Raises:
        NothingToIngest: no path holds a readable file, or one does not exist.
        EmbedderMismatch: the library's vectors were made by another model.
        GenerationCancelled: ``cancel`` was set.
        StoreError: the store cannot be written.
    """
    began = time.monotonic()
    library = Library(store)
    files = _files(paths)
    known = {doc.source: doc for doc in library.documents(collection)}
    gone = _gone(paths, files, known)
    if not files and not gone:
        raise NothingToIngest(
            f"No readable file in {', '.join(str(p) for p in paths)}.",
            f"deepthink reads {', '.join(sorted(SUFFIXES))}.",
        )
    if description:
        library.describe_collection(collection, description)
    yield FileFound(len(files))
    counts: dict[str, int] = dict.fromkeys(("added", "updated", "unchanged", "removed", "failed"), 0)
    chunks = 0
    for path, name in files:
        for event in _one_file(path, name, collection, known, library, embedder, cancel):
            if isinstance(event, FileDone):
                counts[event.outcome] += 1
                chunks += event.chunks
            elif isinstance(event, FileFailed):
                counts["failed"] += 1
            yield event
    for document in gone:
        library.remove_document(document.id)
        counts["removed"] += 1
        yield FileDone(Path(document.source), document.name, "removed", 0, 0.0, None, 0.0, ())
    yield IngestFinished(**counts, chunks=chunks, seconds=round(time.monotonic() - began, 3))


def _files(paths: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each file once, with the name a person knows it by.

    A file named outright is taken whatever its ending; its content decides.
    """
    found: dict[Path, str] = {}
    for given in paths:
        path = given.expanduser()
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
    folders = [p.expanduser().resolve() for p in paths if p.expanduser().is_dir()]
    return [
        document
        for source, document in known.items()
        if source not in here
        and any(Path(source).is_relative_to(folder) for folder in folders)
        and not Path(source).exists()  # one that was named outright may be of a kind folders leave out
    ]


def _one_file(
    path: Path,
    name: str,
    collection: str,
    known: dict[str, Document],
    library: Library,
    embedder: Embedder,
    cancel: threading.Event | None,
) -> Iterator[IngestEvent]:
    began = time.monotonic()
    try:
        str(path).encode()  # a name that is not UTF-8 cannot be stored
        size = path.stat().st_size
        yield FileStarted(path, name, size)
        if size > MAX_BYTES:
            raise UnreadableDocument(
                f"{name} is {size / 1e6:,.0f} MB; files of up to {MAX_BYTES / 1e6:,.0f} MB are read.",
                "Split it, or convert it to plain text.",
            )
        digest = _sha256(path)
        before = known.get(str(path))
        if before and before.sha256 == digest and before.reader == READER_VERSION:
            took = time.monotonic() - began
            yield FileDone(
                path, name, "unchanged", before.chunks, before.coverage, before.pages, took, before.notices
            )
            return
        parsed = read(path)
        pieces = chunk(parsed)
    except DeepthinkError as error:
        yield FileFailed(path, name, error)
        return
    except UnicodeEncodeError:
        shown = str(path).encode("utf-8", "backslashreplace").decode()
        problem = UnreadableDocument(f"The name of {shown} is not valid UTF-8.", "Rename the file.")
        yield FileFailed(path, shown, problem)
        return
    except OSError as error:
        yield FileFailed(
            path, name, UnreadableDocument(f"{name}: {error.strerror}.", "Check its permissions.")
        )
        return
    vectors: list[Vectors] = []
    texts = [passage_text(parsed.title, piece) for piece in pieces]
    for start in range(0, len(texts), _BATCH):
        if cancel is not None and cancel.is_set():
            raise GenerationCancelled(
                "Reading was stopped.", "Run the same command again; what is read stays read."
            )
        vectors.append(embedder.embed_passages(texts[start : start + _BATCH]))
        yield FileEmbedding(path, min(start + _BATCH, len(texts)), len(texts))
    share = coverage(parsed, pieces)
    document = _new_document(path, name, collection, size, digest, parsed, pieces, share)
    library.put_document(document, np.concatenate(vectors), embedder.name)
    yield FileDone(
        path,
        name,
        "updated" if before else "added",
        len(pieces),
        share,
        parsed.pages,
        round(time.monotonic() - began, 3),
        parsed.notices,
    )


def passage_text(title: str, piece: Chunk) -> str:
    """What is embedded for a chunk: title and section give a short passage its context."""
    return ". ".join(part for part in (title, *piece.section, piece.text) if part)


def _new_document(
    path: Path,
    name: str,
    collection: str,
    size: int,
    digest: str,
    parsed: ParsedDocument,
    pieces: Sequence[Chunk],
    share: float,
) -> NewDocument:
    return NewDocument(
        collection=collection,
        source=str(path),
        name=name,
        title=parsed.title,
        media_type=parsed.media_type,
        sha256=digest,
        bytes=size,
        pages=parsed.pages,
        date=parsed.date,
        coverage=share,
        notices=parsed.notices,
        reader=READER_VERSION,
        chunks=tuple(
            NewChunk(
                position=piece.position,
                kind=piece.kind,
                section=piece.section,
                page=piece.page,
                text=piece.text,
                terms=tuple(terms(passage_text(parsed.title, piece))),
            )
            for piece in pieces
        ),
    )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
