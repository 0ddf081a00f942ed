"""Joining broken lines: white space, hyphenated words, CJK text, raised digits."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable

from agent.text.language import CJK

_CJK = f"{CJK}\u3000-\u303f\uf900-\ufaff\uff00-\uffef"  # with punctuation and wide letters
_CJK_SIGN = re.compile(f"[{_CJK}]")
_BULLET = re.compile(r"^[•●▪■◦‣⁃·○☐☒☑➢✓❖∙\uf0b7\uf0a7]\s*")
_MARKER = re.compile(
    r"[•●▪■◦‣⁃·○☐☒☑➢✓❖∙\uf0b7\uf0a7*†‡–—-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]|\*{1,3}"
)
_INVISIBLE = re.compile(r"[\s\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]*")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN_WORD = re.compile(
    r"(?<![\w-])(?P<first>[^\W\d_]+)-[ \t]*\r?\n(?P<indent>[ \t]*)"
    r"(?P<second>[^\W\d_]+)(?![\w-])(?P<rest>\S*)[ \t]*(?:\r?\n)?"
)
_NUMBER_ENDS = re.compile(r"[\d%)]\Z")
_NUMBER_BEGINS = re.compile(r"[+\-−–]?\d")


def is_blank(text: str) -> bool:
    """Whether ``text`` is invisible: only white space and characters without width."""
    return _INVISIBLE.fullmatch(text) is not None


def normal(text: str) -> str:
    """``text`` with each run of white space, line ends included, as one space."""
    return " ".join(text.replace("\u200b", "").replace("\ufeff", "").split())


def joined(lines: Iterable[str]) -> str:
    """The lines of a paragraph as one; no space between two CJK characters or after a hyphen."""
    paragraph = ""
    for line in lines:
        if (
            not paragraph
            or not line
            or (_CJK_SIGN.match(paragraph[-1]) and _CJK_SIGN.match(line))
            or (paragraph.endswith("-") and paragraph[-2:-1].isalnum() and line[0].isalnum())
        ):
            paragraph += line
        else:
            paragraph += " " + line
    return paragraph


def bulleted(text: str, *, item: bool = False) -> str:
    """``text`` with its leading bullet, if any, as ``• `` (including private characters of fonts).

    ``item``: it is a list item, and gets a bullet if it has none.
    """
    match = _BULLET.match(text)
    if match is None or text[0] in "☐☒☑":
        return f"• {text}" if item else text
    return "• " + text[match.end() :]


def is_marker(text: str) -> bool:
    """Whether ``text`` is only the mark of a list item: a bullet, ``(a)``, ``1.``."""
    return _MARKER.fullmatch(text) is not None


def words_of(text: str) -> frozenset[str]:
    """The words of ``text``, case-folded; a word with a hyphen inside a line is one."""
    return frozenset(match[0].casefold() for match in _WORD.finditer(text))


def mended(text: str, vocabulary: Container[str]) -> str:
    """``text`` with words that were broken at a line end joined, without the hyphen.

    A word counts as broken if ``vocabulary``, the document's words, has it in one piece and not with the
    hyphen. ``long-`` before ``term`` keeps its hyphen, and so does a word that occurs nowhere else.
    """

    def whole(match: re.Match[str]) -> str:
        first, second = match["first"], match["second"]
        unhyphenated, hyphenated = f"{first}{second}".casefold(), f"{first}-{second}".casefold()
        if unhyphenated not in vocabulary or hyphenated in vocabulary:
            return match[0]
        return f"{first}{second}{match['rest']}\n{match['indent']}"

    return _BROKEN_WORD.sub(whole, text)


def separator(before: str, after: str, *, raised: bool) -> str:
    """The text to insert between two texts, one of them raised: ``after`` if ``raised``, else ``before``.

    ``10⁶`` printed with a small raised 6 must not be read as 106, nor 45.2 with footnote mark 1 as 45.21.
    Raised letters and signs (1st, a trademark) change no number and stay as they are.

    Returns:
        ``^`` between a number and digits raised after it, a space between raised digits and the number
        after them, else nothing.
    """
    if raised:
        return "^" if _NUMBER_ENDS.search(before) and _NUMBER_BEGINS.match(after) else ""
    return " " if before[-1:].isdecimal() and after[:1].isdecimal() else ""


def on_one_line(parts: Iterable[tuple[str, bool]]) -> str:
    """The texts, each given with whether it is raised, joined into one."""
    line = ""
    was_raised = False
    for text, raised in parts:
        if not text:
            continue
        if raised != was_raised:
            line += separator(line, text, raised=raised)
        line += text
        was_raised = raised
    return line
