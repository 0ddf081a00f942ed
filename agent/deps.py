"""The parts a graph is built from. They are handed in; nothing here opens a model or a file."""

from __future__ import annotations

from dataclasses import dataclass

from agent.decisions import Decider
from agent.profiles import Cognition
from agent.retrieval.recall import Recall
from agent.session import Session
from models.protocols import Reranker
from traces.library import Library
from traces.records import Collection


@dataclass(frozen=True, slots=True)
class Deps:
    """Everything the nodes use.

    Attributes:
        session: The run's way to its model, with budget and events.
        cognition: The profile's implementation of each cognitive step.
        decider: Who decides to continue, revise or finish.
        library: Stored passages.
        recall: The funnel's first stage.
        reranker: Its second; None where no weights are on disk, and the fused order stands.
        collections: What the question may use; each is a tool of the plan.
        recalled: Passages a search brings.
        kept: Passages a step keeps as evidence.
    """

    session: Session
    cognition: Cognition
    decider: Decider
    library: Library
    recall: Recall
    reranker: Reranker | None
    collections: tuple[Collection, ...]
    recalled: int = 10
    kept: int = 5

    @property
    def tools(self) -> list[str]:
        """Names of the collections."""
        return [collection.name for collection in self.collections]
