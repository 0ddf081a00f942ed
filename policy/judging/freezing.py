"""Freezing: curve, margin and temperature from held-out questions, with an unbiased look at their effect.

The same held-out questions choose the margin and judge the policy, so the judgement is cross-fitted: each
question is walked with a margin chosen on the other held-out questions, and its calibration error is that
of a curve fitted without it. What is frozen in the end is fitted on all of them.
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
        scorer: The scorer with calibrated sufficiency.
        rule: With the margin and the temperature.
        margin: How the margin was chosen.
        crossed: Outcomes of the held-out questions, each with a margin chosen without it.
        fitted: The same with the rule, whose margin was chosen on all of them.
        calibration: Of the sufficiency, each question with a curve fitted without it.
        separation: Probability that a state with all the evidence gets a higher sufficiency than one
            without (AUROC); NaN if all states are alike.
    """

    scorer: Calibrated
    rule: Rule
    margin: Margin
    crossed: Outcomes
    fitted: Outcomes
    calibration: Calibration
    separation: float


def freeze(scorer: Scorer, validation: Sequence[Tree], cost: float) -> Frozen:
    """Freeze ``scorer`` on the validation trees, which have qualities and were not trained on."""
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
        inside = np.array([_fold_of(question) == part for question in targets.questions], dtype=bool)
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
    """The outcome of each question, in tree order, with a margin chosen on the other folds."""
    parts = [_fold_of(tree.question) for tree in scored.trees]
    walks: dict[int, Walk] = {}
    for part in set(parts):
        inside = [index for index, other in enumerate(parts) if other == part]
        outside = [index for index, other in enumerate(parts) if other != part]
        margin = choose_margin(_subset(scored, outside or inside), cost).margin
        held_out = _subset(scored, inside)
        deciders = held_out.deciders(Rule(margin, 1.0))
        walks.update(zip(inside, map(walk, held_out.trees, deciders), strict=True))
    return outcomes("learned", [walks[index] for index in range(len(parts))])


def separation(raw: Floats, targets: Floats) -> float:
    """AUROC of ``raw`` for a target of at least one half: the Mann-Whitney statistic, ties count half."""
    known = ~(np.isnan(raw) | np.isnan(targets))
    positive, negative = raw[known & (targets >= 0.5)], raw[known & (targets < 0.5)]
    if not positive.size or not negative.size:
        return float("nan")
    order = np.sort(negative)
    below = np.searchsorted(order, positive, side="left")
    ties = np.searchsorted(order, positive, side="right") - below
    return float((below + ties / 2).mean() / negative.size)


def _subset(scored: Scored, indices: Sequence[int]) -> Scored:
    return Scored([scored.trees[i] for i in indices], [scored.rows[i] for i in indices], scored.scores)


def _fold_of(question: str) -> int:
    # Salted: by their bare ids all held-out questions are in one fold of the split.
    return fold(f"{question}\nheld out", FOLDS)


def _rows(scored: Scored, targets: Examples) -> list[int]:
    """The row of each target's state in the scores."""
    by_state = {
        id(tree.nodes[path].seen): row
        for tree, rows in zip(scored.trees, scored.rows, strict=True)
        for path, row in rows.items()
    }
    return [by_state[id(state)] for state in targets.states]
