"""The records of the library, the scope of a search, and their errors."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal, TypeAlias

from traces.errors import DeepthinkError

SECTION_SEPARATOR = " › "
ALL_COLLECTIONS = "all"
"""Stands for all of them where the user names a collection to search."""
WEB_COLLECTION = "web"
"""Collection of web pages: searched by runs that may use the web, or that name it."""


class UnknownCollection(DeepthinkError, title="Unknown collection", kind="usage"):
    """Raised when a named collection is not in the library."""


class UnknownDocument(DeepthinkError, title="Unknown document", kind="usage"):
    """Raised when a named document is not in the library."""


@dataclass(frozen=True, slots=True)
class Collection:
    """A named set of documents."""

    name: str
    description: str  # the user's, or ""
    generation: int  # grows with every change
    documents: int
    chunks: int
    titles: tuple[str, ...]  # of its first documents

    @property
    def contents(self) -> str:
        """What it holds, in a line: the description, or how many documents and the titles of some."""
        count = f"{self.documents} document{'' if self.documents == 1 else 's'}"
        return self.description or ": ".join(part for part in (count, "; ".join(self.titles[:3])) if part)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage about to be stored: the unit that is embedded, searched and cited."""

    position: int  # 0-based order in the document
    kind: Literal["text", "table"]  # prose or (part of) a table
    section: tuple[str, ...]  # headings above it, outermost first
    page: int | None  # 1-based first page, if the format has pages
    text: str
    """The text to show and cite. For a table: caption, header line, rows; cells joined by `` | ``. Each
    part of a split table repeats caption and header."""
    terms: tuple[str, ...] = ()  # its normalised keyword terms
    repeated: int = (
        0  # leading characters of ``text`` that repeat an earlier chunk; coverage counts them once
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _DocumentFacts:
    """What the library keeps about a document."""

    collection: str
    source: str
    name: str
    title: str
    media_type: str
    sha256: str
    bytes: int
    pages: int | None
    date: str
    coverage: float  # the share of its text that is in its chunks
    notices: tuple[str, ...]
    reader: int  # version of reading and chunking; negative if its scans were not read
    author: str = ""  # its author, for a mail its sender, if the file names one
    sender: str = ""  # sender of the mail that it is, or that it is attached to; else ""
    modified: int = 0  # when its file was last changed, in nanoseconds since 1970; 0 if it is not a file


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument(_DocumentFacts):
    """A document about to be stored."""

    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document(_DocumentFacts):
    """A stored document; ``chunks`` is their number."""

    id: int
    ingested: datetime
    chunks: int

    @property
    def changed(self) -> str:
        """The ISO date (UTC) on which its file was last changed; "" if it is not a file."""
        return datetime.fromtimestamp(self.modified / 1e9, UTC).date().isoformat() if self.modified else ""


@dataclass(frozen=True, slots=True)
class Passage:
    """A stored chunk with the facts about its document that a citation needs."""

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
    author: str = ""  # author or sender of its document, if known

    @property
    def headings(self) -> tuple[str, ...]:
        """The headings above it, outermost first."""
        return tuple(self.section.split(SECTION_SEPARATOR)) if self.section else ()


Generation: TypeAlias = tuple[datetime, int]
"""State of a collection: when it was created, and a count that grows with every change of its documents."""


_DAY = """coalesce(nullif(d.date, ''), CASE WHEN d.modified > 0
    THEN CAST(CAST(make_timestamp(d.modified // 1000) AS DATE) AS VARCHAR) END, '')"""


@dataclass(frozen=True, slots=True)
class Filters:
    """Facts that a document must have; an empty field does not restrict."""

    people: tuple[str, ...] = ()
    """Parts of the name or address of its author or sender, one of which must match."""
    after: str = ""
    """An ISO date or a prefix of one, such as ``2024-03``: then or later. The document's own date counts,
    else the day on which its file was changed."""
    before: str = ""  # likewise: earlier than that
    kinds: tuple[str, ...] = ()  # media types, and file name suffixes with the dot, one of which must match
    folders: tuple[str, ...] = ()
    """Folders, one of which must contain it, at any depth: ``letters`` or ``letters/2024``."""

    def where(self) -> tuple[list[str], list[Any]]:
        """SQL conditions on ``d`` (documents), with their parameters."""
        conditions: list[str] = []
        values: list[Any] = []
        if self.people:
            name = "strip_accents(lower(d.author || ' ' || d.sender))"
            match = " OR ".join(f"contains({name}, strip_accents(lower(?)))" for _ in self.people)
            conditions.append(f"({match})")
            values.extend(self.people)
        for sign, day in ((">=", self.after), ("<", self.before)):
            if day:
                conditions.append(f"({_DAY} <> '' AND {_DAY} {sign} ?)")
                values.append(day)
        if self.kinds:
            suffixes = " OR ".join("ends_with(lower(d.source), ?)" for _ in self.kinds)
            conditions.append(f"(list_contains(?, d.media_type) OR {suffixes})")
            values.extend([list(self.kinds), *self.kinds])
        if self.folders:
            match = " OR ".join("contains(lower(d.source), '/' || lower(?) || '/')" for _ in self.folders)
            conditions.append(f"({match})")
            values.extend(self.folders)
        return conditions, values


NO_FILTERS: Final = Filters()


@dataclass(frozen=True, slots=True)
class Scope:
    """Where to search; an empty field does not restrict."""

    collections: tuple[str, ...] = ()  # names
    documents: tuple[int, ...] = ()  # document ids
    sections: tuple[str, ...] = ()  # stored section paths; a path includes everything beneath it
    filters: Filters = NO_FILTERS

    @property
    def is_whole(self) -> bool:
        """Whether it includes its collections completely."""
        return not self.documents and not self.sections and self.filters == NO_FILTERS

    def where(self) -> tuple[str, list[Any]]:
        """An SQL condition on ``d`` (documents) and ``c`` (chunks), with its parameters."""
        facts, values = self.filters.where()
        conditions = ["true", *facts]
        if self.collections:
            conditions.append("list_contains(?, d.collection)")
            values.append(list(self.collections))
        if self.documents:
            conditions.append("list_contains(?, d.id)")
            values.append(list(self.documents))
        if self.sections:
            nested = " OR ".join("starts_with(c.section, ?)" for _ in self.sections)
            conditions.append(f"(list_contains(?, c.section) OR {nested})")
            values.append(list(self.sections))
            values.extend(section + SECTION_SEPARATOR for section in self.sections)
        return " AND ".join(conditions), values
