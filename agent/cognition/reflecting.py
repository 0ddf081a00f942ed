"""Reflection: the evidence of a step becomes one factual sentence with the passage it stands in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import BaseModel

from agent import prompts
from agent.cognition import cells, lifetimes
from agent.cognition.answering import AnswerCheck, asked
from agent.cognition.support import missing_numbers, support
from agent.cognition.surface import names
from agent.cognition.tables import named_rows
from agent.retrieval.terms import terms
from agent.sentences import sentences
from agent.session import Session
from agent.state import Evidence
from models.protocols import Embedder
from models.structured import Origin

_ENOUGH = 0.5  # share of a sentence's content that its passage must hold


@dataclass(frozen=True, slots=True)
class Finding:
    """What a step found.

    Attributes:
        found: Whether the evidence answers the step's question.
        sentence: One factual sentence, or table rows.
        answer: The short form that later steps refer to.
        cites: Numbers of the passages it stands in.
        origin: Who said so: the model, a repair, the default, or a rule that read a table.
    """

    found: bool
    sentence: str
    answer: str
    cites: list[int]
    origin: Origin | Literal["rule"]


_ASKS_A_NAME = re.compile(
    r"(?:who|whom|(?:in |at |from )?(?:which|what) [a-z ]+|where|what (?:is|was) the [a-z ]+? of)\b",
    re.IGNORECASE,
)
_WHAT_IS = re.compile(r"(?:what|who) (?:is|was|are|were) (?:the )?(?P<thing>[^?]+?)\?$", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|was|are|were) (?=an?\b|the\b|one\b)")
_NAME_WORDS = 5  # an answer of more is a sentence
_PERSON_OR_PLACE = re.compile(r"(?:\w+ )?(?:who|whom|whose|where|when|why)\b", re.IGNORECASE)
NOTHING = Finding(found=False, sentence="", answer="", cites=[], origin="default")


class Reflector(Protocol):
    """Says what a step's evidence shows."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        query: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The finding.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first; the step's evidence is its last entry.
            question: The step's question.
            query: What was searched for: the question with what it points back to.
            evidence: This step's, never empty.
        """
        ...


class _Reading(BaseModel):
    source: int
    answer: str


class _Reflection(_Reading):
    sentence: str


class QuotingReflector:
    """Asks the model for the shortest answer only; the sentence is the passage's own (``lean``).

    A quoted sentence costs nothing to generate and cannot be wrong about its source. And a small model
    answers every question from any passage: its answer is a finding only where a passage that holds it
    says what was asked (`agent.cognition.answering`).

    Args:
        embedder: Compares question and passage; without one, only their words are.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._check = AnswerCheck(embedder)

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        query: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The model's finding; not found if no passage of the step holds its answer and says so.

        Cells of a table that the question names by row and column are read without the model, and so are
        two or more rows that it names by their labels: a small one gives one value, a neighbour's, or the
        total. What a named thing is, and when someone was born or died, the passage about it says at its
        beginning; asked for that, a small model gives back the name, or another date.
        """
        finding = (
            self._tabulated(question, query, evidence)
            or _defined(question, evidence)
            or _lived(question, evidence)
        )
        if finding is not None:
            return finding
        result = session.ask(
            "reflect",
            notebook,
            prompts.read(question),
            _Reading,
            _Reading(source=0, answer=""),
            112,
        )
        answer = _plain(result.value.answer)
        for source in _sources(answer, result.value.source, evidence):
            if not self._check.refusal(question, answer, source, evidence):
                sentence = quote(answer, source)
                return Finding(True, sentence, _named(question, answer), [source["number"]], result.origin)
        return Finding(False, "", "", [], result.origin)

    def _tabulated(self, question: str, query: str, evidence: Sequence[Evidence]) -> Finding | None:
        for asking in dict.fromkeys((question, query)):
            cell = cells.read(asking, asked(question), evidence)
            if cell is not None:
                return Finding(True, cell.sentence, cell.answer, [cell.item["number"]], "rule")
        if _PERSON_OR_PLACE.match(question):
            return None  # rows of figures name no one
        for item in evidence:
            rows = named_rows(item["excerpt"], query) if item["kind"] == "table" else []
            spelled = "; ".join(row.spelled() for row in rows)
            # Two rows of one label, a segment's revenue and its income, are not two things asked for.
            if len({row.label for row in rows}) >= 2 and not self._check.refusal(
                question, spelled, item, evidence
            ):
                return Finding(True, spelled, spelled, [item["number"]], "rule")
        return None


class ModelReflector:
    """Asks the model to state the finding in a sentence of its own, as the seed does."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        query: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The model's finding; not found if no passage of the step supports it."""
        result = session.ask(
            "reflect",
            notebook,
            prompts.reflect(question),
            _Reflection,
            _Reflection(source=0, answer="", sentence=""),
            160,
        )
        sentence = " ".join(result.value.sentence.split())
        answer = _plain(result.value.answer) or sentence
        source = _source(answer, result.value.source, evidence)
        if source is None:
            return Finding(False, "", "", [], result.origin)
        return Finding(True, sentence or answer, answer, [source["number"]], result.origin)


