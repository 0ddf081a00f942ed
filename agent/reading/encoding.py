"""Bytes to text: the declared encoding, else UTF-8, else the likeliest."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DECLARED = re.compile(rb"(?:charset\s*=\s*[\"']?|encoding\s*=\s*[\"'])([\w.:-]+)", re.IGNORECASE)
_SAMPLE = 1 << 20
# The Encoding Standard of browsers reads these names as the larger sets that pages really use.
_AS_BROWSERS_DO = {
    **dict.fromkeys(("iso-8859-1", "latin-1", "latin1", "us-ascii", "ascii"), "cp1252"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "shift_jis": "cp932",
    "euc-kr": "cp949",
}


def decode(data: bytes) -> str:
    """``data`` as text, line ends as ``\\n``. Bytes that fit no encoding become U+FFFD."""
    return _decoded(data).replace("\r\n", "\n").replace("\r", "\n")


def in_utf8(data: bytes, charset: str) -> bytes:
    """``data`` in UTF-8, for text that a server says is in ``charset``.

    What carries a mark or is valid UTF-8 stays as it is, because servers often name one encoding for
    all of their pages, whatever is in them.
    """
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return data
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        name = charset.strip().strip("\"'").lower()
        try:
            return data.decode(_AS_BROWSERS_DO.get(name, name), "replace").encode("utf-8", "replace")
        except (LookupError, UnicodeError):
            return data  # a name no codec has: `decode` guesses
    return data


def _decoded(data: bytes) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        pass  # the ordinary case is over; look closer
    head = data[:4096]
    if b"<" in head and (declared := _DECLARED.search(head)):
        try:
            return data.decode(declared[1].decode("ascii"), "replace")
        except LookupError:
            pass  # a name no codec has; guess as if none were given
    return data.decode(_likeliest(data), "replace")


def _likeliest(data: bytes) -> str:
    from charset_normalizer import from_bytes

    matches = from_bytes(data[:_SAMPLE])
    best = matches.best()
    if best is None:
        return "cp1252"
    alike = {name for match in matches if match.chaos <= best.chaos for name in _names(match)}
    return "cp1252" if alike & {"cp1252", "latin_1", "ascii", "utf_8"} else best.encoding


def _names(match: CharsetMatch) -> list[str]:
    return [match.encoding, *match.could_be_from_charset]
