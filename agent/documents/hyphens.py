"""Words broken by a hyphen at the end of a line, made whole where the document shows their spelling."""

from __future__ import annotations

import re
from collections.abc import Container

_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_BROKEN = re.compile(
    r"(?<![\w-])(?P<first>[^\W\d_]+)-[ \t]*\r?\n(?P<indent>[ \t]*)"
    r"(?P<second>[^\W\d_]+)(?![\w-])(?P<rest>\S*)[ \t]*(?:\r?\n)?"
)


def words_of(text: str) -> frozenset[str]:
    """The words of ``text``, case-folded; those with hyphens inside a line as one."""
    return frozenset(match[0].casefold() for match in _WORD.finditer(text))


def mended(text: str, known: Container[str]) -> str:
    """``text`` with the halves of broken words on one line, without the hyphen.

    A word is taken for broken if it is among ``known``, the document's words, in one piece and not
    with the hyphen; ``long-`` before ``term`` keeps its hyphen, and so does what stands nowhere else.
    """

    def whole(match: re.Match[str]) -> str:
        first, second = match["first"], match["second"]
        together, apart = f"{first}{second}".casefold(), f"{first}-{second}".casefold()
        if together not in known or apart in known:
            return match[0]
        return f"{first}{second}{match['rest']}\n{match['indent']}"

    return _BROKEN.sub(whole, text)
