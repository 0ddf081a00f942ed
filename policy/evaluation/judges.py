"""The language model as judge of states: the baseline that a learned policy replaces.

A state is shown to the model as text, with the question that a run asks it, and the probabilities of its
answer's first token are kept. A judge takes seconds a state, so each judgement is appended to a file at
once, and none is asked for twice.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from agent.prompts import SYSTEM
from agent.prompts import judge as instruction
from agent.state import ACTIONS, Action
from models.protocols import Chat, Message
from policy.evaluation.walking import Decide, Outcomes, follow_each
from policy.lines import KeyedLines
from policy.returns import COST
from policy.trees import Node, Tree

_LETTERS = ("A", "B", "C")  # of ACTIONS, in the order of the instruction
_LEAST = 1e-12  # a probability of 0 has a logarithm too


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a model says of a state.

    Attributes:
        question: Id of the question.
        path: Of the state.
        state: Digest of the text that was shown.
        model: Its name.
        probabilities: Of CONTINUE, REVISE, FINISH, valid or not; they sum to one.
        milliseconds: How long it took.
    """

    question: str
    path: str
    state: str
    model: str
    probabilities: tuple[float, float, float]
    milliseconds: float

    def __post_init__(self) -> None:
        if abs(sum(self.probabilities) - 1) > 1e-3:
            raise ValueError("its probabilities do not sum to one")

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one judgement of."""
        return self.model, self.question, self.path, self.state


def digest(node: Node) -> str:
    """Of the text of a state: a judgement counts for this text only."""
    return hashlib.sha256(node.seen.text.encode()).hexdigest()[:16]


class Judgements(KeyedLines[Judgement]):
    """The judgements in ``file``, of any models, which grows with each state that is judged."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, Judgement, lambda judged: judged.key)

    def of(self, model: str) -> list[Judgement]:
        """Those of one model."""
        return [judged for judged in self.all() if judged.model == model]

    def ask(
        self, trees: Sequence[Tree], chat: Chat, told: Callable[[Judgement], None] = lambda _judged: None
    ) -> int:
        """Have a model judge the states of ``trees`` that it could ever reach.

        These are the ones on its way if it never finished: however eager to finish it is made, it stops
        somewhere on this way, since that does not change which of CONTINUE and REVISE it prefers. Question
        by question, so that an interrupted run has whole questions; what is known already is not asked
        again.

        Args:
            trees: The questions.
            chat: The model.
            told: Called with each new judgement, once it is on disk.

        Returns:
            How many states were judged now.

        Raises:
            ModelError: the model fails; what was judged before is kept.
        """
        before = len(self)
        for tree in trees:
            node: Node | None = tree.root
            while node is not None and node.valid != ("FINISH",):
                judged = self.get((chat.name, tree.question, node.path, digest(node)))
                if judged is None and len(node.valid) > 1:
                    judged = _judge(tree, node, chat)
                    self.add(judged)
                    told(judged)
                node = _further(tree, node, judged)
        return len(self) - before


def _further(tree: Tree, node: Node, judged: Judgement | None) -> Node | None:
    """Where the model would go if it could not finish."""
    others = [action for action in node.valid if action != "FINISH"]
    if judged is None:
        return tree.child(node, others[0])
    said = dict(zip(ACTIONS, judged.probabilities, strict=True))
    return tree.child(node, max(others, key=lambda action: said[action]))


def _judge(tree: Tree, node: Node, chat: Chat) -> Judgement:
    messages = [Message("system", SYSTEM), Message("user", f"{node.seen.text}\n\n{instruction()}")]
    began = time.perf_counter()
    first, second, third = chat.choose(messages, _LETTERS).probabilities
    latency = (time.perf_counter() - began) * 1000
    return Judgement(
        tree.question, node.path, digest(node), chat.name, (first, second, third), round(latency, 1)
    )


class Judge:
    """One model's judgements, as policies.

    Args:
        judgements: Of any models; only those of ``model`` count.
        model: Its name.
    """

    def __init__(self, judgements: Iterable[Judgement], model: str) -> None:
        self.name = model
        own = [j for j in judgements if j.model == model]
        self._logits: Mapping[tuple[str, str, str], tuple[float, ...]] = {
            (j.question, j.path, j.state): tuple(math.log(max(p, _LEAST)) for p in j.probabilities)
            for j in own
        }
        self._questions = {j.question for j in own}
        self.milliseconds = float(np.median([j.milliseconds for j in own])) if own else math.nan

    def decide(self, tree: Tree, bias: float = 0.0) -> Decide:
        """The most probable valid action, FINISH's log-odds raised by ``bias``."""

        asked = tree.question in self._questions

        def act(node: Node) -> Action | None:
            if asked and len(node.valid) == 1:
                return node.valid[0]
            logits = self._logits.get((tree.question, node.path, digest(node)))
            if logits is None:
                return None
            raised = dict(zip(ACTIONS, logits, strict=True))
            raised["FINISH"] += bias
            return max(node.valid, key=lambda action: raised[action])

        return act

    def outcomes(self, trees: Sequence[Tree], bias: float = 0.0, cost: float = COST) -> Outcomes:
        """Walk the trees; the outcome of a question is not known if a state on its way was not judged."""
        name = f"judge {self.name}" + (f", FINISH {bias:+.2f}" if bias else "")
        return follow_each(name, trees, [self.decide(tree, bias) for tree in trees], cost)

    def biases(self, trees: Sequence[Tree], number: int = 15) -> list[float]:
        """Biases that sweep it from hardly ever finishing to nearly always: quantiles over its states."""
        leads = np.array(list(self._leads(trees)))
        if not leads.size:
            return []
        return [float(-q) for q in np.quantile(leads, np.linspace(0.98, 0.02, number))]

    def _leads(self, trees: Sequence[Tree]) -> Iterator[float]:
        for tree in trees:
            for node in tree.nodes.values():
                logits = self._logits.get((tree.question, node.path, digest(node)))
                if logits is None or "FINISH" not in node.valid or len(node.valid) == 1:
                    continue
                of = dict(zip(ACTIONS, logits, strict=True))
                yield of["FINISH"] - max(of[action] for action in node.valid if action != "FINISH")
