"""Estimates of the tokens of a text without its model, and cutting a text to a length.

Does a prompt certainly fit (`at_most`)? Did a server certainly truncate it (`at_least`)? How many tokens
does the embedder read (`estimate`)?
"""

from __future__ import annotations

import re

_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+|\s+|[^\x00-\x7F]|[!-/:-@\[-`{-~]")
_WORD = re.compile(r"[^\W\d_]+")
_SHORT_WORD = 6  # nearly all words up to this length are one token; the other rules compensate for the rest

_LIKELY_TOKENS = re.compile(r"[A-Za-z\u00c0-\u024f]+|\d+|[^\W\dA-Za-z\u00c0-\u024f]|[^\w\s]|_")
_CLAUSE = re.compile(r"(?:[^,;:，；：、|]+[,;:，；：、|]*|[,;:，；：、|]+)\s*")
_WORD_AND_SPACE = re.compile(r"\S+\s*")


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


def estimate(text: str) -> int:
    """A cheap estimate of the tokens in ``text``, seldom too low.

    Calibrated on all-MiniLM-L6-v2: one token for a word, plus one for every six letters after the third;
    one for every two digits of a number; one for each sign and each CJK character.
    """
    tokens = 0
    for match in _LIKELY_TOKENS.finditer(text):
        piece = match.group()
        if piece[0].isdigit():
            tokens += (len(piece) + 1) // 2
        else:
            tokens += 1 + max(0, len(piece) - 3) // 6
    return tokens


def split(text: str, limit: int) -> list[str]:
    """``text`` in pieces of at most ``limit`` tokens: at clauses, else words, else characters."""
    if estimate(text) <= limit:
        return [text]
    for cut in (_CLAUSE.findall, _WORD_AND_SPACE.findall, list):
        parts: list[str] = cut(text)
        if len(parts) > 1:
            break
    pieces: list[str] = []
    current, filled = "", 0
    for part in parts:
        tokens = estimate(part)
        if current and filled + tokens > limit:
            pieces.append(current)
            current, filled = "", 0
        current += part
        filled += tokens
    pieces.append(current)
    return [smaller for piece in pieces if piece.strip() for smaller in split(piece.strip(), limit)]
