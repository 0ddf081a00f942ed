"""Comparing: what two findings say held against each other. A small model gets even 5 and 7 wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.cognition import proper_names
from agent.cognition.comparands import AGE, things
from agent.cognition.quantities import quantities, years
from agent.retrieval.terms import terms
from agent.state import Claim, Note

_MORE = (
    "longer|more|higher|larger|bigger|greater|taller|heavier|above|exceeds?|exceeded|later|after|younger"
)
_LESS = "shorter|less|fewer|lower|smaller|lighter|below|earlier|before|older"
_COMPARES = re.compile(
    rf"\b(?:{_MORE}|{_LESS}|first|last|most|least|compar\w+|differ\w*|than)\b|\b[a-z]+er or [a-z]+er\b",
    re.IGNORECASE,
)
_CLAIMS = re.compile(
    rf"^(?P<left>.+?)\b(?:(?P<more>{_MORE})|(?P<less>{_LESS}))\b(?:\s\w+){{0,2}}?\s?than\b(?P<right>.+)$",
    re.IGNORECASE,
)
# Of dates the older is the lesser.
_LEAST = re.compile(
    r"\b(?:first|earlier|earliest|older|oldest|elder|eldest|fewer|fewest|least|shorter|shortest|smaller|smallest|"
    r"lower|lowest)\b",
    re.IGNORECASE,
)
_MOST = re.compile(
    r"\b(?:last|later|latest|younger|youngest|newer|newest|more|most|longer|longest|larger|largest|bigger|biggest|"
    r"taller|tallest|higher|highest|greater|greatest)\b",
    re.IGNORECASE,
)
_SAME = re.compile(r"\b(?:same|both|shares?|in common)\b", re.IGNORECASE)
_SAME_WHAT = re.compile(r"\b(?:same|shares? an?) (?P<what>[a-z]+)\b", re.IGNORECASE)
_COUNTRY = frozenset(terms("country nationality nation citizenship"))
_YES_OR_NO = re.compile(
    r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b", re.IGNORECASE
)
_DESCRIBES = re.compile(r"^(?:who|what|which) (?:is|was|are|were) (?P<what>.+?)\??$", re.IGNORECASE)
_LONGEST_NAME = 4  # words; what is longer says more than can be told apart
_COUNTRIES = {
    "america": (
        "us",
        "usa",
        "united states",
        "the united states",
        "united states of america",
        "america",
        "american",
    ),
    "britain": ("uk", "united kingdom", "the united kingdom", "great britain", "britain", "british"),
}
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_DATE = re.compile(
    r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?: of)? (?P<month>[A-Z][a-z]{2,8})\.?,? (?P<year>\d{4})"
    r"|(?P<month2>[A-Z][a-z]{2,8})\.? (?P<day2>\d{1,2})(?:st|nd|rd|th)?,? (?P<year2>\d{4})"
    r"|(?P<year3>\d{4})-(?P<month3>\d\d)-(?P<day3>\d\d)"
)
_UNIT = re.compile(r"\s?(%|°\s?[CF]|[a-zA-Z]+)")
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}  # time is compared across its units
_NO_UNIT = frozenset("in and or of at to for from on with than as per by the".split())


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What follows from two findings.

    Attributes:
        text: A sentence that says it, for the model that writes the answer.
        answer: ``Yes``, ``No`` or the one of two things that the question asks for; "" where the findings
            do not say it plainly.
        because: The two values and whose they are, in a few words.
        cites: The passages of both findings.
    """

    text: str
    answer: str
    because: str
    cites: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """One amount or date.

    Attributes:
        shown: As it stands, with its unit.
        size: What is compared: an amount, days where the unit is one of time, the year with month and
            day as a fraction for a date.
        unit: ``date``, ``day`` for any time, a word or a sign; "" if none is told.
    """

    shown: str
    size: Decimal
    unit: str


@dataclass(frozen=True, slots=True)
class _Compared:
    """A value, the question that it was found for, and whose it is (see `_whose`)."""

    value: Value
    question: str
    whose: str

    @property
    def about(self) -> str:
        return self.question + self.whose

    def __str__(self) -> str:
        return self.value.shown + self.whose


def value(text: str) -> Value | None:
    """The only amount or date of ``text``; None if there is none or more than one.

    Years beside one amount say when, and are left out; where there is no amount, the only date or year
    is the value.
    """
    dates = [_dated(match) for match in _DATE.finditer(text)]
    bare = _DATE.sub(" ", text)
    told = years(bare)
    amounts = [(m, q) for m, q in _numbers(bare) if q not in told]
    if len(amounts) == 1 and not dates:
        return _amount(bare, *amounts[0])
    if not amounts and len(dates) == 1:
        return dates[0]
    if not amounts and not dates and len(told) == 1:
        (year,) = told
        return Value(year, Decimal(year), "date")
    return None


