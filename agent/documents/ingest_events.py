"""What is told of while files are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from traces.errors import DeepthinkError

Outcome = Literal["added", "updated", "moved", "unchanged", "removed"]


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
        was: What it was called before it was moved; else "".
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
class FileSetAside(IngestEvent):
    """A file is not read now.

    Attributes:
        waits: It is read after the others, because it has scans; else it is a picture without words.
    """

    source: str
    name: str
    waits: bool


@dataclass(frozen=True, slots=True)
class ScansFound(IngestEvent):
    """What recognising the text on scanned pages will take; told before it begins.

    Attributes:
        documents: How many files.
        pages: How many pages of theirs.
        seconds: About how long it takes.
    """

    documents: int
    pages: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PageRecognised(IngestEvent):
    """Progress of a file's scanned pages."""

    source: str
    done_pages: int
    total_pages: int


@dataclass(frozen=True, slots=True)
class FilesUnread(IngestEvent):
    """Files that were passed over, because nothing reads their kind; told once, at the end.

    Attributes:
        kinds: Endings of their names with how many there are, the most frequent first; "" for none.
    """

    kinds: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class FolderAway(IngestEvent):
    """A followed folder is not there, or holds nothing that can be read: what was read from it is kept.

    Attributes:
        path: Of the folder.
        is_there: Whether it is there, and empty.
        documents: How many were read from it.
    """

    collection: str
    path: str
    is_there: bool
    documents: int


@dataclass(frozen=True, slots=True)
class FilesUnsettled(IngestEvent):
    """Files that are being written, and were not read yet."""

    names: tuple[str, ...]


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
    moved: int
    unchanged: int
    removed: int
    failed: int
    chunks: int
    seconds: float
