"""What each step of a run can be done by: one small interface a step, and what it returns.

The implementations are in `agent.steps`, beside the node that uses them; `agent.profiles` says which a
profile has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from agent.decisions.decider import Decider
from agent.retrieval.recall import Strategy
from agent.session import Session
from agent.state import AnswerSpan, Candidate, Claim, Evidence, Note, PlanStep, Route, Turn
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
        """The first plan; a single look-up of the whole question where none can be made.

        Args:
            session: The run's way to its model.
            request: The question.
            chosen: The way a person chose for it; None where the planner does.
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
            session: The run's way to its model.
            request: The question with what was found so far.
            entries: The notebook.
            missing: Questions without an answer.
            done: Steps of the run before these.
            most: Look-ups that may still be made.
        """
        ...


class Converser(Protocol):
    """Replies where nothing has to be looked up."""

    def reply(
        self, session: Session, question: str, turns: Sequence[Turn], tools: Sequence[tuple[str, str]]
    ) -> str:
        """The reply, never empty.

        Args:
            session: The run's way to its model.
            question: The message.
            turns: The conversation so far, oldest first.
            tools: Name and description of each collection.
        """
        ...


class Rewriter(Protocol):
    """Makes the query of a step."""

    def rewrite(
        self,
        session: Session,
        notebook: Sequence[str],
        step: PlanStep,
        question: str,
        notes: Sequence[Note],
    ) -> str:
        """One line, at most 300 characters, never empty.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first.
            step: The plan step.
            question: Its question with references resolved.
            notes: What was found so far.
        """
        ...


class Phraser(Protocol):
    """Words a search in several ways."""

    def phrase(self, session: Session, notebook: Sequence[str], query: str, keywords: str) -> list[str]:
        """One to four different searches of one line each, ``query`` itself first.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first.
            query: The step's query.
            keywords: What the plan would search for besides, or "".
        """
        ...

    def reword(
        self,
        session: Session,
        notebook: Sequence[str],
        query: str,
        tried: Sequence[str],
        passages: Sequence[Candidate],
    ) -> list[str]:
        """Other searches after those that did not bring enough; none that was ``tried``; there may be none.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first.
            query: The step's query.
            tried: The searches so far.
            passages: What they brought, best first.
        """
        ...


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
        """One for each of ``candidates``, in their order.

        Args:
            session: The run's way to its model.
            notebook: What the model reads first.
            question: The step's question, references resolved.
            candidates: Best first.
        """
        ...


@dataclass(frozen=True, slots=True)
class Distilled:
    """What is left of a passage, and how well its best part fits the question (0 to about 1)."""

    candidate: Candidate
    excerpt: str
    score: float


class Distiller(Protocol):
    """Picks what matters out of passages. Every part of an excerpt is copied from its chunk."""

    def distil(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        candidates: Sequence[Candidate],
    ) -> list[Distilled]:
        """One entry for each passage that is kept, in the order of ``candidates``."""
        ...


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


class Writer(Protocol):
    """Writes the answer with ``[n]`` marks; they are checked afterwards."""

    def write(
        self,
        session: Session,
        entries: Sequence[str],
        question: str,
        notes: Sequence[Note],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The answer; at least one note was found.

        Args:
            session: The run's way to its model.
            entries: The notebook, which the model reads first.
            question: The run's.
            notes: What the steps found.
            on_text: Takes the text as it comes.
            length: ``brief`` is a sentence or two, ``report`` is Markdown with a section for each finding.

        Raises:
            BudgetExhausted: before anything was written.
        """
        ...

    def answer(
        self,
        session: Session,
        question: str,
        evidence: Sequence[Evidence],
        found: Sequence[tuple[int, str]],
        on_text: Callable[[str], None],
        length: Length = "normal",
    ) -> str:
        """The answer from the evidence alone, read in one prompt; raises as `write`.

        ``found`` are passage numbers with the sentences that the plan's steps found there.
        """
        ...


class Verifier(Protocol):
    """Says of each sentence whether its passages support it."""

    @property
    def name(self) -> str:
        """Names the verifier in a record."""
        ...

    def verify(
        self,
        session: Session,
        questions: Sequence[str],
        claims: Sequence[Claim],
        evidence: Sequence[Evidence],
    ) -> list[Claim]:
        """The claims with verdict and reason filled.

        Args:
            session: To ask the model.
            questions: The run's, then its look-ups.
            claims: The answer's sentences.
            evidence: What they cite.
        """
        ...


@dataclass(frozen=True, slots=True)
class Cognition:
    """One implementation of each step.

    Attributes:
        instant: Answer a single look-up without the language model where the reader is sure of it.
        hard_filters: Search only where the plan says, as the seed does; otherwise the plan's tool and
            section are preferred, and a wrong guess hides nothing.
    """

    converser: Converser
    planner: Planner
    rewriter: Rewriter
    phraser: Phraser
    strategist: Strategist
    grader: Grader
    distiller: Distiller
    reflector: Reflector
    writer: Writer
    verifier: Verifier
    decider: Callable[[Session], Decider]
    instant: bool
    hard_filters: bool
