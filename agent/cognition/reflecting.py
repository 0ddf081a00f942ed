"""Reflection: what a step's evidence says in answer to its question, and where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, TypeAlias

from pydantic import BaseModel

from agent import prompts
from agent.cognition.support import missing_numbers, support
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import AnswerSpan, Evidence
from agent.text.sentences import sentences
from models.structured import Origin

Spans: TypeAlias = Mapping[int, Sequence[AnswerSpan]]
"""The reader's candidate answers by citation number, most probable first."""

SURE: Final = 0.9
"""Probability of a span from which the language model is not asked: right nine times in ten."""
LIKELY: Final = 0.5
"""Probability from which a passage rather answers than not."""
POSSIBLE: Final = 0.2
"""Probability of a passage, or a span, below which the reader rules an answer out."""
_AGREED: Final = 0.1  # … and from which it confirms what the language model says
_ENOUGH: Final = 0.5  # share of an answer's content that its passage must hold
_CANDIDATES: Final = 3  # spans shown to the language model


@dataclass(frozen=True, slots=True)
class Finding:
    """What a step found.

    Attributes:
        found: Whether the evidence answers the step's question.
        sentence: The sentence or table row that says it.
        answer: The short form that later steps refer to.
        cites: Numbers of the passages it stands in.
        origin: Who said so: the model, a repair, the default, or the reader.
    """

    found: bool
    sentence: str
    answer: str
    cites: list[int]
    origin: Origin | Literal["reader"]


NOTHING = Finding(found=False, sentence="", answer="", cites=[], origin="default")


class Reflector(Protocol):
    """Says what a step's evidence shows."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        evidence: Sequence[Evidence],
        spans: Spans,
    ) -> Finding:
        """The finding.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first; the step's evidence is its last entry.
            question: The step's question.
            evidence: This step's, never empty.
            spans: What the reader proposes.
        """
        ...


class _Reading(BaseModel):
    source: int
    answer: str


class _Reflection(_Reading):
    sentence: str


class ReadingReflector:
    """The reader where it is sure, the language model where it is not (``lean``).

    The model sees the reader's candidates beside the evidence and gives the shortest answer only; the
    sentence is the passage's own. An answer counts only if its passage holds it, and the reader marked
    those words or takes the passage rather for an answer than not.
    """

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        evidence: Sequence[Evidence],
        spans: Spans,
    ) -> Finding:
        """The finding of whichever of the two is sure."""
        best = best_span(spans)
        if best is not None and best[1]["probability"] >= SURE:
            return of_span(*best)
        shown = [
            (number, span["text"]) for number, span in _ranked(spans)[:_CANDIDATES] if span["text"].strip()
        ]
        result = session.ask(
            "reflect",
            notebook,
            prompts.read(question, shown),
            _Reading,
            _Reading(source=0, answer=""),
            112,
        )
        answer = _plain(result.value.answer)
        for source in _sources(answer, result.value.source, evidence):
            own = spans.get(source["number"], ())
            if _agrees(answer, own) or source.get("relevance", 0.0) >= LIKELY:
                return Finding(True, quote(answer, source), answer, [source["number"]], result.origin)
        return Finding(False, "", "", [], result.origin)


class ModelReflector:
    """Asks the model to state the finding in a sentence of its own, as the seed does."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        evidence: Sequence[Evidence],
        spans: Spans,
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
        evidence: Sequence[Evidence],
        spans: Spans,
    ) -> Finding:
        """The excerpt of the best evidence, as it stands."""
        best = max(evidence, key=lambda item: item["score"])
        text = " ".join(best["excerpt"].split())
        return Finding(True, text, text, [best["number"]], "default")


def best_span(spans: Spans) -> tuple[int, AnswerSpan] | None:
    """The most probable span with its passage's number; None without any."""
    return next(iter(_ranked(spans)), None)


def of_span(number: int, span: AnswerSpan) -> Finding:
    """A reader's span as a finding."""
    return Finding(True, span["unit"], span["text"], [number], "reader")


def _ranked(spans: Spans) -> list[tuple[int, AnswerSpan]]:
    flat = [(number, span) for number, proposed in spans.items() for span in proposed]
    return sorted(flat, key=lambda pair: -pair[1]["probability"])


def _agrees(answer: str, spans: Sequence[AnswerSpan]) -> bool:
    """Whether a span that is not improbable shares words with the model's answer."""
    told = set(terms(answer))
    return any(
        span["probability"] >= _AGREED and not told.isdisjoint(terms(span["text"])) for span in spans
    )


_NO_ANSWER = {"", "none", "empty", "n/a", "not found", "unknown", "not mentioned", "not stated"}


def _plain(answer: str) -> str:
    """One line; "" for the words small models use for an empty answer."""
    text = " ".join(answer.split()).strip(" \"'")
    return "" if text.casefold().rstrip(".") in _NO_ANSWER else text


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