def conclusion(question: str, notes: Sequence[Note]) -> Conclusion | None:
    """What the findings say held against each other; None if the question does not ask, or it cannot be."""
    found = [note for note in notes if note["found"]]
    if _COMPARES.search(question):
        valued = [(note, told) for note in found if (told := _of_note(note)) is not None]
        if len(valued) == 2:
            (first, one), (second, other) = valued
            if _relation(one, other):
                mine = _Compared(one, first["question"], _whose(first, second, found))
                its = _Compared(other, second["question"], _whose(second, first, found))
                chosen = _chosen(question, mine, its)
                if chosen and _holds(its.about, chosen):
                    mine, its = its, mine  # what is asked for stands first
                because = f"{mine} is {_relation(mine.value, its.value)} {its}"
                follows = f", so it is {chosen}" if chosen else ""
                return Conclusion(f"{because}{follows}.", chosen, because, _cites(found, first, second))
    return _sameness(question, found) if _SAME.search(question) else None


def _cites(found: Sequence[Note], *compared: Note) -> tuple[int, ...]:
    """The passages of what is compared, and of the findings that say whose it is."""
    notes = [note for one in compared for note in (*_leading_to(one, found), one)]
    return tuple(dict.fromkeys(number for note in notes for number in note["cites"]))


def _leading_to(note: Note, found: Sequence[Note]) -> list[Note]:
    """The findings whose answer a note's question is about."""
    return [
        earlier
        for earlier in found
        if earlier is not note and earlier["answer"] and earlier["answer"] in note["question"]
    ]


def _holds(text: str, name: str) -> bool:
    return set(terms(text)).issuperset(terms(name))


def _chosen(question: str, one: _Compared, other: _Compared) -> str:
    """Which of the two things that ``question`` names has the value asked for; "" if that is not plain."""
    named = things(question)
    least, most = _LEAST.search(question) is not None, _MOST.search(question) is not None
    if named is None or least == most or one.value.size == other.value.size:
        return ""
    if AGE.search(question) and one.value.unit != "date":
        least = not least  # an age, not a date of birth
    has_it = one if (one.value.size < other.value.size) == least else other
    mine = [name for name in named if _holds(has_it.about, name)]
    return mine[0] if len(mine) == 1 else ""


def _sameness(question: str, found: Sequence[Note]) -> Conclusion | None:
    """Whether the last two findings, of which the same was asked, say the same; None if it is not plain.

    It is not where something else was asked of them than the question compares, and where what is said of
    one mentions the other's answer: "Adelaide" and "Australia" are no two countries.
    """
    if len(found) < 2 or _frame(found[-2]) != _frame(found[-1]):
        return None
    first, second = found[-2:]
    if not _of_what_is_compared(question, first["question"]):
        return None
    one, other = first["answer"].strip(" ."), second["answer"].strip(" .")
    if max(len(one.split()), len(other.split())) > _LONGEST_NAME:
        return None
    mine, its = _alike(one), _alike(other)
    same = mine == its
    if not same and (
        mine & its or mine <= set(terms(second["sentence"])) or its <= set(terms(first["sentence"]))
    ):
        return None
    ours, theirs = _whose(first, second, found), _whose(second, first, found)
    text = f"{one}{ours} is {'' if same else 'not '}the same as {other}{theirs}."
    # "Are both American?" is not answered by their being the same.
    plain = _YES_OR_NO.match(question) and _SAME_WHAT.search(question)
    answer = ("Yes" if same else "No") if plain else ""
    return Conclusion(text, answer, f"{one}{ours} and {other}{theirs}", _cites(found, first, second))


def _of_what_is_compared(question: str, step: str) -> bool:
    """Whether a step asks for what the question wants to be the same; True if it does not say what."""
    match = _SAME_WHAT.search(question)
    if match is None:
        return True
    wanted, asked = set(terms(match["what"])), set(terms(step))
    return not wanted.isdisjoint(asked) or not (wanted.isdisjoint(_COUNTRY) or asked.isdisjoint(_COUNTRY))


def _frame(note: Note) -> set[str]:
    """The words of a question but for its names."""
    named = {term for name in proper_names.names(note["question"]) for term in terms(name)}
    return set(terms(note["question"])) - named


def _alike(answer: str) -> set[str]:
    """The terms of an answer; of a country that has many names, one of them."""
    folded = answer.casefold().replace(".", "")
    return set(terms(next((name for name, others in _COUNTRIES.items() if folded in others), folded)))


