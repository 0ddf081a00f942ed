"""Bounds on the tokens of a text, for servers that cannot count without computing.

Two bounds for two questions: does a prompt certainly fit (`at_most`), and did a server certainly truncate
it (`at_least`)?
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\s+|[^\x00-\x7F]|[!-/:-@\[-`{-~]")
_WORD = re.compile(r"[^\W\d_]+")
_SHORT_WORD = 6  # nearly all words up to this length are one token; the other rules compensate for the rest


def at_most(text: str) -> int:
    """An upper estimate for vocabularies of 100,000 tokens and more.

    A long word counts a token per three letters, consecutive capitals one per two, digits and punctuation
    one each, and so does every letter outside ASCII; other characters outside it count three. For plain
    English that is about a third too much; for tables of figures it is nearly exact.
    """
    total = 1
    for match in _PIECE.finditer(text):
        piece = match.group()
        first, size = piece[0], len(piece)
        if not first.isascii():
            total += 1 if first.isalpha() else 3
        elif first.isdigit():
            total += size + (text[match.start() - 1 : match.start()] == " ")
        elif first.isspace():
            total += ("\n" in piece) + size // 8
        elif piece.isupper():
            total += (size + 1) // 2
        elif size <= _SHORT_WORD:
            total += 1
        else:
            total += (size + 2) // 3
    return total


def at_least(text: str) -> int:
    """A lower estimate: nine tokens for every ten words."""
    return len(_WORD.findall(text)) * 9 // 10
