"""Names in text, recognised by capitals and digits: a passage about the same thing mentions them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

from agent.text.language import CJK

_TOKEN = re.compile(rf"[^\W_{CJK}]+(?:['’][^\W\d_{CJK}]+)?")
_SENTENCE_START = re.compile(
    r"(?:^|[.!?:;•|]\s|\n|[“”\"‘«»(\[]|[-–—*#]\s)\s*$"
)  # any word may be capitalised after this
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|er|e)")
_CAPITAL_NOUNS = frozenset({"de", "lb"})  # languages that capitalise every noun
_FORM_LENGTH, _FORM_ENDING = 5, 2  # "German" is a form of "Germany"
_FEWEST_INITIALS = 3  # letters of an abbreviation


@lru_cache(maxsize=4096)
def tokens(text: str) -> frozenset[str]:
    """The words and numbers of ``text``, case-folded."""
    return frozenset(_folded(match.group()) for match in _matches(text))


@lru_cache(maxsize=4096)
def capitalised_inside(text: str) -> frozenset[str]:
    """The words, case-folded, that ``text`` capitalises inside sentences and never has in lower case."""
    matches = [match for match in _matches(text) if match.group()[0].isalpha()]
    lower = {_folded(match.group()) for match in matches if match.group()[0].islower()}
    capitals = {
        _folded(m.group()) for m in matches if m.group()[0].isupper() and not _begins_sentence(text, m)
    }
    return frozenset(capitals - lower)


def codes(text: str) -> list[str]:
    """The codes in ``text``, which are names in any language: letters with digits, or two capitals."""
    return _unique(match.group() for match in _matches(text) if _is_code(match.group()))


def names(text: str, language: str, capitalised: Iterable[frozenset[str]] = ()) -> list[str]:
    """The names in a sentence, word by word, in order, each once.

    Args:
        text: The sentence. If it is all in capitals, only codes are names.
        language: ISO 639-1 code; if the language capitalises every noun, only codes are names.
        capitalised: Words that other texts capitalise inside a sentence (`capitalised_inside`): at the
            beginning of this sentence, only they are names.
    """
    if language in _CAPITAL_NOUNS or text.isupper():
        return codes(text)
    usual_names = frozenset[str]().union(*capitalised)
    return _unique(
        match.group()
        for match in _matches(text)
        if _is_code(match.group())
        or (
            match.group()[0].isupper()
            and len(match.group()) > 1
            and (not _begins_sentence(text, match) or _folded(match.group()) in usual_names)
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
    return _unique(text[start:end] for start, end in spans)


def is_mentioned(name: str, text: str) -> bool:
    """True if ``text`` has the word ``name`` in any case, a form of it, or the words it abbreviates."""
    folded_name, words = _folded(name), tokens(text)
    if folded_name in words or any(_is_form(folded_name, other) for other in words):
        return True
    return name.isupper() and len(name) >= _FEWEST_INITIALS and folded_name in _initials(text)


@lru_cache(maxsize=4096)
def _initials(text: str) -> str:
    return "".join(match.group()[0] for match in _matches(text)).casefold()


def _matches(text: str) -> Iterator[re.Match[str]]:
    return _TOKEN.finditer(_normal(text))


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(word: str) -> str:
    folded = word.casefold().replace("’", "'")
    return folded.removesuffix("'s").removesuffix("'")


def _begins_sentence(text: str, match: re.Match[str]) -> bool:
    return _SENTENCE_START.search(text[: match.start()][-8:]) is not None or match.start() == 0


def _is_code(word: str) -> bool:
    if _ORDINAL.fullmatch(word):
        return False
    letters = sum(c.isalpha() for c in word)
    return letters > 0 and (letters < sum(c.isalnum() for c in word) or sum(map(str.isupper, word)) > 1)


def _is_form(word: str, other: str) -> bool:
    """True if one word is the other, a long one, with up to two more letters."""
    short, long = sorted((word, other), key=len)
    return len(short) >= _FORM_LENGTH and len(long) - len(short) <= _FORM_ENDING and long.startswith(short)


def _unique(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
