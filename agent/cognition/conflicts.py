"""Contradictions between sources: the same thing, another figure, another date. The later is followed.

Model-free, and careful rather than complete: figures for another year, place, part or unit are no
contradiction, and a question that asks for the change, or for what one source said, wants both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.cognition import proper_names, tables
from agent.cognition.quantities import quantities, years
from agent.cognition.support import in_words, place
from agent.notebook import last_heading
from agent.retrieval.terms import terms
from agent.sentences import sentences
from agent.state import Evidence, Note

_COVERED = 0.8  # share of what the question asks about that both statements must name
_VALUE = re.compile(
    r"(?P<money>[$€£¥]\s?)?(?<![\d.,])\d+(?:[.,]\d+)*"
    r"(?:\s?(?P<percent>%|percent|per cent)|\s(?P<scale>thousand|million|billion|trillion))?",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"(?:[,;]\s(?:and\s)?|\sand\s)(?!\s*[$€£¥\d])")
_RANGE = re.compile(r"\b(?:and|to)\b|[–-]")
_WANTS_BOTH = re.compile(
    r"\b(?:chang|differ|compar|original|previous|earlier|former|preliminary|first|initial|revis|restat|"
    r"correct|replac|supersed|before|updat)\w*",
    re.IGNORECASE,
)
# What a figure is called beside the thing it measures: no qualification of it.
_NEUTRAL = frozenset(
    terms(
        "final preliminary unaudited audited restated revised corrected new updated now total whole amount "
        "amounted reach reached rose fell grew increased decreased stood stands approximately about around "
        "nearly expect expects expected report reported reports record recorded publish published year "
        "fiscal annual company many much how figure figures number value million billion thousand dollars "
        "percent roughly currently almost totalled make made get got given according did what which segment"
    )
)


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two dated statements about the same thing.

    Attributes:
        value: What the later one says.
        number: Its citation.
        date: Its date.
        sentence: The sentence or table row it stands in.
        superseded: What the earlier one says.
        superseded_number: Its citation.
        superseded_date: Its date.
        superseded_sentence: The sentence or table row it stands in.
    """

    value: str
    number: int
    date: str
    sentence: str
    superseded: str
    superseded_number: int
    superseded_date: str
    superseded_sentence: str


@dataclass(frozen=True, slots=True)
class _Statement:
    """A value with what is said before it, which is what it measures."""

    values: tuple[Decimal, ...]
    shown: str
    kind: str  # money, percent, count; "" where a table leaves it open
    about: frozenset[str]
    years: frozenset[str]
    sentence: str


def find(note: Note, evidence: Sequence[Evidence], question: str = "") -> Conflict | None:
    """The contradiction of a finding by another document of the run's evidence, if there is one.

    Args:
        note: A finding; its short answer is the value that is compared.
        evidence: All the run's.
        question: The run's own: where it asks for the change or for both values, nothing contradicts.

    Returns:
        The latest statement against the finding's own, whichever of the two is the later one; None where
        all agree, where a date is missing, or where both have the same.
    """
    if not note["found"] or not note["cites"]:
        return None
    if any(_WANTS_BOTH.search(asked) for asked in (note["question"], question)):
        return None
    own = next((item for item in evidence if item["number"] == note["cites"][0]), None)
    said = _said(note, own) if own is not None else None
    if own is None or said is None or not own["date"]:
        return None
    rivals: list[tuple[str, Evidence, _Statement]] = []
    for item in evidence:
        if item["document"] == own["document"] or not item["date"] or item["date"] == own["date"]:
            continue
        if _about_one_source(note["question"], own, item):
            continue
        rivals += [(item["date"], item, other) for other in _rivals(note["question"], said, item)]
    if not rivals:
        return None
    date, item, other = max(rivals, key=lambda rival: rival[0])
    ours, theirs = (own, said), (item, other)
    (late, later), (early, earlier) = (theirs, ours) if date > own["date"] else (ours, theirs)
    return Conflict(
        value=later.shown,
        number=late["number"],
        date=late["date"],
        sentence=later.sentence,
        superseded=earlier.shown,
        superseded_number=early["number"],
        superseded_date=early["date"],
        superseded_sentence=earlier.sentence,
    )


def follow(note: Note, conflict: Conflict) -> Note:
    """The finding as the later source has it."""
    if conflict.number in note["cites"]:
        return note
    return Note(
        {**note, "answer": conflict.value, "sentence": conflict.sentence, "cites": [conflict.number]}
    )


def _rivals(question: str, said: _Statement, item: Evidence) -> Iterator[_Statement]:
    """What ``item`` says about the same thing with another value."""
    wanted = _measured(question)
    asked_years = said.years or years(question)
    for other in _statements(item, question):
        if other.kind and said.kind and other.kind != said.kind:
            continue
        if set(other.values) & set(said.values):
            continue
        if asked_years and other.years and not asked_years & other.years:
            continue
        held = other.about | set(terms(place(item)))
        if not wanted or len(wanted & held) < _COVERED * len(wanted):
            continue
        if not all(proper_names.stands(name, held) for name in proper_names.names(question)):
            continue
        # What stands before the value and was not asked about qualifies it: a quarter, a part, a cause;
        # and so does a heading that names somebody else.
        known = {term for name in proper_names.known_names([item["text"]]) for term in terms(name)}
        heading = known & set(terms(last_heading(item["section"])))
        asked = wanted | said.about | set(terms(question)) | set(terms(item["title"])) | _NEUTRAL
        if (other.about | heading) - asked:
            continue
        yield other


