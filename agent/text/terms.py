"""Keyword terms: the normalised words of a text or a query for the keyword index."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import snowballstemmer

from agent.text.language import CJK
from traces.plain_text import squeezed

_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[{CJK}]+|[^\W\d_{CJK}]+(?:['’][^\W\d_]+)?|\d+")
_STOP_WORDS = frozenset(
    "a about above after again all also am an and any are as at be been before being below between both "
    "but by can could did do does doing down during each few for from further had has have having he her "
    "here hers him his how i if in into is it its itself just me more most my no nor not now of off on "
    "once only or other our ours out over own s same she should so some such t than that the their theirs "
    "them then there these they this those through to too under until up us very was we were what when "
    "where which while who whom whose why will with would you your yours".split()
)
_stemmer = snowballstemmer.stemmer("english")
_stemming = threading.Lock()  # the stemmer has state, and searches run in parallel


@lru_cache(maxsize=200_000)
def _stem(word: str) -> str:
    with _stemming:
        return str(_stemmer.stemWord(word))


def terms(text: str) -> list[str]:
    """Case-folded, stemmed (English) terms in order; Chinese, Japanese and Korean as bigrams.

    Numbers lose their thousands separators, so that ``26,974`` and ``26974`` match. Function words are
    dropped, unless the text has no others, so that no query is empty by accident.
    """
    pairs = list(_terms(text))
    # Compared before stemming, which turns "does" into "doe".
    content_terms = [term for word, term in pairs if word not in _STOP_WORDS]
    return content_terms or [term for _, term in pairs]


def nearest(units: Sequence[str], text: str) -> int:
    """The index of the first unit that shares most different terms with a text; there has to be a unit."""
    wanted = set(terms(text))
    return max(range(len(units)), key=lambda index: len(wanted.intersection(terms(units[index]))))


def words_of(text: str) -> str:
    """The words of ``text`` alone, case-folded, with one space between them."""
    return squeezed(re.sub(r"[^\w\s]", " ", text.casefold()))


def _terms(text: str) -> Iterator[tuple[str, str]]:
    """Each case-folded word, with its term."""
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        token = match.group()
        first = token[0]
        if first.isdigit():
            yield token, token.replace(",", "").rstrip(".")
        elif "\u3040" <= first <= "\ud7af":
            for i in range(max(1, len(token) - 1)):
                yield token, token[i : i + 2]
        else:
            word = token.replace("’", "'").removesuffix("'s")
            yield word, _stem(word)
