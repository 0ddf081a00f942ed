"""Growing the tree of a question: every path of CONTINUE and REVISE that the budget allows.

No language model is asked. Each step is the run's own (`agent.stepping`), over the real library; what is
different is told in
`tests.benchmarks.collecting.unread`. FINISH's quality at every state is that of the evidence held there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent.budget import Budget
from agent.decisions.decider import PolicyState, policy_state, valid_actions
from agent.decisions.features import features
from agent.decisions.state_text import state_text
from agent.retrieval.memo_reader import MemoReader
from agent.state import Action, RunState, new_state
from agent.stepping import research_step
from models.protocols import Reader
from tests.benchmarks.collecting.remembering import RememberingRecall
from tests.benchmarks.collecting.unread import first_plan, graded, resolved, revised, unread
from tests.benchmarks.multihop import Question, RememberingEmbedder
from traces.library import Library
from traces.store import Store

PARTIAL = 0.5
"""What some of the gold evidence is worth, at most: half of the whole, as the policy's set-up has it."""


@dataclass(frozen=True, slots=True)
class Grown:
    """A state of a grown tree.

    Attributes:
        path: First letters of the actions that led to it.
        state: What a decider sees, with its text and its features.
        valid: What may be done.
        quality: Of finishing here; see `evidence_quality`.
        detail: ``complete``, ``recall``, ``answer`` (it stands in the evidence).
    """

    path: str
    state: PolicyState
    text: str
    features: Mapping[str, float]
    valid: tuple[Action, ...]
    quality: float
    detail: Mapping[str, float]


class Grower:
    """Grows trees over one collection.

    Args:
        store: With the library.
        collection: Where to search; made by `tests.benchmarks.multihop.pool`.
        embedder: The library's.
        reader: The funnel's second stage.
        budget: What a run may spend.
    """

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
        self._recall = RememberingRecall(library, embedder)
        self._reader = MemoReader(reader)
        self._deps = unread(library, collection, self._recall, self._reader, self._budget)

    def grow(self, question: Question) -> list[Grown]:
        """The states of a question, the shorter paths first."""
        self._recall.forget()
        self._reader.forget()
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
        # As the run does: it stops by itself where two steps in a row brought nothing.
        spent = seen.barren >= self._budget.barren
        quality, detail = evidence_quality(state, question)
        return Grown(
            path,
            seen,
            state_text(seen),
            features(seen),
            ("FINISH",) if spent else valid_actions(seen),
            quality,
            detail,
        )


def evidence_quality(state: RunState, question: Question) -> tuple[float, dict[str, float]]:
    """What finishing is worth by gold evidence: 1 if all of it is held, else up to `PARTIAL` for a part.

    A part is the share of the gold passages held, or the answer standing in the evidence, whichever is
    more: a gold set need not be the only way to an answer.
    """
    held = {int(e["document"]) for e in state["evidence"]}  # the pool calls a paragraph by its position
    recall = len(question.gold & held) / len(question.gold) if question.gold else 0.0
    text = " ".join(f"{e['title']} {e['text']}" for e in state["evidence"]).casefold()
    answer = float(any(a.casefold() in text for a in question.answers if len(a) > 3))
    complete = float(bool(question.gold) and recall == 1.0)
    quality = 1.0 if complete else PARTIAL * max(recall, answer)
    return quality, {"complete": complete, "recall": recall, "answer": answer}
