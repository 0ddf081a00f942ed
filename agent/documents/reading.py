"""Reading documents: from a file to its blocks in reading order and its visible text.

`read` takes a file, `read_bytes` its content. The module of a format is imported only when a file of that
format is read. To add a format, write a module in `formats` and list it in `media_types.FORMATS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from agent.documents import media_types as kinds
from agent.documents.cover import title_of_name
from agent.documents.document import Block, NoText, ParsedDocument, Table, UnreadableDocument, damaged
from agent.documents.encoding import decode
from agent.documents.prose import is_blank, normal
from traces.plain_text import UNSAFE, plain

if TYPE_CHECKING:
    from agent.documents.formats.pdf_lines import ScannedPage

SUFFIXES = frozenset(kinds.MEDIA_TYPES)
PICTURES = frozenset(kinds.BY_TYPE[kinds.PICTURE].suffixes)
MAX_BYTES = 100 * 1024 * 1024


def read(path: Path, *, recognised: Mapping[int, ScannedPage] | None = None) -> ParsedDocument:
    """Read the file at ``path``. Its content decides on the format, and its name only if that is unclear.

    Args:
        path: The file.
        recognised: Recognised text of scanned pages, by page number; None if recognition is off. Pages
            not in it are listed in `ParsedDocument.scans`.

    Raises:
        UnreadableDocument: The file is missing, not accessible, empty, too large, binary, encrypted,
            damaged or of an unknown format. Errors of parsers are converted to this.
        NoText: The file has no text, as in a scan.
    """
    try:
        refuse_large(path.name, path.stat().st_size)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UnreadableDocument(
            f"{path} cannot be opened: {reason}.", "Check that you may read it and that it is a file."
        ) from error
    return read_bytes(path.name, data, recognised=recognised)


def read_bytes(
    name: str,
    data: bytes,
    *,
    served_as: str = "",
    charset: str = "",
    recognised: Mapping[int, ScannedPage] | None = None,
) -> ParsedDocument:
    """Read ``data``. Its content decides on the format, and the other arguments only if that is unclear.

    Args:
        name: The file name.
        data: The content.
        served_as: The media type declared by a server.
        charset: The encoding declared by a server.
        recognised: As for `read`.

    Raises:
        UnreadableDocument, NoText: As `read` does.
    """
    path = Path(name)
    if not data.strip(b"\x00\t\n\r\f "):
        raise UnreadableDocument(f"{name} is empty.", "Check that it is the file you meant.")
    notice = ""
    try:
        media_type = kinds.media_type_of(path, data, served_as)
        notice = kinds.misnaming_notice(path, media_type, served_as)
        if charset and kinds.BY_TYPE[media_type].is_text:
            data = decode(data, charset).encode("utf-8", "replace")
        document = _parse(path, data, media_type, recognised)
    except UnreadableDocument as error:
        _add_sentence(error, notice)
        raise
    except Exception as error:  # parsers raise all kinds of errors on damaged files
        raise _add_sentence(damaged(name, error), notice) from error
    return replace(document, notices=(*document.notices, notice)) if notice else document


def _add_sentence(error: UnreadableDocument, sentence: str) -> UnreadableDocument:
    error.message = f"{error.message} {sentence}".rstrip()
    return error


def refuse_large(name: str, size: int) -> None:
    """Raise `UnreadableDocument` for a file of more than `MAX_BYTES`."""
    if size > MAX_BYTES:
        raise UnreadableDocument(
            f"{name} is {size / 2**20:,.0f} MB; at most {MAX_BYTES / 2**20:,.0f} MB are read.",
            "Split it, or convert it to plain text.",
        )


def _parse(
    path: Path, data: bytes, media_type: str, recognised: Mapping[int, ScannedPage] | None
) -> ParsedDocument:
    kind = kinds.BY_TYPE[media_type]
    module, _, function = kind.reader.rpartition(".")
    reader: Callable[..., ParsedDocument] = getattr(
        importlib.import_module(f"agent.documents.formats.{module}"), function
    )
    document = reader(path, data, recognised) if kind.has_scans else reader(path, data)
    document = replace(
        document,
        blocks=tuple(map(_plain, document.blocks)),
        visible_text=plain(document.visible_text),
        media_type=media_type,
        title=normal(plain(document.title or title_of_name(path))),
        author=normal(plain(document.author)),
    )
    if not document.scans and all(is_blank(block.text) and not block.table for block in document.blocks):
        raise NoText(f"{path.name} contains no text.", "Check that it is the file you meant.")
    return document


def _plain(block: Block) -> Block:
    """The block without characters that control a terminal, are invisible or mislead."""
    if block.table is None:
        return replace(block, text=plain(block.text)) if UNSAFE.search(block.text) else block
    header, rows = (
        tuple(tuple(map(plain, row)) for row in part) for part in (block.table.header, block.table.rows)
    )
    return replace(block, table=Table(header, rows, plain(block.table.caption)))
