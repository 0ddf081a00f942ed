"""Freezing: curve, margin and temperature from held-out questions, and an honest look at what they bring.

The same held-out questions choose the margin and judge the policy. So the judgement is crossed: each
question is walked with a margin that was chosen on the other held-out questions, and its calibration error
is that of a curve which has not seen it. What is frozen in the end is fitted on all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from policy.decisions.returns import Examples, examples
from policy.decisions.trees import Floats, Tree, fold
from policy.judging.calibration import (
    Calibrated,
    Calibration,
    Margin,
    calibration,
    choose_margin,
    fit_curve,
    fit_temperature,
)
from policy.judging.walking import Outcomes, Scored, Walk, follow_each, outcomes, score, walk
from policy.serving.scorers import Rule, Scorer

FOLDS = 5


@dataclass(frozen=True, slots=True)
class Frozen:
    """A policy ready to be judged and written.

    Attributes:
        scorer: With its sufficiency calibrated.
        rule: With the margin and the temperature.
        margin: How the margin was chosen.
        crossed: Outcomes of the held-out questions, each with a margin chosen without it.
        fitted: The same with the rule, whose margin was chosen on all of them.
        calibration: Of the sufficiency, each question by a curve fitted without it.
        separation: Probability that a state with all the evidence is held for likelier to have it than one
            without (AUROC); NaN where all are alike.
    """

    scorer: Calibrated
    rule: Rule
    margin: Margin
    crossed: Outcomes
    fitted: Outcomes
    calibration: Calibration
    separation: float


def freeze(scorer: Scorer, validation: Sequence[Tree], cost: float) -> Frozen:
    """Fit what is frozen on the validation trees, which have qualities and were not trained on."""
    scored = score(validation, scorer)
    targets = examples(validation, cost)
    rows = _rows(scored, targets)
    raw, sufficient = scored.scores.sufficiency[rows], targets.sufficient
    margin = choose_margin(scored, cost)
    advantages = scored.scores.advantages[rows]
    temperature = fit_temperature(targets.states, advantages, targets.values, margin.margin)
    rule = Rule(margin.margin, temperature)
    calibrated = np.full(len(raw), np.nan)
    for part in range(FOLDS):
        inside = np.array([_part(question) == part for question in targets.questions], dtype=bool)
        if inside.any():
            calibrated[inside] = fit_curve(raw[~inside], sufficient[~inside])(raw[inside])
    return Frozen(
        Calibrated(scorer, fit_curve(raw, sufficient)),
        rule,
        margin,
        crossed(scored, cost),
        follow_each("learned", scored.trees, scored.deciders(rule)),
        calibration(calibrated, sufficient),
        separation(raw, sufficient),
    )


def crossed(scored: Scored, cost: float) -> Outcomes:
    """The outcome of each question with a margin that the others chose, in the order of the trees."""
    parts = [_part(tree.question) for tree in scored.trees]
    walks: dict[int, Walk] = {}
    for part in set(parts):
        inside = [at for at, other in enumerate(parts) if other == part]
        outside = [at for at, other in enumerate(parts) if other != part]
        margin = choose_margin(_some(scored, outside or inside), cost).margin
        held_out = _some(scored, inside)
        deciders = held_out.deciders(Rule(margin, 1.0))
        walks.update(zip(inside, map(walk, held_out.trees, deciders), strict=True))
    return outcomes("learned", [walks[at] for at in range(len(parts))])


def separation(raw: Floats, so: Floats) -> float:
    """AUROC of ``raw`` for ``so`` being at least a half: Mann and Whitney's statistic, ties by halves."""
    known = ~(np.isnan(raw) | np.isnan(so))
    positive, negative = raw[known & (so >= 0.5)], raw[known & (so < 0.5)]
    if not positive.size or not negative.size:
        return float("nan")
    order = np.sort(negative)
    below = np.searchsorted(order, positive, side="left")
    ties = np.searchsorted(order, positive, side="right") - below
    return float((below + ties / 2).mean() / negative.size)


def _some(scored: Scored, at: Sequence[int]) -> Scored:
    return Scored([scored.trees[i] for i in at], [scored.rows[i] for i in at], scored.scores)


def _part(question: str) -> int:
    # Salted: by their bare id all held-out questions lie in one fold of the split.
    return fold(f"{question}\nheld out", FOLDS)


def _rows(scored: Scored, targets: Examples) -> list[int]:
    """The row of each target's state in the scores."""
    by_state = {
        id(tree.nodes[path].seen): row
        for tree, rows in zip(scored.trees, scored.rows, strict=True)
        for path, row in rows.items()
    }
    return [by_state[id(state)] for state in targets.states]
