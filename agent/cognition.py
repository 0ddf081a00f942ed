"""The cognitive steps of a run: a small interface for each step, and the type of its result.

The implementations are in `agent.steps`, beside the node that uses them; `agent.profiles` selects those of
a profile. Parameters that recur: the session is the run's access to its model, the notebook contains the
entries that the model reads first, and the question is the step's, with references resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

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
"""Who made a plan: the taught planner, the language model (repaired or not), or the default."""


@dataclass(frozen=True, slots=True)
class PlanResult:
    """The result of planning."""

    kind: Kind  # ``search``; ``talk`` if no documents are needed; ``ask`` to ask the user back
    question: str  # the self-contained question; for ``ask`` the question to the user
    steps: list[PlanStep]  # the look-ups in order
    origin: PlannedBy


class Planner(Protocol):
    """Turns a question into look-ups, and revises a plan."""

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> PlanResult:
        """The first plan; if none can be made, a single look-up of the whole question.

        ``chosen`` is the route that the user chose; None if the planner chooses.
        """

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Sequence[str],
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> PlanResult:
        """New look-ups for the missing answers; there may be none.

        ``request`` has the findings so far, ``entries`` is the notebook, ``missing`` the questions without
        an answer, ``done`` the number of earlier steps of the run, from the first of which references
        count, and ``most`` the maximum number of look-ups.
        """


Rewrite: TypeAlias = Callable[[Session, Sequence[str], str], str]
"""Turns a step's question into its query: one line, at most 300 characters, never empty."""

Strategise: TypeAlias = Callable[[Session, Sequence[str], str], Strategy]
"""Picks the strategy for a query."""


class Phraser(Protocol):
    """Words a search in several ways."""

    def phrase(self, session: Session, notebook: Sequence[str], query: str) -> list[str]:
        """One to four different searches of one line each, ``query`` itself first."""

    def reword(
        self,
        session: Session,
        notebook: Sequence[str],
        query: str,
        tried: Sequence[str],
        passages: Sequence[Candidate],
    ) -> list[str]:
        """Other searches than the ``tried`` ones, which found ``passages``; there may be none."""


@dataclass(frozen=True, slots=True)
class PassageGrade:
    """The grade of one passage, and the probability, 0 to 1, that it helps to answer."""

    grade: Grade
    probability: float


class Grader(Protocol):
    """Grades passages by how far they help to answer a question."""

    @property
    def name(self) -> str:
        """The name of the grader in records."""

    def grade(
        self, session: Session, notebook: Sequence[str], question: str, candidates: Sequence[Candidate]
    ) -> list[PassageGrade]:
        """A grade for each of ``candidates``, in their order, which is best first."""


@dataclass(frozen=True, slots=True)
class Distilled:
    """The excerpt of a passage, and how well its best part fits the question (0 to about 1)."""

    candidate: Candidate
    excerpt: str
    score: float


Distil: TypeAlias = Callable[[Session, Sequence[str], str, Sequence[Candidate]], list[Distilled]]
"""Extracts the relevant parts of passages: one entry for each passage that is kept, in their order.

Every part of an excerpt is copied from its chunk.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a step."""

    found: bool  # whether the evidence answers the step's question
    sentence: str  # the sentence or table row with the answer
    answer: str  # the short answer, which later steps refer to
    cites: list[int]  # numbers of the passages that contain it
    origin: Origin | Literal["reader"]


Reflect: TypeAlias = Callable[[Session, Sequence[str], str, Sequence[Evidence], Spans], Finding]
"""States the finding of a step from its evidence, which is never empty; the reader proposes the spans."""


class Verifier(Protocol):
    """Judges whether passages support each sentence."""

    def verify(
        self,
        session: Session,
        questions: Sequence[str],
        claims: Sequence[Claim],
        evidence: Sequence[Evidence],
    ) -> list[Claim]:
        """The claims with verdict and reason; ``questions`` are the run's, then its look-ups."""


@dataclass(frozen=True, slots=True)
class Cognition:
    """One implementation of each step."""

    planner: Planner
    rewrite: Rewrite
    phraser: Phraser
    strategise: Strategise
    grader: Grader
    distil: Distil
    reflect: Reflect
    verifier: Verifier
    answer_tokens: int  # maximum length of an answer, and of each section of a report
    instant: bool  # whether a single look-up is answered without the language model if the reader is sure
    hard_filters: bool
    """Whether to search only where the plan says, as the seed does; otherwise the plan's tool and section
    are only preferred, so that a wrong guess hides nothing."""