def _said(note: Note, own: Evidence) -> _Statement | None:
    """The finding's own statement: the one of its passage that holds its answer's values."""
    values = {value for value, _, _ in _values(note["answer"])}
    if not values or len(values) > 2:
        return None
    wanted = _measured(note["question"])
    fitting = [
        statement
        for statement in _statements(own, note["question"])
        if values & set(statement.values) and statement.sentence
    ]
    best = max(fitting, key=lambda s: len(wanted & s.about), default=None)
    if best is None or not wanted or not values <= set(best.values):
        return None  # values for several years are several findings, and none of them the whole answer
    held = best.about | set(terms(place(own)))
    return best if len(wanted & held) >= _COVERED * len(wanted) else None


def _statements(item: Evidence, question: str) -> Iterator[_Statement]:
    if item["kind"] == "table":
        yield from _cells(item, question)
        return
    for sentence in sentences(item["text"]):
        told: set[str] = set()
        for clause in _clauses(sentence):
            found = list(_values(clause))
            first = found[0][2]
            told |= years(clause[:first])
            for kind in dict.fromkeys(kind for _, kind, _ in found):
                same = [(value, start) for value, other, start in found if other == kind]
                # "rose 9.6% to $1,284.6 million" has a value of each kind; a range has two of one.
                ranged = len(same) > 1 and _RANGE.search(clause[same[0][1] : same[1][1]]) is not None
                values = tuple(value for value, _ in same[: 2 if ranged else 1])
                yield _Statement(
                    values=values,
                    shown=_shown(clause, same[0][1], len(values)),
                    kind=kind,
                    about=frozenset(terms(clause[:first])) - told,
                    years=frozenset(told or years(place(item)) - years(item["date"])),
                    sentence=sentence,
                )


def _clauses(sentence: str) -> Iterator[str]:
    """The parts of a sentence that hold a value each, with what leads to it."""
    start = 0
    for match in _CLAUSE.finditer(sentence):
        if any(True for _ in _values(sentence[start : match.start()])):
            yield sentence[start : match.start()]
            start = match.end()
    if any(True for _ in _values(sentence[start:])):
        yield sentence[start:]


def _cells(item: Evidence, question: str) -> Iterator[_Statement]:
    head, _ = tables.parts(item["text"])
    caption = " ".join(line.split(tables.SEPARATOR)[0] for line in head)
    for row in tables.rows(item["text"]):
        for column, cell in row.cells:
            found = list(_values(cell))
            if len(found) != 1:
                continue
            value, kind, _ = found[0]
            about = set(terms(f"{row.heading} {row.label} {column}")) - years(column)
            measured = about | (set(terms(caption)) & set(terms(question)))
            yield _Statement(
                values=(value,),
                shown=cell.strip(),
                kind="percent" if kind == "percent" else "",
                about=frozenset(measured - _CALENDAR),
                years=frozenset(years(column)),
                sentence=row.line,
            )


_CALENDAR = frozenset(
    terms(" ".join(in_words(f"2000-{month:02}-01") for month in range(1, 13)))
) | frozenset(terms("year ended end") + [str(day) for day in range(1, 32)])


def _measured(question: str) -> set[str]:
    """What a question asks the value of: its words without names, years and what merely asks."""
    named = {term for name in proper_names.names(question) for term in terms(name)}
    return {
        term
        for term in terms(question)
        if not term.isdigit() and term not in _NEUTRAL and term not in named
    }


def _about_one_source(question: str, own: Evidence, other: Evidence) -> bool:
    """True if the question names where, or when, the finding's passage was published."""
    asked = set(terms(question)) - {term for n in proper_names.names(question) for term in terms(n)}
    title = set(terms(own["title"])) - set(terms(other["title"])) - years(question)
    if len(asked & title) >= 2:
        return True
    month = in_words(own["date"]).split(" ", 1)[-1]
    return bool(month) and month in question


def _values(text: str) -> Iterator[tuple[Decimal, str, int]]:
    """Value, kind and place of the amounts in ``text``; years and days of the month are none."""
    for match in _VALUE.finditer(text):
        if _dates(text, match):
            continue
        kind = "money" if match["money"] or match["scale"] else "percent" if match["percent"] else "count"
        for quantity in quantities(match.group())[:1]:
            yield quantity.value, kind, match.start()


def _dates(text: str, match: re.Match[str]) -> bool:
    if match["money"] or match["percent"] or match["scale"]:
        return False
    digits = match.group().strip()
    if years(digits):
        return True
    around = text[max(0, match.start() - 12) : match.end() + 12]
    return bool(re.search(r"\b(?:" + _MONTHS + r")\w*\.?\s+" + re.escape(digits) + r"\b", around)) or bool(
        re.search(r"\b" + re.escape(digits) + r"\s+(?:" + _MONTHS + r")", around)
    )


_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"


def _shown(clause: str, start: int, count: int) -> str:
    """One value, or a range, as it stands: ``$1,310 million and $1,340 million``."""
    ends = [match.end() for match in _VALUE.finditer(clause) if match.start() >= start]
    return clause[start : ends[count - 1]].strip()
