"""The result of reading a file: blocks in reading order, and the visible text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Literal

from traces.errors import DeepthinkError


class UnreadableDocument(DeepthinkError, title="Cannot read this file", kind="input"):
    """Raised when a file cannot be read (damaged, encrypted, binary, empty)."""


def damaged(name: str, error: BaseException) -> UnreadableDocument:
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


class NoText(UnreadableDocument, title="This document has no text"):
    """Raised when a document has no text, as in a scan."""


MAIL_FIELDS = ("From", "To", "Cc", "Date", "Subject", "Attachments")
"""The lines at the head of a mail's text, in order; those without a value are left out."""


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
class Look:
    """How a paragraph looks, as far as it helps to tell headings from text."""

    size: float = 0.0
    bold: bool = False
    italic: bool = False
    underlined: bool = False
    coloured: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """One heading, paragraph, list item or table, in reading order.

    Until `agent.documents.outline` finds the headings, they are text, with the level that the format gives.
    """

    kind: Literal["heading", "text", "table"]
    text: str = ""  # empty for a table
    level: int = 0  # 1 (outermost) to 6 for a heading, else 0
    page: int | None = None  # 1-based page if the format has pages, else None
    table: Table | None = None  # the cells, for a table
    look: Look = field(default=Look(), compare=False, repr=False)
    item: bool = field(default=False, compare=False, repr=False)  # a list item or code: never a heading


@dataclass(frozen=True, slots=True)
class Enclosed:
    """A file inside another: an attachment, a message of a mailbox, a file of an archive."""

    name: str  # its unique path inside the other file
    unpack: Callable[[], bytes]  # returns its bytes

    def content(self) -> bytes:
        """Its bytes. Raises `UnreadableDocument`."""
        try:
            return self.unpack()
        except Exception as error:  # unpackers raise all kinds of errors on damaged files
            raise damaged(self.name, error) from error


def with_unique_names(files: Iterable[tuple[str, Callable[[], bytes]]]) -> Iterator[Enclosed]:
    """The files with unique names: a repeated name gets a number."""
    counts: Counter[str] = Counter()
    for raw_name, unpack in files:
        path = PurePosixPath("/", raw_name.replace("\\", "/").replace("\x00", ""))
        name = "/".join(part for part in path.parts[1:] if part not in {".", ".."}) or "file"
        counts[name] += 1
        if counts[name] > 1:
            stem, dot, ending = name.rpartition(".")
            name = f"{stem or ending} ({counts[name]}){dot}{ending if stem else ''}"
        yield Enclosed(name, unpack)


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """A document as read."""

    blocks: tuple[Block, ...]
    visible_text: str
    """All visible text, extracted independently of ``blocks``, so that coverage measures the reader too."""
    title: str = ""  # the document's own title, else its file name
    media_type: str = ""  # e.g. ``text/html``; `agent.documents.reading` sets it
    pages: int | None = None
    date: str = ""  # the ISO date stated in the document, else that in its file name, else ""
    author: str = ""  # its author, if the file names one; the sender of a mail
    notices: tuple[str, ...] = ()  # sentences for the user (such as "3 of 12 pages are scans.")
    enclosed: tuple[Enclosed, ...] = ()  # files inside it, which are separate documents
    scans: tuple[int, ...] = ()  # 1-based pages that are pictures and whose text is not recognised yet
