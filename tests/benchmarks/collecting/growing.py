"""Growing the tree of a question: every path of CONTINUE and REVISE that the budget allows.

No language model is asked. Each step is the run's own (`agent.graph`) over the real library;
`tests.benchmarks.collecting.unread` describes what differs. FINISH's quality at a state is that of the
evidence held there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.budget import Budget
from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.graph import research_step
from agent.retrieval.recall import Hit, Recall, Strategy
from agent.session import MemoReader
from agent.state import Action, RunState, new_state
from models.protocols import Embedder, Reader
from tests.benchmarks.collecting.unread import first_plan, graded, resolved, revised, unread
from tests.benchmarks.multihop import Question, RememberingEmbedder
from traces.library import Library
from traces.records import Scope
from traces.store import Store

PARTIAL = 0.5
"""The most that part of the gold evidence is worth."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A state of a grown tree.

    Attributes:
        path: First letters of the actions that led to it.
        quality: Of finishing here; see `evidence_quality`.
        detail: ``complete``, ``recall``, ``answer`` (whether the evidence contains it).
    """

    path: str
    state: PolicyState
    valid: tuple[Action, ...]
    quality: float
    detail: Mapping[str, float]


class _RememberingRecall(Recall):
    """`Recall` that makes no search twice: the paths of a tree make the same searches again."""

    def __init__(self, library: Library, embedder: Embedder) -> None:
        super().__init__(library, embedder)
        self._searched: dict[object, list[Hit]] = {}

    def search(
        self, query: str, strategy: Strategy, scopes: Sequence[Scope], limit: int, *, keywords: str = ""
    ) -> list[Hit]:
        key = (query, strategy, tuple(scopes), limit, keywords)
        if key not in self._searched:
            self._searched[key] = super().search(query, strategy, scopes, limit, keywords=keywords)
        return self._searched[key]

    def forget(self) -> None:
        self._searched = {}


class Grower:
    """Grows trees over one collection, made by `tests.benchmarks.multihop.pool`."""

    def __init__(
        self,
        store: Store,
        collection: str,
        embedder: RememberingEmbedder,
        reader: Reader,
        budget: Budget | None = None,
    ) -> None:
        library = Library(store)
        self._store = store
        self._budget = budget or Budget()
        self._recall = _RememberingRecall(library, embedder)
        self._reader = reader
        self._deps = unread(library, collection, self._recall, reader, self._budget)

    def grow(self, question: Question) -> list[Grown]:
        """The states of a question, the shorter paths first."""
        self._recall.forget()
        self._deps = replace(self._deps, reader=MemoReader(self._reader))
        grown: list[Grown] = []
        with self._store.connect():  # one opening for all its searches
            begun = RunState({**new_state(question.text), "plan": first_plan(question)})
            frontier = [("", self._step(begun, question))]
            while frontier:
                path, state = frontier.pop(0)
                node = self._seen(path, state, question)
                grown.append(node)
                if "CONTINUE" in node.valid:
                    taken = RunState({**state, "action": "CONTINUE"})
                    frontier.append((f"{path}C", self._step(taken, question)))
                if "REVISE" in node.valid:
                    taken = revised(RunState({**state, "action": "REVISE"}), question)
                    frontier.append((f"{path}R", self._step(taken, question)))
        return grown

    def _step(self, state: RunState, question: Question) -> RunState:
        return graded(research_step(resolved(state, question), self._deps))

    def _seen(self, path: str, state: RunState, question: Question) -> Grown:
        seen = policy_state(state, self._budget, self._budget.tokens)
        # As in a run, which stops by itself after steps that found nothing.
        spent = seen.barren >= self._budget.barren
        quality, detail = evidence_quality(state, question)
        return Grown(
            path,
            seen,
            ("FINISH",) if spent else valid_actions(seen),
            quality,
            detail,
        )


def evidence_quality(state: RunState, question: Question) -> tuple[float, dict[str, float]]:
    """What finishing is worth by gold evidence: 1 if all of it is held, else up to `PARTIAL`.

    A part counts as the share of gold passages held, or as 1 if the evidence contains the answer: the gold
    passages need not be the only way to it.
    """
    held = {int(e["document"]) for e in state["evidence"]}  # the pool names a paragraph by its position
    recall = len(question.gold & held) / len(question.gold) if question.gold else 0.0
    text = " ".join(f"{e['title']} {e['text']}" for e in state["evidence"]).casefold()
    answer = float(any(a.casefold() in text for a in question.answers if len(a) > 3))
    complete = float(bool(question.gold) and recall == 1.0)
    quality = 1.0 if complete else PARTIAL * max(recall, answer)
    return quality, {"complete": complete, "recall": recall, "answer": answer}
