"""What the store keeps of a run: its beginning, its end, its events, its decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

COLLECTED = "collected"
"""Status of a run that nobody asked: it was collected to learn from, and has no events and no answer."""

RUN_ID = r"^[0-9A-Za-z_-]{1,200}$"
"""What the id of a run must be, one that is imported as well: files are called by it."""


@dataclass(frozen=True, slots=True)
class NewRun:
    """A run about to begin; ``request`` is what it was asked to do, JSON-like, so that it can resume."""

    question: str
    profile: str
    chat_model: str
    embedder: str
    reranker: str
    decider: str
    collections: tuple[str, ...]
    session: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunEnd:
    """How a run ended, and what it cost in tokens; ``standalone`` is its question without its session."""

    status: str
    stopped_because: str
    answer: str
    model_calls: int
    evaluated: int
    reused: int
    generated: int
    standalone: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run; ``finished`` and ``seconds`` are None while it runs, or if it was killed.

    ``seconds`` are those spent running: the time between being cut off and resumed is no part of them.
    """

    id: str
    question: str
    profile: str
    chat_model: str
    embedder: str
    reranker: str
    decider: str
    collections: tuple[str, ...]
    status: str
    stopped_because: str
    answer: str
    started: datetime
    finished: datetime | None
    model_calls: int
    evaluated: int
    reused: int
    generated: int
    session: str
    standalone: str
    request: Mapping[str, Any]
    superstep: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """One event of a run; ``elapsed`` is in seconds since the run began."""

    seq: int
    elapsed: float
    kind: str
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision: a step of the Markov decision process.

    Attributes:
        seq: 0-based order within the run.
        step: Research steps finished when it was taken.
        state_version: Version of the state's encoding.
        state: The state exactly as the decider saw it (JSON-like).
        valid_actions: What could have been chosen.
        action: What was chosen.
        probabilities: One per action, summing to one.
        behaviour_probability: Probability with which the acting source takes ``action`` here.
        source: ``rules``, ``llm``, ``learned``, ``human`` or ``budget``.
        latency_ms: Milliseconds the decision took.
        justification: The source's reason in words, where it has one.
        shadow: True for a second opinion that was recorded but not acted on.
        path: First letters of the actions before it, in order: how the state was reached.
        text: The state as a decider that reads was shown it.
        features: The state as numbers, by name.
    """

    seq: int
    step: int
    state_version: int
    state: Mapping[str, Any]
    valid_actions: tuple[str, ...]
    action: str
    probabilities: Mapping[str, float]
    behaviour_probability: float
    source: str
    latency_ms: float
    justification: str = ""
    shadow: bool = False
    path: str = ""
    text: str = ""
    features: Mapping[str, float] = field(default_factory=dict)
