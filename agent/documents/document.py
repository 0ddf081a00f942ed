"""What a reader makes of a file: an ordered list of blocks, and the text that a person would see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from traces.errors import DeepthinkError


class UnreadableDocument(DeepthinkError):
    """Raised when a file cannot be read as what it claims to be (damaged, encrypted, binary, empty)."""

    title = "Cannot read this file"
    kind = "input"


class NoText(UnreadableDocument):
    """Raised when a document holds no text at all, such as a scan."""

    title = "This document has no text"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as rows of cells; ``header`` rows come first and name the columns.

    Every row, header or not, has the same number of cells: spans are resolved, a currency sign or a
    closing parenthesis that sat in a cell of its own is joined to its number, empty columns are gone.
    The first cell of a body row is its label.
    """

    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One heading, paragraph, list item or table, in reading order.

    Attributes:
        kind: What it is.
        text: Its text (for a table: empty; see ``table``).
        level: 1 (outermost) to 6 for a heading, else 0.
        page: 1-based page where the format has pages, else None.
        table: The cells, for a table.
    """

    kind: Literal["heading", "text", "table"]
    text: str = ""
    level: int = 0
    page: int | None = None
    table: Table | None = None


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A file inside another: an attachment, a message of a mailbox, a file of an archive.

    Attributes:
        name: Its path inside the other; no two in one file have the same.
        content: Gives its bytes.
    """

    name: str
    content: Callable[[], bytes]


def named_apart(files: Iterable[tuple[str, Callable[[], bytes]]]) -> Iterator[Enclosed]:
    """The files, with a number in the names of those that would be called like one before them."""
    taken: Counter[str] = Counter()
    for given, content in files:
        path = PurePosixPath("/", given.replace("\\", "/").replace("\x00", ""))
        name = "/".join(part for part in path.parts[1:] if part not in {".", ".."}) or "file"
        taken[name] += 1
        if taken[name] > 1:
            stem, dot, ending = name.rpartition(".")
            name = f"{stem or ending} ({taken[name]}){dot}{ending if stem else ''}"
        yield Enclosed(name, content)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document as read.

    Attributes:
        title: The document's own title, else its file name.
        media_type: e.g. ``text/html``.
        blocks: Its content in reading order.
        visible_text: All text a person would see, taken by another way than ``blocks``, so that
            coverage measures the reader too.
        pages: Number of pages, where the format has them.
        date: ISO date the document gives itself, where it is plainly stated, else "".
        author: Who wrote it, where the file says so: for a mail, its sender.
        notices: Sentences a person should know (such as "3 of 12 pages hold no text").
        enclosed: Files inside it, which are documents of their own.
        scans: Pages (counted from 1) that are pictures, whose text is not recognised yet.
    """

    title: str
    media_type: str
    blocks: tuple[Block, ...]
    visible_text: str
    pages: int | None = None
    date: str = ""
    author: str = ""
    notices: tuple[str, ...] = field(default=())
    enclosed: tuple[Enclosed, ...] = ()
    scans: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: the unit that is embedded, searched, cited.

    Attributes:
        text: What is shown and cited. For a table: caption, header line, rows; cells joined by
            `` | ``; a table split by rows repeats caption and header.
        kind: Whether it is prose or (part of) a table; a chunk is never both.
        section: Headings above it, outermost first.
        page: 1-based first page, where the format has pages.
        position: 0-based order in the document.
        repeated: Leading characters of ``text`` that repeat an earlier chunk's (a split table's
            caption and header); they count once in the coverage.
    """

    text: str
    kind: Literal["text", "table"]
    section: tuple[str, ...]
    page: int | None
    position: int
    repeated: int = 0
