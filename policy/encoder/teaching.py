"""The forest as a teacher: half of a target is what was so, half what the forest makes of it.

One outcome of a question says little of what an action is worth in a state like it; the forest, which has
averaged over many such states, says it with less noise (Hinton et al., 1503.02531). It teaches only on
questions that it was not fitted on.
"""

from __future__ import annotations

import dataclasses
from typing import Final

import numpy as np

from policy import forest
from policy.examples import Examples
from policy.splits import fold
from policy.trees import INDEX, default_action

FOLDS: Final = 4
SHARE: Final = 0.5  # of the forest in a target


def taught(examples: Examples, seed: int = 0) -> Examples:
    """``examples`` with advantages and sufficiency drawn halfway towards a forest's.

    What nobody knows stays unknown, and the default action's advantage stays 0.

    Args:
        examples: Of the training questions.
        seed: Of the forests.
    """
    advantages, sufficient = examples.advantages.copy(), examples.sufficient.copy()
    # Salted: the questions were split by their bare ids already.
    parts = np.array([fold(f"{question}\ntaught", FOLDS) for question in examples.questions])
    for part in range(FOLDS):
        inside, outside = np.flatnonzero(parts == part).tolist(), np.flatnonzero(parts != part).tolist()
        if not inside or not outside:
            continue
        states = [examples.states[i] for i in inside]
        told = forest.fit(examples.take(outside), seed=seed).score(states)
        said = np.where(np.isfinite(told.advantages), told.advantages, np.nan)
        advantages[inside] += SHARE * (said - advantages[inside])
        sufficient[inside] += SHARE * (np.clip(told.sufficiency, 0.0, 1.0) - sufficient[inside])
    default = [INDEX[default_action(state.valid)] for state in examples.states]
    advantages[np.arange(len(default)), default] = 0.0
    advantages[np.isnan(examples.advantages)] = np.nan
    return dataclasses.replace(examples, advantages=advantages, sufficient=sufficient)