class ExtractiveReflector:
    """Model-free: the best-scored excerpt is the finding."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        query: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The excerpt of the best evidence, as it stands."""
        best = max(evidence, key=lambda item: item["score"])
        text = " ".join(best["excerpt"].split())
        return Finding(True, text, text, [best["number"]], "default")


_NO_ANSWER = {"", "none", "empty", "n/a", "not found", "unknown", "not mentioned", "not stated"}


def _plain(answer: str) -> str:
    """One line; "" for the words small models use for an empty answer."""
    text = " ".join(answer.split()).strip(" \"'")
    return "" if text.casefold().rstrip(".") in _NO_ANSWER else text


def _defined(question: str, evidence: Sequence[Evidence]) -> Finding | None:
    """What the passage about a named thing says it is, where nothing else is asked; None otherwise."""
    match = _WHAT_IS.match(question)
    if match is None or names(match["thing"]) != [match["thing"]]:
        return None
    thing = set(terms(match["thing"]))
    for item in evidence:
        first = next(iter(sentences(item["text"])), "")
        told = _IS.search(first)
        if told and thing.issuperset(terms(item["title"])) and thing.issubset(terms(first[: told.start()])):
            return Finding(True, first, first[told.end() :].rstrip(" ."), [item["number"]], "rule")
    return None


def _lived(question: str, evidence: Sequence[Evidence]) -> Finding | None:
    told = lifetimes.read(question, evidence)
    return Finding(True, told.sentence, told.date, [told.number], "rule") if told else None


def _named(question: str, answer: str) -> str:
    """The one name that a whole sentence gives a question that asks for one; else the answer as it is.

    Asked who painted a picture, a small model copies "… is a painting by Ann Lee", and the next step would
    be asked about all of that.
    """
    if not _ASKS_A_NAME.match(question) or len(answer.split()) <= _NAME_WORDS:
        return answer
    told = set(terms(question))
    new = [name for name in names(answer) if told.isdisjoint(terms(name))]
    return new[0] if len(new) == 1 else answer


def _source(answer: str, named: int, evidence: Sequence[Evidence]) -> Evidence | None:
    """The passage that holds ``answer`` best, if one does."""
    return next(iter(_sources(answer, named, evidence)), None)


def _sources(answer: str, named: int, evidence: Sequence[Evidence]) -> list[Evidence]:
    """The passages that hold ``answer``, best first; of equals the one the model named, then the earlier.

    An empty answer is the model's word that there is none. That it names no passage is not: small models
    give passage 0 beside an answer they have copied correctly, and often another's number.
    """
    if not answer:
        return []
    held = [
        (support(answer, item), item["number"] == named, item)
        for item in evidence
        if not missing_numbers(answer, [item])
    ]
    enough = [found for found in held if found[0] >= _ENOUGH]
    return [item for *_, item in sorted(enough, key=lambda found: (-found[0], not found[1]))]


def quote(answer: str, item: Evidence) -> str:
    """The sentence or table row of the passage's excerpt that holds most of ``answer``."""
    wanted = set(terms(answer))
    units = [unit for unit in sentences(item["excerpt"].replace(" … ", "\n")) if unit]
    return max(units, key=lambda unit: len(wanted.intersection(terms(unit))), default=answer)
