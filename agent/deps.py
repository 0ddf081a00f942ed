"""What a graph is built from: the profile's implementation of each step, and the parts that all steps use.

They are passed in; nothing here opens a model or a file. The implementations are in `agent.steps`, beside
the node that uses them; `agent.profiles` selects those of a profile. Parameters that recur: the session is
the run's access to its model, the notebook contains the entries that the model reads first, and the
question is the step's, with references resolved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from agent.decisions.decider import Decider
from agent.events import NotebookGrew
from agent.retrieval.recall import Recall, Strategy
from agent.session import Session
from agent.state import AnswerSpan, Candidate, Claim, Evidence, Grade, Route
from agent.steering import Steering
from agent.steps.plan_text import Plan, PlanRequest
from models.protocols import Reader
from models.structured import Origin
from traces.library import Library
from traces.records import Collection

if TYPE_CHECKING:
    from agent.web.gather import Web

Approve: TypeAlias = Literal["ask", "always", "never"]
"""What happens to an answer that is not grounded: the user is asked, or it is accepted, or withheld."""
Length: TypeAlias = Literal["brief", "normal", "report"]
Notebook: TypeAlias = Sequence[str]
Spans: TypeAlias = Mapping[int, Sequence[AnswerSpan]]
"""The reader's candidate answers by citation number, most probable first."""


class Planner(Protocol):
    """Turns a question into look-ups, and revises a plan."""

    def begin(self, session: Session, request: PlanRequest, chosen: Route | None = None) -> Plan:
        """The first plan; if none can be made, a single look-up of the whole question.

        ``chosen`` is the route that the user chose; None if the planner chooses.
        """

    def revise(
        self,
        session: Session,
        request: PlanRequest,
        entries: Notebook,
        missing: Sequence[str],
        done: int,
        most: int,
    ) -> Plan:
        """New look-ups for the missing answers; there may be none.

        ``request`` has the findings so far, ``missing`` the questions without an answer, ``done`` the
        number of earlier steps of the run, from the first of which references count, and ``most`` the
        maximum number of look-ups.
        """


@dataclass(frozen=True, slots=True)
class Finding:
    """The finding of a step."""

    found: bool  # whether the evidence answers the step's question
    sentence: str  # the sentence or table row with the answer
    answer: str  # the short answer, which later steps refer to
    cites: list[int]  # numbers of the passages that contain it
    origin: Origin | Literal["reader"]


@dataclass(frozen=True, slots=True)
class Cognition:
    """One implementation of each step."""

    planner: Planner
    rewrite: Callable[[Session, Notebook, str], str]
    """Turns a step's question into its query: one line, at most 300 characters, never empty."""
    phrase: Callable[[Session, Notebook, str], list[str]]
    """One to four different searches of one line each for a query, which comes first."""
    reword: Callable[[Session, Notebook, str, Sequence[str], Sequence[Candidate]], list[str]]
    """Other searches for a query than those tried, which found some passages; there may be none."""
    strategise: Callable[[Session, Notebook, str], Strategy]
    grader: str  # the name of the grader in records
    grade: Callable[[Session, Notebook, str, Sequence[Candidate]], list[tuple[Grade, float]]]
    """For each candidate a grade, and the probability, 0 to 1, that it helps to answer. The candidates are
    given best first."""
    distil: Callable[[Session, Notebook, str, Sequence[Candidate]], list[tuple[Candidate, str]]]
    """The candidates that are kept, in their order, each with its excerpt: its relevant parts, copied from
    the chunk."""
    reflect: Callable[[Session, Notebook, str, Sequence[Evidence], Spans], Finding]
    """The finding of a step from its evidence, which is never empty; the spans are the reader's."""
    verify: Callable[[Session, Sequence[str], Sequence[Claim], Sequence[Evidence]], list[Claim]]
    """The claims with verdict and reason; given the questions of the run, then its look-ups."""
    answer_tokens: int  # maximum length of an answer, and of each section of a report
    instant: bool  # whether a single look-up is answered without the language model if the reader is sure
    hard_filters: bool
    """Whether to search only where the plan says, as the seed does; otherwise the plan's tool and section
    are only preferred, so that a wrong guess hides nothing."""


@dataclass(frozen=True, slots=True)
class Deps:
    """Everything the nodes use."""

    session: Session  # the run's access to its model, with budget and events
    cognition: Cognition  # the profile's implementation of each step
    decider: Decider
    library: Library
    recall: Recall
    reader: Reader  # ranks and grades the passages, proposes answers, and checks claims
    collections: tuple[Collection, ...]  # to search; each is a tool of the plan
    web: Web | None = None  # searched if the library does not answer; None unless the user turned it on
    route: str = ""  # that the user chose; "" if the planner chooses
    length: Length = "normal"  # of the answer
    approve: Approve = "ask"
    interactive: bool = False  # whether the user can be asked
    shadow: Decider | None = None  # a second decider, whose decisions are only recorded
    search_limit: int = 24  # passages that a search returns
    evidence_limit: int = 4  # passages that a step keeps as evidence

    @property
    def tools(self) -> list[str]:
        """Names of the collections."""
        return [collection.name for collection in self.collections]

    @property
    def described(self) -> list[tuple[str, str]]:
        """The name and description of each collection, as the model sees them."""
        return [(c.name, c.contents) for c in self.collections]

    @property
    def steering(self) -> Steering:
        """The user's control of the run."""
        return self.session.steering

    def grown(self, notebook: Notebook, *entries: str) -> list[str]:
        """The notebook with further entries, each told as an event."""
        for entry in entries:
            self.session.emit(NotebookGrew(entry))
        return [*notebook, *entries]
