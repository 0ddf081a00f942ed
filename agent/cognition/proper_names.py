"""Proper names in prose, by their capitals: what a question is about."""

from __future__ import annotations

import re

from agent.retrieval.terms import terms

_WORD = re.compile(r"[^\W\d_][\w’'&-]*")
_START = re.compile(r"(?:^|(?<!\s[A-Z])[.!?:;]\s+|\n\s*|[“\"(]\s*)$")  # "L. Lester" is no new sentence
# Capitalised for other reasons than being a name: calendar words, titles of address, question words.
_COMMON = frozenset(
    "january february march april may june july august september october november december monday tuesday "
    "wednesday thursday friday saturday sunday mr mrs ms dr item note table figure fy q1 q2 q3 q4 i".split()
)


def names(text: str) -> list[str]:
    """The capitalised words of ``text`` that are names, in order, each once, without a possessive.

    A word that begins a sentence is one only if another capitalised word
    follows it ("Calder Bend makes …").
    """
    found: dict[str, None] = {}
    matches = list(_WORD.finditer(text))
    for index, match in enumerate(matches):
        word = _bare(match.group())
        if not _capital(word) or word.casefold() in _COMMON or is_function_word(word):
            continue
        if _START.search(text[: match.start()]) is not None:
            following = matches[index + 1] if index + 1 < len(matches) else None
            if following is None or not _capital(following.group()):
                continue
            if text[match.end() : following.start()].strip():
                continue
        found[word] = None
    return list(found)


def is_function_word(word: str) -> bool:
    """True for a word that carries no content of its own, like "the" or "what"."""
    # `terms` leaves function words out where something else is left.
    return terms(f"{word} name") == ["name"]


def _bare(word: str) -> str:
    return re.sub(r"[’']s?$", "", word)


def _capital(word: str) -> bool:
    return word[:1].isupper()
