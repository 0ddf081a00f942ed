"""Whether a passage says what a question asks: a small model takes any number for the answer.

Tuned on the train file of MuSiQue: of 301 sub-questions with their own passages 4 % are refused, of 537
with another passage of the same record that shares most words with the question, and an answer of the
right type taken from it, 73 %.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.cognition import proper_names, quantities, tables
from agent.cognition.cells import misread
from agent.cognition.support import content, latin, place, understood, units
from agent.retrieval.terms import terms
from agent.state import Evidence
from models.protocols import Embedder

_NAMES = 0.5  # from this share of missing names on a passage speaks of something else …
_ALIKE = 0.6  # … unless its sentence is this near to the question (cosine): names are spelled in many ways
_FAR = 0.4  # below this cosine the sentence says something else …
_SAID = 0.67  # … unless this share of what is asked stands beside the answer
_AMOUNT_SAID = 0.5  # an amount is an answer only where this much of what is asked stands beside it …
_AMOUNT_ALIKE = 0.7  # … or the sentence is nearly the question
_SYNONYM = 0.55  # cosine of two words from which one stands for the other: price and cost, salary and pay
# Words that merely ask, and words that any passage may leave out.
_ASKING = frozenset(
    terms(
        "much many long old far large big high low small often name named call called kind type give given "
        "tell describe explain list according say says said state stated mention mentioned please exactly "
        "first last new current currently total overall fiscal year years end beginning part main made "
        "make makes use used also will would could may might happen happened become became per find found "
        "show shown get got one two each every whole know known way time thing things amount number figure "
        "value"
    )
)
_AMOUNT = re.compile(r"\bhow (?:many|much|long|far|old|large|big|tall|high|often)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W\d_]+")
_COUNT = re.compile(r"\bhow (?:many|much)\b", re.IGNORECASE)
_COUNTED = re.compile(
    r"\b(?:one|an?|no|none|nobody|nothing|all|both|half|third|quarter|dozen|several|double|hundreds?|thousands?)\b",
    re.IGNORECASE,
)
_CHINESE_NUMBER = re.compile(r"[一二三四五六七八九十百千万亿]")
_MEASURES = frozenset(
    "price cost costs revenue income profit salary wage capacity utilization utilisation margin area "
    "weight height length speed temperature population percentage turnover debt backlog".split()
)
_HEAD = re.compile(
    r"\b(?:what|which)\s(?:(?:is|was|are|were)\s(?:the\s)?)?(?:[^\s?,]+\s){0,4}?([^\s?,]+)\s"
    r"(?:of|in|for|at|on|per|did|does|do|will|is|was|are|were|has|have|had|can|could|would|by|from|to)\b",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\bor\b|\bboth\b|\bsame\b|^(?:is|are|was|were|do|does|did|has|have|which)\b", re.IGNORECASE
)
_DATE = re.compile(
    r"\b(?:January|February|March|April|May|June|July|August|September|October|November|December)\b|\b\d{4}\b"
)
# A unit that says itself what is measured.
_UNITS = {
    "%": "share percentage percent rate proportion stake portion",
    "$": "price cost worth amount sum pay",
    "°": "temperature",
}


def asked(question: str) -> set[str]:
    """The terms that say what is asked for: no names, numbers or years, and no words that merely ask."""
    return {term for word in _asked_words(question) for term in terms(word)}


class AnswerCheck:
    """Says why a passage is no answer to a question, if it is none.

    Args:
        embedder: Compares the question with the passage's sentence; without one, only words are.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def refusal(self, question: str, answer: str, item: Evidence, evidence: Sequence[Evidence] = ()) -> str:
        """Why ``item`` does not say that ``answer`` answers ``question``; "" if it may.

        What the question names must stand in the passage, its title, section or date: a year, every
        number, most names. An amount must be the amount that is asked for: of the right row and column
        of a table, and with the words of the question beside it. And the sentence must be near to the
        question, in words or in meaning.

        Args:
            question: The step's.
            answer: As short as the model gave it.
            item: The passage that holds it.
            evidence: The step's passages, which tell what their library is about.
        """
        amount = _is_amount(question, answer)
        sentence, window = _beside(answer, item)
        refused = (
            _echo(question, answer)
            or _missing(question, item, amount=amount)
            or _no_number(question, answer)
            or misread(f"{question} {answer}", [item])
            or self._names(question, item, sentence, evidence, amount=amount)
        )
        if refused or latin(question) != latin(item["text"]):
            return refused  # words cannot be compared across scripts
        if amount:
            return self._amount(question, answer, item, sentence, window)
        return self._meaning(question, item, sentence, window)

    def _names(
        self, question: str, item: Evidence, sentence: str, evidence: Sequence[Evidence], *, amount: bool
    ) -> str:
        named = proper_names.names(question)
        held = set(terms(content(item)))
        missing = [name for name in named if not proper_names.stands(name, held)]
        meant = understood(missing, item, evidence) if missing and amount else set()
        absent = [name for name in missing if name not in meant]
        if not absent or len(absent) < _NAMES * len(named):
            return ""
        # The figure of another region stands in a sentence as near to the question as its own would.
        if not amount and self._near(question, item, sentence) >= _ALIKE:
            return ""
        return f"[{item['number']}] does not mention {' '.join(absent)}"

    def _meaning(self, question: str, item: Evidence, sentence: str, window: str) -> str:
        wanted = _asked_words(question)
        absent = _absent(wanted, window, item)
        if self._embedder is None or len(absent) < 2 or len(absent) <= (1 - _SAID) * len(wanted):
            return ""
        if self._near(question, item, sentence) >= _FAR:
            return ""
        return f"[{item['number']}] says nothing of {', '.join(absent)}"

    def _amount(self, question: str, answer: str, item: Evidence, sentence: str, window: str) -> str:
        wanted = _asked_words(question)
        absent = self._without_synonyms(_absent(wanted, window, item), window)
        head = _head(question)
        if head in absent and not _unit_says(head, answer):
            return f"[{item['number']}] gives no {head}"
        if len(absent) <= (1 - _AMOUNT_SAID) * len(wanted):
            return ""
        if self._near(question, item, sentence) >= _AMOUNT_ALIKE:
            return ""
        return f"[{item['number']}] says nothing of {', '.join(absent)}"

    def _near(self, question: str, item: Evidence, sentence: str) -> float:
        if self._embedder is None:
            return 0.0
        (vector,) = self._embedder.embed_passages([f"{item['title']}. {sentence}"])
        return float(vector @ self._embedder.embed_query(question))

    def _without_synonyms(self, absent: Sequence[str], window: str) -> list[str]:
        words = list(dict.fromkeys(_WORD.findall(window.casefold())))
        if self._embedder is None or not words or not absent:
            return list(absent)
        vectors = self._embedder.embed_passages(words)
        return [
            word for word in absent if float((vectors @ self._embedder.embed_query(word)).max()) < _SYNONYM
        ]