def judge(text: str, others: Sequence[Claim]) -> tuple[bool, str, list[int]] | None:
    """Whether a sentence that compares two things is right by the values that ``others`` give for them.

    Args:
        text: "The stock was shorter than the halt."
        others: The supported sentences of the answer.

    Returns:
        Whether it is right, why not, and the passages of both values; None if the sentence compares
        nothing, or if its two sides cannot be told.
    """
    match = _CLAIMS.match(text)
    if match is None:
        return None
    left, right = match["left"], match["right"]
    first, second = _side(left, right, others), _side(right, left, others)
    if first is None or second is None or first == second:
        return None
    (one, cites), (other, more) = first, second
    if not _relation(one, other):
        return None
    word = (match["more"] or match["less"]).casefold()
    sign = (one.size > other.size) - (one.size < other.size)
    claimed = 1 if match["more"] else -1
    if word in {"older", "younger"} and one.unit != "date":
        claimed = -claimed  # an age, not a date of birth
    both = list(dict.fromkeys([*cites, *more]))
    return sign == claimed, f"{one.shown} is not {word} than {other.shown}", both


def _side(own: str, opposite: str, others: Sequence[Claim]) -> tuple[Value, list[int]] | None:
    """The value of one side: its own if it has one, else that of the sentence that speaks of it."""
    mine = set(terms(own)) - set(terms(opposite))
    stated = value(own)
    if stated is not None and stated.shown.isdigit() and stated.unit == "date":
        stated = None  # "the halt in 2025" is no year that is compared
    found: tuple[int, Value, list[int]] | None = None
    for claim in others:
        told = value(claim["text"])
        shared = len(mine.intersection(terms(claim["text"])))
        if told is not None and shared and (found is None or shared > found[0]):
            found = (shared, stated or told, claim["cites"])
    return found[1:] if found else None


def _of_note(note: Note) -> Value | None:
    found = value(note["answer"])
    if found is None or found.unit:
        return found
    # A cell has its unit in its column ("safety_stock_weeks") or in the question ("how many weeks").
    around = set(re.findall(r"[a-z]+", f"{note['sentence']} {note['question']}".casefold()))
    unit = next((u for u in _DAYS if u in around or f"{u}s" in around), "")
    if not unit:
        return found
    return Value(f"{found.shown} {unit}s", found.size * _DAYS[unit], "day")


def _relation(one: Value, other: Value) -> str:
    if one.unit != other.unit and one.unit and other.unit:
        return ""
    if one.size == other.size:
        return "the same as"
    more = one.size > other.size
    words = {"date": ("later than", "earlier than"), "day": ("longer than", "shorter than")}
    return words.get(one.unit or other.unit, ("more than", "less than"))[0 if more else 1]


def _whose(note: Note, other: Note, found: Sequence[Note]) -> str:
    """Whose value it is: the names in the note's question but not in the other's, and what they are."""
    theirs = set(proper_names.names(other["question"]))
    mine = [name for name in proper_names.names(note["question"]) if name not in theirs]
    described = next(
        (
            match["what"]
            for earlier in _leading_to(note, found)
            for match in [_DESCRIBES.match(earlier["question"])]
            if match
        ),
        "",
    )
    shown = ", ".join(part for part in (" ".join(mine), described) if part)
    return f" ({shown})" if shown else ""


def _numbers(text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    start = 0
    for quantity in quantities(text):
        start = text.index(quantity.shown, start)
        found.append((start, quantity.shown))
        start += len(quantity.shown)
    return found


def _amount(text: str, start: int, shown: str) -> Value:
    (quantity,) = quantities(shown)
    end = start + len(shown)
    scaled = next(iter(quantities(text[start:])), quantity)
    match = _UNIT.match(text, end)
    word = match.group(1).casefold() if match else ""
    unit = "" if word in _NO_UNIT else word.rstrip("s") if len(word) > 3 else word
    size = scaled.value.scaleb(scaled.scale)
    tail = "" if match is None or not unit else "%" if unit == "%" else f" {match.group(1)}"
    sign = text[start - 1] if start and text[start - 1] in "$€£¥" else ""
    if unit in _DAYS:
        return Value(f"{shown}{tail}", size * _DAYS[unit], "day")
    return Value(f"{sign}{shown}{tail}", size, sign or ("" if scaled.scale else unit))


def _dated(match: re.Match[str]) -> Value:
    year = match["year"] or match["year2"] or match["year3"]
    day = match["day"] or match["day2"] or match["day3"]
    name = (match["month"] or match["month2"] or "")[:3].casefold()
    month = _MONTHS.index(name) + 1 if name in _MONTHS else int(match["month3"] or 0)
    return Value(match.group(), Decimal(year) + Decimal(month * 100 + int(day)) / 10000, "date")
