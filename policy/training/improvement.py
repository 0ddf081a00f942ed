"""Policy improvement: targets that count on the learned policy's own continuation, not on hindsight.

The forest, being quick, is the policy that improves. It decides on each question as fitted without that
question, so that nothing it continues with was learned from the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent.state import Action
from policy.decisions.returns import COST, Continuation, Examples, default_continuation, examples, following
from policy.decisions.trees import Tree, fold
from policy.serving.scorers import Rule, Scores
from policy.training import forest

FOLDS = 5
ROUNDS = 2
"""Improvements of the continuation. A third changed the value of the policy by less than its interval."""


def improved(
    trees: Sequence[Tree],
    cost: float = COST,
    *,
    seed: int = 0,
    rounds: int = ROUNDS,
    on_progress: Callable[[int, int], None] | None = None,
) -> Examples:
    """Examples whose returns count on a learned continuation.

    Args:
        trees: To learn from.
        cost: Of a step.
        seed: Of the forests.
        rounds: How often the continuation is learned anew; 0 leaves it at the default schedule.
        on_progress: Told how many forests are fitted, and how many there will be.
    """
    continuation: Continuation = default_continuation
    for number in range(rounds):
        decided: dict[tuple[str, str], Action] = {}
        for part in range(FOLDS):
            inside = [tree for tree in trees if fold(tree.question, FOLDS) != part]
            outside = [tree for tree in trees if fold(tree.question, FOLDS) == part]
            if inside and outside:
                scorer = forest.fit(examples(inside, cost, continuation), seed=seed)
                decided.update(_decisions(outside, scorer))
            if on_progress:
                on_progress(number * FOLDS + part + 1, rounds * FOLDS)
        continuation = following(decided)
    return examples(trees, cost, continuation)


def _decisions(trees: Sequence[Tree], scorer: forest.Forest) -> dict[tuple[str, str], Action]:
    keys = [(tree.question, path) for tree in trees for path in tree.nodes]
    states = [node.seen for tree in trees for node in tree.nodes.values()]
    scores: Scores = scorer.score(states)
    rule = Rule(margin=0.0, temperature=1.0)
    return dict(zip(keys, rule.actions(states, scores), strict=True))
