"""The typed events of a run. A screen, a transcript and a replay are folds over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, dataclass_transform

from agent.state import Candidate, Claim, Evidence, Note, PlanStep

KINDS: dict[str, type[Event]] = {}
"""Every kind of event, by the name under which it is stored."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
@dataclass(frozen=True)
class Event:
    """Something that happened in a run. Its kinds are frozen dataclasses too, without saying so each."""

    kind: ClassVar[str] = "Event"  # the name of the class, under which the event is stored
    stored: ClassVar[bool] = True  # False for events that only matter while they happen
    listed: ClassVar[str] = ""  # the key of its list in the JSON of a run; "" if it is not listed by itself

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)
        cls.kind = cls.__name__
        KINDS[cls.kind] = cls

    def payload(self) -> dict[str, Any]:
        """The event's fields, JSON-like."""
        return asdict(self)


def from_stored(kind: str, payload: Mapping[str, Any]) -> Event:
    """A stored event; unknown fields are ignored, and missing fields have their defaults.

    Raises `KeyError` if the kind is unknown.
    """
    cls = KINDS[kind]
    names = {f.name for f in fields(cls)}
    return cls(**{name: value for name, value in payload.items() if name in names})


class RunStarted(Event):
    """The first event of every run."""

    run_id: str
    question: str
    profile: str
    chat_model: str
    embedder: str
    reranker: str  # ranks the passages; "" in old runs without one
    decider: str
    collections: list[str]
    session: str = ""
    filters: list[str] = field(default_factory=list)  # as written: ``after:2024-03``


class Resumed(Event):
    """An interrupted run was resumed; ``node`` is the first node that runs again."""

    run_id: str
    question: str
    node: str
    chat_model: str


class Routed(Event):
    """The kind of question: ``clarify``, ``direct``, ``single`` or ``deep``.

    ``asked`` is in the user's words; ``question`` is the self-contained question made from a follow-up.
    """

    route: str
    reason: str
    source: str  # who chose it: planner, model, default, exact (small talk), reader, person
    asked: str
    question: str


class Asked(Event):
    """The run waits for the user's answer (`agent.steering.Steering.reply`)."""

    stored: ClassVar[bool] = False
    about: str  # clarify, approve or, in teach mode, decide
    question: str  # in one sentence
    options: list[str]  # possible replies; any text if empty
    claims: list[Claim] = field(default_factory=list)  # of the answer to approve
    suggested: str = ""  # the decider's action, for `decide`
    probabilities: dict[str, float] = field(default_factory=dict)  # the decider's, for `decide`


class Replied(Event):
    """The reply to `Asked`; ``by`` is ``person``, or ``rule`` if the user was not asked.

    ``waited`` is in seconds, not charged to the run; the wait for a decision is in `Decided`.
    """

    listed: ClassVar[str] = "replies"
    about: str
    question: str
    reply: str
    by: str
    waited: float = 0.0


class Steered(Event):
    """The user steered: pause, resume, finish, skip, add, override; ``detail`` is the added step or action.

    ``waited`` is the length of the pause that ``resume`` ended, in seconds, not charged to the run.
    """

    listed: ClassVar[str] = "steering"
    what: str
    detail: str = ""
    waited: float = 0.0


class NodeStarted(Event):
    """A node of the graph began; ``step`` is 0 outside research steps."""

    node: str
    step: int


class NodeFinished(Event):
    """A node ended after ``seconds``, with the tokens of its model calls."""

    listed: ClassVar[str] = "nodes"
    node: str
    step: int
    seconds: float
    evaluated: int = 0
    reused: int = 0
    generated: int = 0


class NodeProgress(Event):
    """What a node is doing, in a few words: a model call, fetching a page."""

    stored: ClassVar[bool] = False
    node: str
    step: int
    message: str


class Planned(Event):
    """A plan was made, or its remaining steps were revised (``revision`` ≥ 1)."""

    steps: list[PlanStep]
    revision: int
    origin: str  # planner, model, repaired, default, person


