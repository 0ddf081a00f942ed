"""Bounds on the tokens of a text, for servers that cannot count without computing.

Two bounds, because two questions are asked: does a prompt surely fit (`at_most`), and has a server
surely cut it (`at_least`)?
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\s+|[^\x00-\x7F]|[!-/:-@\[-`{-~]")
_WORD = re.compile(r"[^\W\d_]+")
_SHORT_WORD = 6  # nearly every word this long is one token; the rare ones are made up for elsewhere


def at_most(text: str) -> int:
    """An estimate that is not too low for vocabularies of 100,000 tokens and more.

    A long word counts a token for three letters, capitals in a row one for two, digits and signs one
    each, and so does every letter outside ASCII; other characters outside it count three. For plain
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
    """An estimate that is not too high: nine tokens for every ten words."""
    return len(_WORD.findall(text)) * 9 // 10
