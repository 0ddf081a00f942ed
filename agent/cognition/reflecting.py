"""Reflection: the evidence of a step becomes one factual sentence with the passage it stands in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel

from agent import prompts
from agent.cognition.support import best_source, support
from agent.session import Session
from agent.state import Evidence
from models.structured import Origin

_ENOUGH = 0.5  # share of a sentence's content that its passage must hold


@dataclass(frozen=True, slots=True)
class Finding:
    """What a step found. ``answer`` is the short form that later steps refer to."""

    found: bool
    sentence: str
    answer: str
    cites: list[int]
    origin: Origin


NOTHING = Finding(found=False, sentence="", answer="", cites=[], origin="default")


class Reflector(Protocol):
    """Says what a step's evidence shows."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The finding; ``evidence`` is this step's, never empty."""
        ...


class _Reflection(BaseModel):
    source: int
    answer: str
    sentence: str


class ModelReflector:
    """Asks the model, then checks what it says against the passage it names."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
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
        said = result.value
        answer = " ".join(said.answer.split())
        sentence = " ".join(said.sentence.split()) or answer
        if not sentence or (said.source == 0 and not answer):
            return Finding(False, "", "", [], result.origin)
        named = [item for item in evidence if item["number"] == said.source]
        source = (
            named[0]
            if named and support(answer or sentence, named[0]) >= _ENOUGH
            else best_source(answer or sentence, evidence)
        )
        if source is None or support(answer or sentence, source) < _ENOUGH:
            return Finding(False, "", "", [], result.origin)
        return Finding(True, sentence, answer or sentence, [source["number"]], result.origin)


class ExtractiveReflector:
    """Model-free: the best-scored excerpt is the finding."""

    def reflect(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        evidence: Sequence[Evidence],
    ) -> Finding:
        """The excerpt of the best evidence, as it stands."""
        best = max(evidence, key=lambda item: item["score"])
        text = " ".join(best["excerpt"].split())
        return Finding(True, text, text, [best["number"]], "default")
