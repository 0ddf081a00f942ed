"""Examples to learn from: states with what each action is worth there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.trees import Floats, Seen


@dataclass(frozen=True, slots=True)
class Examples:
    """n states with their targets.

    Attributes:
        states: What a decider sees.
        questions: Id of each state's question, for splits.
        datasets: Name of each state's data set.
        values: Shape (n, 3), columns as `policy.trees.INDEX`: return of each action, that is, the quality
            of where it leads less the cost of the steps from here on; NaN where the action is not valid
            or nobody knows. FINISH's own has no further cost.
        advantages: Shape (n, 3): ``values`` less that of the default action; NaN likewise.
        sufficient: Shape (n,): 1 if finishing here is good enough, that is, has all the evidence, else 0;
            the quality itself where only that is known.
        weights: Shape (n,): how much each state counts.
    """

    states: Sequence[Seen]
    questions: Sequence[str]
    datasets: Sequence[str]
    values: Floats
    advantages: Floats
    sufficient: Floats
    weights: Floats

    def __len__(self) -> int:
        return len(self.states)

    def take(self, at: Sequence[int]) -> Examples:
        """Some of them, by index."""
        rows = np.asarray(at, dtype=np.int64)
        return Examples(
            [self.states[i] for i in at],
            [self.questions[i] for i in at],
            [self.datasets[i] for i in at],
            self.values[rows],
            self.advantages[rows],
            self.sufficient[rows],
            self.weights[rows],
        )