class StepStarted(Event):
    """A research step began."""

    step: int
    plan_step: PlanStep


class FirstLook(Event):
    """The first finding, from a search for the question itself before planning; the run continues."""

    answer: str  # a likely one; "" if there is none, and this is only what is nearest
    sentence: str  # the sentence or table row that contains it, or is nearest to one
    passage_id: int
    title: str  # of the document
    page: int | None
    probability: float  # that it answers the question


class Searched(Event):
    """A search was made; ``hits`` are in the order of recall."""

    step: int
    query: str
    strategy: str
    tool: str
    section: str
    hits: list[Candidate]
    rung: str = ""  # the correction it belongs to; "" in the first round


class Reranked(Event):
    """The hits were read and ordered by how likely they answer; ``reranker`` is the reader's name."""

    step: int
    reranker: str
    order: list[int]  # passage ids
    scores: list[float]


class Graded(Event):
    """The grades of the step's passages: ``grade`` for all together, ``grades`` for each."""

    step: int
    grade: str  # correct, ambiguous, incorrect
    grader: str
    passages: list[int]
    grades: list[str]
    probabilities: list[float]  # that the passage helps to answer


class Corrected(Event):
    """The passages were not good enough, so the search is corrected."""

    step: int
    rung: str  # `agent.state.RUNGS`
    detail: str  # the correction, in words
    queries: list[str]  # the searches that follow
    pages: list[dict[str, Any]] = field(default_factory=list)  # read for it: url, title, date, cached


class EvidenceKept(Event):
    """The evidence that the step kept: ``fresh`` is new, ``again`` was already in the evidence."""

    step: int
    fresh: list[Evidence]
    again: list[int]


class Noted(Event):
    """The step's finding."""

    note: Note
    origin: str


class Decided(Event):
    """The action taken, with the state as the decider saw it: as fields, text and numbers."""

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
    shadow: dict[str, Any] | None = None  # a second decider's `Decision`, recorded and not used
    label: str = ""  # ``override`` or ``teach`` if the user took it: a label for training
    waited: float = 0.0  # seconds spent on the user or a second decider, not charged to the run
    text: str = ""
    features: dict[str, float] = field(default_factory=dict)


class NotebookGrew(Event):
    """An entry was appended to the notebook, which begins every prompt."""

    entry: str


class ModelCalled(Event):
    """A model call ended."""

    purpose: str
    evaluated: int
    reused: int
    generated: int
    seconds: float


class AnswerText(Event):
    """A piece of the answer while it is written; `Answered` has the whole text."""

    stored: ClassVar[bool] = False
    text: str


class Answered(Event):
    """The answer with its checked sentences and cited passages; a later event replaces it."""

    answer: str  # with citation marks, and unsupported sentences flagged
    sentences: list[Claim]
    sources: list[Evidence]  # the cited passages
    share: float | None = 0.0  # of supported sentences, 0 to 1; None if stopped before an answer
    grounded: bool = False  # whether enough sentences are supported; never without evidence
    quotes: dict[str, str] = field(default_factory=dict)  # the closest sentences for each cited number
    missing: list[str] = field(default_factory=list)  # steps without a finding, or skipped by the user


class Contradicted(Event):
    """Two versions of a document disagree, and the later one is used."""

    listed: ClassVar[str] = "contradictions"
    step: int
    value: str
    number: int  # citation of the passage that is used
    date: str
    superseded: str
    superseded_number: int
    superseded_date: str


class Warned(Event):
    """A message for the user; the run continues."""

    message: str


class Heartbeat(Event):
    """Sent at least every second, with the current node and the seconds of work so far."""

    stored: ClassVar[bool] = False
    node: str
    step: int
    elapsed: float
    generated: int  # tokens generated so far in the whole run


class RunFinished(Event):
    """The last event of every run, unless it was killed."""

    # answered, not_found, stopped (before an answer), rejected, waiting (for the user), interrupted,
    # cancelled, failed
    status: str
    stopped_because: str
    seconds: float
    model_calls: int
    evaluated: int
    reused: int
    generated: int
