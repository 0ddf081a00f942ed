"""The forest as a teacher: half of a target is what was so, half what the forest makes of it.

One outcome of a question says little of whether the evidence suffices in a state like it; the forest, which
has averaged over many such states, says it with less noise (Hinton et al., 1503.02531). It teaches only on
questions that it was not fitted on.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from policy import forest
from policy.examples import Examples
from policy.splits import fold

FOLDS: Final = 4
SHARE: Final = 0.5  # of the forest in a target


def taught(examples: Examples, seed: int = 0) -> Examples:
    """``examples`` with a sufficiency drawn halfway towards a forest's; what nobody knows stays unknown.

    Args:
        examples: Of the training questions.
        seed: Of the forests.
    """
    sufficient = examples.sufficient.copy()
    # Salted: the questions were split by their bare ids already.
    parts = np.array([fold(f"{question}\ntaught", FOLDS) for question in examples.questions])
    for part in range(FOLDS):
        inside, outside = np.flatnonzero(parts == part).tolist(), np.flatnonzero(parts != part).tolist()
        if not inside or not outside:
            continue
        forest_scores = forest.fit(examples.take(outside), seed=seed).score(
            [examples.states[i] for i in inside]
        )
        sufficient[inside] += SHARE * (np.clip(forest_scores.sufficiency, 0.0, 1.0) - sufficient[inside])
    return dataclasses.replace(examples, sufficient=sufficient)
