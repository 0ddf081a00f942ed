"""The typed events of a run. A screen, a transcript and a replay are folds over these and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar

from agent.state import Candidate, Evidence, Note, PlanStep

_EVENTS: dict[str, type[Event]] = {}


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened in a run.

    Attributes:
        kind: The class's name, under which the event is stored.
        stored: False for what only matters to someone who is watching.
    """

    kind: ClassVar[str] = "Event"
    stored: ClassVar[bool] = True

    def __init_subclass__(cls) -> None:
        cls.kind = cls.__name__
        _EVENTS[cls.kind] = cls

    def payload(self) -> dict[str, Any]:
        """The event's fields, JSON-like."""
        return asdict(self)


def from_stored(kind: str, payload: Mapping[str, Any]) -> Event:
    """The event that was stored; fields this version does not know are left out.

    Raises:
        KeyError: this version knows no such event.
    """
    cls = _EVENTS[kind]
    known = {f.name for f in fields(cls)}
    return cls(**{name: value for name, value in payload.items() if name in known})


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """The first event of every run."""

    run_id: str
    question: str
    profile: str
    chat_model: str
    embedder: str
    reranker: str  # "" if there is none: the fused order stands
    decider: str
    collections: list[str]


@dataclass(frozen=True, slots=True)
class NodeStarted(Event):
    """A node of the graph began; ``step`` is 0 outside research steps."""

    node: str
    step: int


@dataclass(frozen=True, slots=True)
class NodeFinished(Event):
    """A node ended after ``seconds``."""

    node: str
    step: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Planned(Event):
    """A plan was made, or what was left of it was made anew (``revision`` ≥ 1)."""

    steps: list[PlanStep]
    revision: int
    origin: str  # model, repaired, default


@dataclass(frozen=True, slots=True)
class StepStarted(Event):
    """A research step began."""

    step: int
    plan_step: PlanStep


@dataclass(frozen=True, slots=True)
class Searched(Event):
    """A search was made; ``hits`` are in the order they were recalled."""

    step: int
    query: str
    strategy: str
    reason: str
    tool: str
    section: str
    hits: list[Candidate]


@dataclass(frozen=True, slots=True)
class Reranked(Event):
    """The hits were put in the order that distillation reads them; ``reranker`` is "" without one."""

    step: int
    reranker: str
    order: list[int]  # passage ids
    scores: list[float]


@dataclass(frozen=True, slots=True)
class EvidenceKept(Event):
    """What the step kept: ``fresh`` is new, ``again`` was known before."""

    step: int
    fresh: list[Evidence]
    again: list[int]


@dataclass(frozen=True, slots=True)
class Noted(Event):
    """The step's finding."""

    note: Note
    origin: str


@dataclass(frozen=True, slots=True)
class Decided(Event):
    """CONTINUE, REVISE or FINISH, with the state as the decider saw it."""

    step: int
    state_version: int
    state: dict[str, Any]
    valid: list[str]
    action: str
    probabilities: dict[str, float]
    source: str
    latency_ms: float
    justification: str
    behaviour_probability: float


@dataclass(frozen=True, slots=True)
class NotebookGrew(Event):
    """An entry was appended to the notebook that every prompt begins with."""

    entry: str


@dataclass(frozen=True, slots=True)
class ModelCalled(Event):
    """A model call ended."""

    purpose: str
    evaluated: int
    reused: int
    generated: int
    seconds: float


@dataclass(frozen=True, slots=True)
class AnswerText(Event):
    """A piece of the answer as it is written; `Answered` holds the whole."""

    stored: ClassVar[bool] = False
    text: str


@dataclass(frozen=True, slots=True)
class AnswerSentence:
    """One sentence of the answer, checked against what it cites.

    Attributes:
        text: The sentence, without citation marks.
        cites: Citation numbers.
        support: Share of its content found in the cited passages, 0 to 1.
        flagged: True if that is too little, and a person should be told.
    """

    text: str
    cites: list[int]
    support: float
    flagged: bool


@dataclass(frozen=True, slots=True)
class Answered(Event):
    """The answer with its checked sentences and the passages they cite."""

    answer: str
    sentences: list[dict[str, Any]]
    sources: list[Evidence]


@dataclass(frozen=True, slots=True)
class Warned(Event):
    """Something a person should know, though the run goes on."""

    message: str


@dataclass(frozen=True, slots=True)
class Heartbeat(Event):
    """Sent at least every second: the node under way and the seconds since the run began."""

    stored: ClassVar[bool] = False
    node: str
    step: int
    elapsed: float
    generated: int  # tokens generated so far in the whole run


@dataclass(frozen=True, slots=True)
class RunFinished(Event):
    """The last event of every run that was not killed."""

    status: str  # answered, not_found, cancelled, failed
    stopped_because: str
    seconds: float
    model_calls: int
    evaluated: int
    reused: int
    generated: int
