"""Names in text, recognised by their capitals and digits: a passage on the same thing mentions them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_TOKEN = re.compile(rf"[^\W_{_CJK}]+(?:['’][^\W\d_{_CJK}]+)?")
_BEGINS = re.compile(
    r"(?:^|[.!?:;•|]\s|\n|[“”\"‘«»(\[]|[-–—*#]\s)\s*$"
)  # a word after this may be capitalised whatever it is
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|er|e)")
_CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages that capitalise every noun
_FORM_LENGTH, _FORM_ENDING = 5, 2  # "German" is a form of "Germany"
_INITIALS = 3  # the fewest letters of an abbreviation


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """The words and numbers of ``text``, case-folded."""
    return frozenset(_folded(match.group()) for match in _TOKEN.finditer(_normal(text)))


@lru_cache(maxsize=4096)
def inside(text: str) -> frozenset[str]:
    """The words, case-folded, that ``text`` capitalises inside a sentence and never has in lower case."""
    found = [match for match in _TOKEN.finditer(_normal(text)) if match.group()[0].isalpha()]
    small = {_folded(match.group()) for match in found if match.group()[0].islower()}
    capital = {_folded(m.group()) for m in found if m.group()[0].isupper() and not _begins(text, m)}
    return frozenset(capital - small)


def codes(text: str) -> list[str]:
    """The codes in ``text``, which are names in any language: letters with digits, or two capitals."""
    return _each(match.group() for match in _TOKEN.finditer(_normal(text)) if _is_code(match.group()))


def names(text: str, language: str, known: Iterable[frozenset[str]] = ()) -> list[str]:
    """The names in a sentence, word by word, in order, each once.

    Args:
        text: The sentence. If it is all in capitals, only codes are names.
        language: ISO 639-1 code; if the language capitalises every noun, only codes are names.
        known: Words that are capitalised inside a sentence of other texts (`inside`): only they are
            names at the beginning of this one.
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


def phrases(text: str, language: str) -> list[str]:
    """The names in ``text``, each once, with adjacent name words as one: ``Ann Lee``."""
    text = _normal(text)
    words = set(names(text, language))
    spans: list[tuple[int, int]] = []
    for match in _TOKEN.finditer(text):
        if match.group() not in words:
            continue
        if spans and text[spans[-1][1] : match.start()] in {" ", "-"}:
            spans[-1] = spans[-1][0], match.end()
        else:
            spans.append(match.span())
    return _each(text[start:end] for start, end in spans)


def is_mentioned(name: str, text: str) -> bool:
    """True if ``text`` has the word ``name`` in any case, a form of it, or the words it abbreviates."""
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
    """True if one word is the other, a long one, with up to two more letters."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _FORM_LENGTH and len(long) - len(short) <= _FORM_ENDING and long.startswith(short)


def _each(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
