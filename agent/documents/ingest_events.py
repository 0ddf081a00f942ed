"""The events of an ingestion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from traces.errors import DeepthinkError

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
