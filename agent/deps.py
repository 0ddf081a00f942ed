"""The parts that a graph is built from. They are passed in; nothing here opens a model or a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agent.cognition import Cognition, Length
from agent.decisions.decider import Decider
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.steering import Steering
from models.protocols import Reader
from traces.library import Library
from traces.records import Collection

if TYPE_CHECKING:
    from agent.web.gather import Web

Approve = Literal["ask", "always", "never"]
"""What happens to an answer that is not grounded: the user is asked, or it is accepted, or withheld."""


@dataclass(frozen=True, slots=True)
class Deps:
    """Everything the nodes use."""

    session: Session  # the run's access to its model, with budget and events
    cognition: Cognition  # the profile's implementation of each cognitive step
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
