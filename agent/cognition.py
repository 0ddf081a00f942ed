"""What each step of a run can be done by: one small interface a step, and what it returns.

The implementations are in `agent.steps`, beside the node that uses them; `agent.profiles` says which a
profile has. Where one takes a session, a notebook and a question, these are the run's access to its
model, the entries that the model reads first, and the step's question with references resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from agent.decisions.decider import Decider
from agent.retrieval.recall import Strategy
from agent.session import Session
from agent.state import AnswerSpan, Candidate, Claim, Evidence, PlanStep, Route
from agent.steps.lookups import Kind, PlanRequest
from models.structured import Origin

Grade: TypeAlias = Literal["correct", "ambiguous", "incorrect"]
Length: TypeAlias = Literal["brief", "normal", "report"]
Spans: TypeAlias = Mapping[int, Sequence[AnswerSpan]]
"""The reader's candidate answers by citation number, most probable first."""

PlannedBy: TypeAlias = Literal["planner"] | Origin
"""Who made a plan: the taught planner, the answering model (repaired or not), or the default."""


@dataclass(frozen=True, slots=True)
class Planned:
    """What a planner made of a request.

    Attributes:
        kind: ``search``, ``talk`` where no documents are needed, ``ask`` where it asks back.
        question: The question complete in itself; for ``ask`` the question to ask back.
        steps: The look-ups in order.
        origin: Who made it.
    """

    kind: Kind
    question: str
    steps: list[PlanStep]
    origin: PlannedBy


class Planner(Protocol):
    """Turns a question into look-ups, and revises a plan."""

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> Planned:
        """The first plan; a single look-up of the whole question if none can be made.

        ``chosen`` is the user's choice of a route; None if the planner chooses.
        """
        ...

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Sequence[str],
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> Planned:
        """Look-ups for what is missing that were not asked before; there may be none.

        Their references count from the first step of the run.

        Args:
            session: The run's access to its model.
            request: The question with what was found so far.
            entries: The notebook.
            missing: Questions without an answer.
            done: Number of steps of the run before these.
            most: Number of look-ups that may still be made.
        """
        ...


Rewrite: TypeAlias = Callable[[Session, Sequence[str], str], str]
"""Makes the query of a step from its question: one line, at most 300 characters, never empty."""


class Phraser(Protocol):
    """Words a search in several ways."""

    def phrase(self, session: Session, notebook: Sequence[str], query: str) -> list[str]:
        """One to four different searches of one line each, ``query`` itself first."""
        ...

    def reword(
        self,
        session: Session,
        notebook: Sequence[str],
        query: str,
        tried: Sequence[str],
        passages: Sequence[Candidate],
    ) -> list[str]:
        """Other searches after ``tried`` ones, which brought ``passages``; there may be none."""
        ...


@dataclass(frozen=True, slots=True)
class Chosen:
    """A strategy and the reason for it."""

    strategy: Strategy
    reason: str


Strategise: TypeAlias = Callable[[Session, Sequence[str], str], Chosen]
"""Picks how a query is searched."""


@dataclass(frozen=True, slots=True)
class PassageGrade:
    """The grade of one passage, and the probability, 0 to 1, that it helps to answer."""

    grade: Grade
    probability: float


class Grader(Protocol):
    """Grades passages by how far they help to answer a question."""

    @property
    def name(self) -> str:
        """Names the grader in a record."""
        ...

    def grade(
        self, session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
    ) -> list[PassageGrade]:
        """One for each of ``candidates``, in their order; they come best first."""
        ...


@dataclass(frozen=True, slots=True)
class Distilled:
    """What is left of a passage, and how well its best part fits the question (0 to about 1)."""

    candidate: Candidate
    excerpt: str
    score: float


Distil: TypeAlias = Callable[[Session, Sequence[str], str, Sequence[Candidate]], list[Distilled]]
"""Picks what matters out of passages: one entry for each that is kept, in their order.

Every part of an excerpt is copied from its chunk.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a step found.

    Attributes:
        found: Whether the evidence answers the step's question.
        sentence: The sentence or table row that says it.
        answer: The short form that later steps refer to.
        cites: Numbers of the passages that contain it.
        origin: Who said so: the model, a repair, the default, or the reader.
    """

    found: bool
    sentence: str
    answer: str
    cites: list[int]
    origin: Origin | Literal["reader"]


Reflect: TypeAlias = Callable[[Session, Sequence[str], str, Sequence[Evidence], Spans], Finding]
"""Says what a step's evidence, which is never empty, shows; the spans are what the reader proposes."""


class Verifier(Protocol):
    """Says of each sentence whether its passages support it."""

    def verify(
        self,
        session: Session,
        questions: Sequence[str],
        claims: Sequence[Claim],
        evidence: Sequence[Evidence],
    ) -> list[Claim]:
        """The claims with verdict and reason; ``questions`` are the run's, then its look-ups."""
        ...


@dataclass(frozen=True, slots=True)
class Cognition:
    """One implementation of each step.

    Attributes:
        answer_tokens: Upper bound of an answer, and of each section of a report.
        instant: Answer a single look-up without the language model if the reader is sure of it.
        hard_filters: Search only where the plan says, as the seed does; otherwise the plan's tool and
            section are preferred, and a wrong guess hides nothing.
    """

    planner: Planner
    rewrite: Rewrite
    phraser: Phraser
    strategise: Strategise
    grader: Grader
    distil: Distil
    reflect: Reflect
    verifier: Verifier
    decider: Callable[[Session], Decider]
    answer_tokens: int
    instant: bool
    hard_filters: bool
