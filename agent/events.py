"""The typed events of a run. A screen, a transcript and a replay are folds over these and no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar

from agent.state import Candidate, Claim, Evidence, Note, PlanStep

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
    """The event that was stored; fields this version does not know are left out, new ones default.

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
    reranker: str  # what ranks the passages; "" in runs of before the reader that had none
    decider: str
    collections: list[str]
    session: str = ""


@dataclass(frozen=True, slots=True)
class Resumed(Event):
    """A run that was cut off goes on; ``node`` is the first that runs again."""

    run_id: str
    question: str
    node: str
    chat_model: str


@dataclass(frozen=True, slots=True)
class Routed(Event):
    """What kind of question it is: ``clarify``, ``direct``, ``single`` or ``deep``.

    ``question`` is the question of its own that a follow-up was turned into; ``asked`` the person's words.
    """

    route: str
    reason: str
    source: str  # rules, llm, person
    asked: str
    question: str


@dataclass(frozen=True, slots=True)
class Asked(Event):
    """The run waits for a person: `agent.steering.Steering.reply` lets it go on.

    Attributes:
        about: ``clarify``, ``approve`` or, in teach mode, ``decide``.
        question: What is asked, in one sentence.
        options: What may be replied; anything if empty.
        claims: The answer's sentences with their verdicts, where it is about an answer.
        suggested: The action the decider would take, where it is about a decision.
        probabilities: What the decider thinks of each action, likewise.
    """

    stored: ClassVar[bool] = False
    about: str
    question: str
    options: list[str]
    claims: list[Claim] = field(default_factory=list)
    suggested: str = ""
    probabilities: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Replied(Event):
    """What was replied to `Asked`; ``by`` is ``person``, or ``rule`` where nobody was asked.

    ``waited`` is in seconds, which are not the run's; those before a decision are in `Decided`.
    """

    about: str
    question: str
    reply: str
    by: str
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class Steered(Event):
    """A person stepped in: pause, resume, finish, skip, add, override; ``detail`` says with what.

    ``waited`` is how long the pause was that ``resume`` ends, in seconds, which are not the run's.
    """

    what: str
    detail: str = ""
    waited: float = 0.0


@dataclass(frozen=True, slots=True)
class NodeStarted(Event):
    """A node of the graph began; ``step`` is 0 outside research steps."""

    node: str
    step: int


@dataclass(frozen=True, slots=True)
class NodeFinished(Event):
    """A node ended after ``seconds``, having spent so many tokens on model calls."""

    node: str
    step: int
    seconds: float
    evaluated: int = 0
    reused: int = 0
    generated: int = 0


@dataclass(frozen=True, slots=True)
class NodeProgress(Event):
    """What a node is at, in a few words: a model call that began, a page that is fetched."""

    stored: ClassVar[bool] = False
    node: str
    step: int
    message: str


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
class FirstLook(Event):
    """What the question finds by itself before anything is planned; the run goes on thinking.

    Attributes:
        answer: Words that may answer it.
        sentence: The sentence or table row they stand in.
        passage_id: Of the passage.
        title: Of its document.
        page: Its page; None where it has none.
        probability: That the words answer the question.
    """

    answer: str
    sentence: str
    passage_id: int
    title: str
    page: int | None
    probability: float


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
    rung: str = ""  # the correction it belongs to; "" in the first round


@dataclass(frozen=True, slots=True)
class Reranked(Event):
    """The hits were read, and put in order by how likely they answer; ``reranker`` is the reader's name."""

    step: int
    reranker: str
    order: list[int]  # passage ids
    scores: list[float]


@dataclass(frozen=True, slots=True)
class Graded(Event):
    """How the step's passages were graded: ``grade`` of all together, then one for each passage."""

    step: int
    grade: str  # correct, ambiguous, incorrect
    grader: str
    passages: list[int]
    grades: list[str]
    probabilities: list[float]  # that the passage helps to answer


@dataclass(frozen=True, slots=True)
class Corrected(Event):
    """The passages were not enough, and something else is tried.

    Attributes:
        rung: ``reword``, ``widen``, ``collections`` or ``web``.
        detail: What is tried, in words.
        queries: The searches that follow.
        pages: Web pages that were read for it: url, title, date, and whether they were cached.
    """

    step: int
    rung: str
    detail: str
    queries: list[str]
    pages: list[dict[str, Any]] = field(default_factory=list)


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
    """CONTINUE, REVISE or FINISH, with the state as the decider saw it.

    Attributes:
        shadow: What a second source would have done, recorded and not used: action, probabilities,
            source, latency_ms, justification, behaviour_probability. None if there was none to ask.
        label: ``override`` or ``teach`` where a person took the decision and it is kept as their label.
        waited: Seconds for a person or a shadow, which are not the run's.
        text: The state as a decider that reads is shown it.
        features: The state as numbers.
    """

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
    shadow: dict[str, Any] | None = None
    label: str = ""
    waited: float = 0.0
    text: str = ""
    features: dict[str, float] = field(default_factory=dict)


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
class Answered(Event):
    """The answer with its checked sentences and the passages they cite; a later one replaces it.

    Attributes:
        answer: As a person reads it, with marks, and with what is not supported flagged.
        sentences: Its claims with their verdicts.
        sources: The cited passages.
        share: Of the sentences that are supported, 0 to 1; None where the run was stopped before an answer.
        grounded: Whether that is enough to stand on; never without evidence.
        quotes: For each cited number the sentence of the passage that is nearest to the answer in words.
        missing: What the answer says to be missing: steps that found nothing, or that the person skipped.
    """

    answer: str
    sentences: list[Claim]
    sources: list[Evidence]
    share: float | None = 0.0
    grounded: bool = False
    quotes: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Contradicted(Event):
    """Two sources disagree, and the later one is followed."""

    step: int
    value: str
    number: int  # citation of the passage that is followed
    date: str
    superseded: str
    superseded_number: int
    superseded_date: str


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

    # answered, not_found, stopped (before an answer), rejected, waiting (for a person), interrupted,
    # cancelled, failed
    status: str
    stopped_because: str
    seconds: float
    model_calls: int
    evaluated: int
    reused: int
    generated: int
