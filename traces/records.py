"""The records of what was read, the scope of a search, and what can be wrong about either."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TypeAlias

from traces.errors import DeepthinkError

SECTION_SEPARATOR = " › "
WEB_COLLECTION = "web"
"""Where pages of the web are kept: searched by runs that may use the web, or that name it."""


class UnknownCollection(DeepthinkError):
    """Raised when a collection is named that the library does not hold."""

    title = "Unknown collection"
    kind = "usage"


class UnknownDocument(DeepthinkError):
    """Raised when a document is named that the library does not hold."""

    title = "Unknown document"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents; ``generation`` grows with every change of them."""

    name: str
    description: str
    generation: int
    documents: int
    chunks: int


@dataclass(frozen=True, slots=True)
class NewChunk:
    """A chunk about to be stored; ``terms`` are its normalised keyword terms."""

    position: int
    kind: str
    section: tuple[str, ...]
    page: int | None
    text: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NewDocument:
    """A document about to be stored.

    Attributes:
        coverage: The share of its text that is in ``chunks``.
        author: Who wrote it, for a mail its sender, where the file says so.
    """

    collection: str
    source: str
    name: str
    title: str
    media_type: str
    sha256: str
    bytes: int
    pages: int | None
    date: str
    coverage: float
    notices: tuple[str, ...]
    reader: int
    chunks: tuple[NewChunk, ...]
    author: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document."""

    id: int
    collection: str
    source: str
    name: str
    title: str
    media_type: str
    sha256: str
    bytes: int
    pages: int | None
    date: str
    coverage: float
    notices: tuple[str, ...]
    reader: int
    ingested: datetime
    chunks: int
    author: str = ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored chunk together with what a citation needs to know of its document."""

    id: int
    document_id: int
    collection: str
    document: str
    title: str
    date: str
    section: str
    page: int | None
    position: int
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A stored chunk that has no vector yet, with what is embedded of it: title, headings and text."""

    id: int
    title: str
    section: tuple[str, ...]
    text: str


Generation: TypeAlias = tuple[datetime, int]
"""State of a collection: when it was made, and a count that grows with every change of its documents."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search; an empty field does not restrict.

    Attributes:
        collections: Collection names.
        documents: Document ids.
        sections: Stored section paths; a path includes everything beneath it.
    """

    collections: tuple[str, ...] = ()
    documents: tuple[int, ...] = ()
    sections: tuple[str, ...] = field(default=())

    def where(self) -> tuple[str, list[Any]]:
        """An SQL condition on ``d`` (documents) and ``c`` (chunks), with its parameters."""
        conditions = ["true"]
        values: list[Any] = []
        if self.collections:
            conditions.append("list_contains(?, d.collection)")
            values.append(list(self.collections))
        if self.documents:
            conditions.append("list_contains(?, d.id)")
            values.append(list(self.documents))
        if self.sections:
            beneath = " OR ".join("starts_with(c.section, ?)" for _ in self.sections)
            conditions.append(f"(list_contains(?, c.section) OR {beneath})")
            values.append(list(self.sections))
            values.extend(section + SECTION_SEPARATOR for section in self.sections)
        return " AND ".join(conditions), values