def _absent(wanted: Sequence[str], window: str, item: Evidence) -> list[str]:
    held = set(terms(f"{window} {place(item)}"))
    return [word for word in wanted if not held.issuperset(terms(word))]


def _echo(question: str, answer: str) -> str:
    if _CHOICE.search(question) or set(terms(answer)) - set(terms(question)):
        return ""
    return "the answer only repeats the question"


def _no_number(question: str, answer: str) -> str:
    """A question after a number is not answered without one."""
    if quantities.quantities(answer) or _CHINESE_NUMBER.search(answer):
        return ""
    counted = _COUNT.search(question) is not None and not _COUNTED.search(answer)
    return "the answer gives no number" if counted or _head(question) in _MEASURES else ""


def _missing(question: str, item: Evidence, *, amount: bool) -> str:
    """The year or number of the question that stands nowhere in the passage or where that stands."""
    years = quantities.years(question)
    own = quantities.years(f"{item['title']} {item['section']} {item['text']}")
    # The day of publication is no year of account: it counts where no amount is asked for, or no year told.
    held = own if own and amount else own | quantities.years(item["date"])
    if years and not years & held:
        return f"[{item['number']}] says nothing of {', '.join(sorted(years))}"
    told = quantities.quantities(content(item))
    for number in quantities.quantities(question):
        digits = number.shown[0].isdigit() and number.shown not in years
        if digits and not quantities.stands(number, told):
            return f"{number.shown} does not stand in [{item['number']}]"
    return ""


def _beside(answer: str, item: Evidence) -> tuple[str, str]:
    """The sentence or row that holds most of the answer, and the same with what stands around it."""
    parts = units(item) or [item["text"]]
    wanted = set(terms(answer))
    index = max(range(len(parts)), key=lambda i: len(wanted.intersection(terms(parts[i]))))
    if item["kind"] == "table":
        head, _ = tables.parts(item["text"])
        return parts[index], " ".join([*head, parts[index]])
    return parts[index], " ".join(parts[max(0, index - 1) : index + 2])


def _is_amount(question: str, answer: str) -> bool:
    """True if a number answers, and no date: what it measures must be what was asked for."""
    if _AMOUNT.search(question):
        return True
    starts = re.match(
        r"(?:about |around |approximately |nearly |[$€£¥~])*\d", answer.strip(), re.IGNORECASE
    )
    return starts is not None and not _DATE.search(answer)


def _head(question: str) -> str:
    """The noun a "what" asks for: ``price`` of "What is the list price of …"; "" without one."""
    match = _HEAD.search(question)
    return match.group(1).casefold() if match else ""


def _unit_says(head: str, answer: str) -> bool:
    return any(unit in answer and head in heads.split() for unit, heads in _UNITS.items())


def _asked_words(question: str) -> list[str]:
    named = {term for name in proper_names.names(question) for term in terms(name)}
    left_out = named | _ASKING
    words = dict.fromkeys(word.casefold() for word in _WORD.findall(question))
    return [
        word
        for word in words
        if not proper_names.is_function_word(word) and not left_out.intersection(terms(word))
    ]
