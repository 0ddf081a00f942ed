"""Splitting prose into sentences, in English and in Chinese, Japanese and Korean."""

from __future__ import annotations

import re

from agent.text.language import language
from agent.text.vocabulary import writes_days_with_a_stop

_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|No|Nos|Inc|Corp|Co|Ltd|vs|etc|e\.g|i\.e|cf|approx|Fig|Art|Sec|"
    r"U\.S|U\.K|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sep|Sept|Oct|Nov|Dec)|\b[A-Z])\.$"
)
_LONGEST = 8  # characters that hold an abbreviation and what is before it
_ORDINAL = re.compile(r"(?<![\w.,])\d{1,2}\.$")
_END = re.compile(r"(?<=[.!?])[\"”’)\]]*\s+(?=[\"“‘(\[]?[$£€¥]?[A-Z0-9\u00c0-\u00dd])|(?<=[。！？])|\n+")


def sentences(text: str) -> list[str]:
    """The sentences of ``text`` in order, stripped; only white space is lost."""
    pieces: list[str] = []
    start = 0
    for match in _END.finditer(text):
        end = match.start() + len(match.group().rstrip())
        # Only the last characters are searched: a line may have millions of them and no other end.
        if "\n" not in match.group():
            last = max(start, end - _LONGEST)
            if _ABBREVIATION.search(text, last, end):
                continue
            if _ORDINAL.search(text, last, end) and writes_days_with_a_stop(language(text)):
                continue
        pieces.append(text[start : match.end()].strip())
        start = match.end()
    pieces.append(text[start:].strip())
    return [piece for piece in pieces if piece]
