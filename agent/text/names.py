"""Names in text, told by their letters alone: what a passage must mention to speak of the same thing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[^\W_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?")
_BEGINS = re.compile(
    r"(?:^|[.!?:;•|]\s|\n|[“”\"‘«»(\[]|[-–—*#]\s)\s*$"
)  # whatever stands here may be capitalised
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|er|e)")
_CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages in which a capital does not tell a name
_FORM_LENGTH, _FORM_ENDING = 5, 2  # "German" is a form of "Germany"
_INITIALS = 3  # letters of an abbreviation that may stand for as many words


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """The words and numbers of ``text``, case-folded."""
    return frozenset(_folded(match.group()) for match in _TOKEN.finditer(_normal(text)))


@lru_cache(maxsize=4096)
def inside(text: str) -> frozenset[str]:
    """The words, case-folded, that have a capital inside a sentence of ``text`` and never stand without."""
    found = [match for match in _TOKEN.finditer(_normal(text)) if match.group()[0].isalpha()]
    small = {_folded(match.group()) for match in found if match.group()[0].islower()}
    capital = {_folded(m.group()) for m in found if m.group()[0].isupper() and not _begins(text, m)}
    return frozenset(capital - small)


def codes(text: str) -> list[str]:
    """The words of ``text`` that are names in any language: letters with digits, or two capitals."""
    return _each(match.group() for match in _TOKEN.finditer(_normal(text)) if _is_code(match.group()))


def names(text: str, language: str, known: Iterable[frozenset[str]] = ()) -> list[str]:
    """The names in a sentence, word by word, in order, each once.

    Args:
        text: The sentence. A text all in capitals has no names but its codes.
        language: ISO 639-1 code; in one that gives every noun a capital only codes are told.
        known: The words that have a capital inside a sentence of other texts (`inside`): only they are
            names where they begin this one.
    """
    if language in _CAPITAL_NOUNS or text.isupper():
        return codes(text)
    elsewhere = frozenset[str]().union(*known)
    return _each(
        match.group()
        for match in _TOKEN.finditer(_normal(text))
        if _is_code(match.group())
        or (
            match.group()[0].isupper()
            and len(match.group()) > 1
            and (not _begins(text, match) or _folded(match.group()) in elsewhere)
        )
    )


def stands(name: str, text: str) -> bool:
    """True if ``text`` has the word ``name`` in any case, or a form of it, or the words it abbreviates."""
    wanted, held = _folded(name), tokens(text)
    if wanted in held or any(_form(wanted, other) for other in held):
        return True
    return name.isupper() and len(name) >= _INITIALS and wanted in _initials(text)


@lru_cache(maxsize=4096)
def _initials(text: str) -> str:
    return "".join(match.group()[0] for match in _TOKEN.finditer(_normal(text))).casefold()


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(word: str) -> str:
    folded = word.casefold().replace("’", "'")
    return folded.removesuffix("'s").removesuffix("'")


def _begins(text: str, match: re.Match[str]) -> bool:
    return _BEGINS.search(text[: match.start()][-8:]) is not None or match.start() == 0


def _is_code(word: str) -> bool:
    if _ORDINAL.fullmatch(word):
        return False
    letters = sum(c.isalpha() for c in word)
    return letters > 0 and (letters < sum(c.isalnum() for c in word) or sum(map(str.isupper, word)) > 1)


def _form(one: str, other: str) -> bool:
    """True for two long words of which one is the other with up to two letters more."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _FORM_LENGTH and len(long) - len(short) <= _FORM_ENDING and long.startswith(short)


def _each(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
