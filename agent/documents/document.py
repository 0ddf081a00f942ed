"""The result of reading a file: blocks in reading order, and the visible text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Literal

from traces.errors import DeepthinkError


class UnreadableDocument(DeepthinkError):
    """Raised when a file cannot be read (damaged, encrypted, binary, empty)."""

    title = "Cannot read this file"
    kind = "input"


def damaged(name: str, error: Exception) -> UnreadableDocument:
    """The error to raise for a file on which a parser failed with ``error``."""
    return UnreadableDocument(
        f"{name} is damaged and cannot be read ({type(error).__name__}: {error}).",
        "Open it in the program it comes from, save it again and add the new file.",
    )


def encrypted(name: str) -> UnreadableDocument:
    """The error to raise for a file that needs a password."""
    return UnreadableDocument(
        f"{name} is encrypted and opens only with a password.",
        "Save a copy without the password and add that.",
    )


class NoText(UnreadableDocument):
    """Raised when a document has no text, as in a scan."""

    title = "This document has no text"


@dataclass(frozen=True, slots=True)
class Table:
    """A table as rows of cells; the ``header`` rows name the columns.

    All rows have the same number of cells: spans are resolved, a currency sign or closing parenthesis in
    its own cell is joined to the number, and empty columns are removed. The first cell of a body row is
    its label.
    """

    header: tuple[tuple[str, ...], ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Block:
    """One heading, paragraph, list item or table, in reading order.

    Attributes:
        kind: Its kind.
        text: Its text (for a table: empty; see ``table``).
        level: 1 (outermost) to 6 for a heading, else 0.
        page: 1-based page if the format has pages, else None.
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
        name: Its unique path inside the other file.
        content: Returns its bytes.
    """

    name: str
    content: Callable[[], bytes]


def with_unique_names(files: Iterable[tuple[str, Callable[[], bytes]]]) -> Iterator[Enclosed]:
    """The files with unique names: a repeated name gets a number."""
    counts: Counter[str] = Counter()
    for raw_name, content in files:
        path = PurePosixPath("/", raw_name.replace("\\", "/").replace("\x00", ""))
        name = "/".join(part for part in path.parts[1:] if part not in {".", ".."}) or "file"
        counts[name] += 1
        if counts[name] > 1:
            stem, dot, ending = name.rpartition(".")
            name = f"{stem or ending} ({counts[name]}){dot}{ending if stem else ''}"
        yield Enclosed(name, content)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document as read.

    Attributes:
        blocks: Its content in reading order.
        visible_text: All visible text, extracted independently of ``blocks``, so that coverage measures
            the reader too.
        title: The document's own title, else its file name.
        media_type: e.g. ``text/html``; `agent.documents.reading` sets it.
        pages: Number of pages, if the format has them.
        date: The ISO date stated in the document, else "".
        author: Its author, if the file names one; the sender of a mail.
        notices: Sentences for the user (such as "3 of 12 pages are scans.").
        enclosed: Files inside it, which are separate documents.
        scans: 1-based pages that are pictures and whose text is not recognised yet.
    """

    blocks: tuple[Block, ...]
    visible_text: str
    title: str = ""
    media_type: str = ""
    pages: int | None = None
    date: str = ""
    author: str = ""
    notices: tuple[str, ...] = ()
    enclosed: tuple[Enclosed, ...] = ()
    scans: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Chunk:
    """A passage: the unit that is embedded, searched and cited.

    Attributes:
        text: The text to show and cite. For a table: caption, header line, rows; cells joined by `` | ``;
            each part of a split table repeats caption and header.
        kind: Prose or (part of) a table.
        section: Headings above it, outermost first.
        page: 1-based first page, if the format has pages.
        position: 0-based order in the document.
        repeated: The number of leading characters of ``text`` that repeat an earlier chunk (a split table's
            caption and header); coverage counts them once.
    """

    text: str
    kind: Literal["text", "table"]
    section: tuple[str, ...]
    page: int | None
    position: int
    repeated: int = 0
