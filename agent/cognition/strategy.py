"""Choosing a retrieval strategy: the supervisor of the funnel's first stage."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel

from agent import prompts
from agent.retrieval.recall import Strategy
from agent.session import Session

_QUOTED = re.compile(r"[\"“«「]([^\"”»」]{2,})[\"”»」]")
_CODE = re.compile(r"\b(?=\w*\d)(?=\w*[A-Za-z])[A-Za-z0-9][A-Za-z0-9./-]{3,}\b")


@dataclass(frozen=True, slots=True)
class Chosen:
    """A strategy and the reason for it."""

    strategy: Strategy
    reason: str


class Strategist(Protocol):
    """Picks how a query is searched."""

    def choose(self, session: Session, notebook: Sequence[str], query: str) -> Chosen:
        """The strategy for ``query``."""
        ...


class PlainStrategist:
    """Model-free: both rankings fused, unless the query is plainly a look-up of an exact string."""

    def choose(self, session: Session, notebook: Sequence[str], query: str) -> Chosen:
        """``keyword`` for a quotation or a lone code, else ``hybrid``."""
        if _QUOTED.search(query):
            return Chosen("keyword", "the query quotes exact words")
        if len(query.split()) <= 3 and _CODE.search(query):
            return Chosen("keyword", "the query is a code")
        return Chosen("hybrid", "meaning and words both count")


class _Choice(BaseModel):
    justification: str
    strategy: Strategy


class ModelStrategist:
    """Asks the model, as the seed's supervisor does."""

    def choose(self, session: Session, notebook: Sequence[str], query: str) -> Chosen:
        """The model's pick; ``hybrid`` if it gives none."""
        result = session.ask(
            "strategy",
            notebook,
            prompts.strategy(query),
            _Choice,
            _Choice(justification="the model gave no usable choice", strategy="hybrid"),
            80,
        )
        return Chosen(result.value.strategy, result.value.justification)
