"""Putting broken lines together again: white space, CJK text, words broken by a hyphen."""

from __future__ import annotations

import re
from collections.abc import Iterable

_CJK = "\u3000-\u303f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef"
_NO_SPACE = re.compile(rf"[{_CJK}]$")
_CJK_FIRST = re.compile(rf"^[{_CJK}]")
_BULLET = re.compile(r"^[•●▪■◦‣⁃·○☐☒☑➢✓❖∙\uf0b7\uf0a7]\s*")
_MARKER = re.compile(
    r"[•●▪■◦‣⁃·○☐☒☑➢✓❖∙\uf0b7\uf0a7*†‡–—-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\*{1,3}"
)
_NOTHING = re.compile(r"[\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*")


def is_blank(text: str) -> bool:
    """Whether nothing of ``text`` is seen: it is white space and characters without width."""
    return _NOTHING.fullmatch(text) is not None


def normal(text: str) -> str:
    """``text`` with every run of white space, line ends included, as one space."""
    return " ".join(text.replace("\u200b", "").replace("\ufeff", "").split())


def joined(lines: Iterable[str]) -> str:
    """Lines of one paragraph as one line; no space between two CJK characters or after a hyphen."""
    whole = ""
    for line in lines:
        if (
            not whole
            or not line
            or (_NO_SPACE.search(whole) and _CJK_FIRST.search(line))
            or (whole.endswith("-") and whole[-2:-1].isalnum() and line[0].isalnum())
        ):
            whole += line
        else:
            whole += " " + line
    return whole


def bulleted(text: str) -> str:
    """``text`` with its bullet, if it begins with one, as ``• `` (private signs of fonts included)."""
    match = _BULLET.match(text)
    if match is None or text[0] in "☐☒☑":
        return text
    return "• " + text[match.end() :]


def is_marker(text: str) -> bool:
    """Whether ``text`` is only what begins a list item: a bullet, ``(a)``, ``1.``."""
    return _MARKER.fullmatch(text) is not None
