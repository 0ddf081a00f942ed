"""The whole protocol: every policy and every baseline, on each data set and on all together.

Whatever is chosen (schedules, thresholds) is chosen on training or validation questions; the test questions
are walked once, at the end. One exception flatters a baseline: the judge's best threshold is picked in
hindsight.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from policy.evaluation.baselines import baselines, standing
from policy.evaluation.bootstrap import RESAMPLES, SEED
from policy.evaluation.judges import Judge
from policy.evaluation.oracle import complete_oracle
from policy.evaluation.rows import Candidate, Row, candidate_row, judged, row
from policy.evaluation.schedules import fixed
from policy.evaluation.walking import (
    Outcomes,
    Scored,
    follow,
    follow_each,
    is_whole,
    last_state,
    score,
    sufficient,
)
from policy.returns import COST
from policy.rule import Rule
from policy.scorers import Scorer
from policy.trees import Floats, Tree

POOLED = "all"
_FIXED = 5
_SWEEP = 21
_TIMED = 50

Policies: TypeAlias = Mapping[str, tuple[Scorer, Rule]]
"""Trained policies by name, each with its frozen rule."""

Fit: TypeAlias = Callable[[Sequence[Tree], Sequence[Tree]], Policies]
"""Policies for a data set that is left out: trained on the training questions given, and frozen on the
validation questions given, which are those of the other sets."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How the protocol is run.

    Attributes:
        cost: What a step costs, in quality, where thresholds and schedules are chosen.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    cost: float = COST
    resamples: int = RESAMPLES
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class Scope:
    """The table of one set of questions.

    Attributes:
        name: Of the data set; `POOLED` for all.
        questions: Test questions.
        whole: Those whose tree holds every path; on the others an oracle is a lower bound.
        trained: Training questions, which chose the schedules.
        rows: In the order of the table.
    """

    name: str
    questions: int
    whole: int
    trained: int
    rows: Sequence[Row]

    def row(self, name: str) -> Row:
        """The row of a policy.

        Raises:
            KeyError: there is none.
        """
        for found in self.rows:
            if found.name == name:
                return found
        raise KeyError(name)


@dataclass(frozen=True, slots=True)
class Results:
    """What the protocol found.

    Attributes:
        settings: How it was run.
        scopes: All together first, then each data set.
        left_out: Each data set, with policies that were trained without it.
    """

    settings: Settings
    scopes: Sequence[Scope]
    left_out: Sequence[Scope] = field(default_factory=list)


def evaluate(
    training: Sequence[Tree],
    validation: Sequence[Tree],
    test: Sequence[Tree],
    policies: Policies,
    judges: Sequence[Judge] = (),
    settings: Settings | None = None,
    milliseconds: Mapping[str, float] | None = None,
    only: Mapping[str, Container[str]] | None = None,
) -> Results:
    """Run the protocol.

    Args:
        training: Questions on which the schedules are chosen.
        validation: Questions on which thresholds of sufficiency are chosen.
        test: Questions that nothing was chosen on.
        policies: What is to be evaluated.
        judges: Language-model judges of some or all of the test questions.
        settings: Cost and bootstrap.
        milliseconds: Of one decision, by policy; measured here for those that are not in it.
        only: Ids of the validation and test questions that a slow policy is evaluated on, by policy; its
            outcome on others is not known.

    Raises:
        ValueError: there are no questions of a kind, or one is of two kinds.
    """
    settings = settings or Settings()
    _check(training, validation, test)
    timed = dict(milliseconds or {})
    candidates: list[Candidate] = []
    for name, (scorer, rule) in policies.items():
        spent = timed[name] if name in timed else decision_ms(scorer, test)
        candidates += _candidates(
            name,
            rule,
            score(validation, scorer, (only or {}).get(name)),
            score(test, scorer, (only or {}).get(name)),
            settings.cost,
            spent,
            swept=bool(judges),
        )
    names = _datasets(test)
    scopes = []
    for name in [POOLED, *(names if len(names) > 1 else [])]:
        at = [i for i, tree in enumerate(test) if name in (POOLED, tree.dataset)]
        own = [tree for tree in training if name in (POOLED, tree.dataset)]
        taken = [candidate.take(at) for candidate in candidates]
        # A set without training questions of its own is held against the schedules of all.
        scopes.append(_scope(name, own or training, [test[i] for i in at], taken, judges, settings))
    return Results(settings, scopes)


def leave_one_out(
    training: Sequence[Tree],
    validation: Sequence[Tree],
    test: Sequence[Tree],
    fit: Fit,
    settings: Settings | None = None,
) -> list[Scope]:
    """Each data set, with policies trained and frozen on the others.

    The schedules they are held against are chosen on the left-out set's own training questions, and are
    harder to beat than schedules that had to be carried over too.

    Raises:
        ValueError: there are no questions of a kind, one is of two kinds, or there is only one data set.
    """
    settings = settings or Settings()
    _check(training, validation, test)
    names = _datasets(test)
    if len(names) < 2:
        raise ValueError("Leaving one data set out needs at least two.")
    scopes = []
    for name in names:
        frozen = [tree for tree in validation if tree.dataset != name]
        own = [tree for tree in training if tree.dataset == name]
        trees = [tree for tree in test if tree.dataset == name]
        candidates: list[Candidate] = []
        others = [tree for tree in training if tree.dataset != name]
        for policy, (scorer, rule) in fit(others, frozen).items():
            candidates += _candidates(
                policy, rule, score(frozen, scorer), score(trees, scorer), settings.cost, math.nan
            )
        scopes.append(_scope(name, own or training, trees, candidates, (), settings))
    return scopes


def decision_ms(scorer: Scorer, trees: Sequence[Tree]) -> float:
    """Median milliseconds of scoring one state, as a run does it, over a few dozen states."""
    states = [node.seen for tree in trees[:_TIMED] for node in tree.nodes.values()][:_TIMED]
    scorer.score(states[:1])  # loads what is loaded at first use
    taken = []
    for state in states:
        began = time.perf_counter()
        scorer.score([state])
        taken.append((time.perf_counter() - began) * 1000)
    return float(np.median(taken))


def frozen_threshold(scored: Scored, cost: float = COST) -> float:
    """The threshold of sufficiency with the most utility on these (validation) questions.

    Raises:
        ValueError: none of them was scored, or the quality of none is known.
    """
    if not scored.scores.sufficiency.size:
        raise ValueError("No validation question was scored.")
    levels = np.quantile(scored.scores.sufficiency, np.linspace(0, 1, _SWEEP)).tolist()
    worth: dict[float, float] = {}
    for level in levels:
        ends = [last_state(*pair) for pair in zip(scored.trees, scored.above(level), strict=True)]
        utility = [
            node.quality - cost * node.steps for node, known in ends if known and node.quality is not None
        ]
        if utility:
            worth[level] = float(np.mean(utility))
    if not worth:
        raise ValueError("The quality of no validation question is known.")
    return max(worth, key=worth.__getitem__)


def _candidates(
    name: str,
    rule: Rule,
    validation: Scored,
    scored: Scored,
    cost: float,
    milliseconds: float,
    *,
    swept: bool = False,
) -> list[Candidate]:
    threshold = frozen_threshold(validation, cost)
    chosen = follow_each(name, scored.trees, scored.deciders(rule), cost)
    above = follow_each(
        f"{name}: sufficiency ≥ {threshold:.2f}", scored.trees, scored.above(threshold), cost
    )
    said = _said(scored)
    return [
        Candidate("policy", chosen, milliseconds, said, _sweep(name, scored, rule, cost) if swept else ()),
        Candidate("threshold", above, milliseconds, said),
    ]


def _sweep(name: str, scored: Scored, rule: Rule, cost: float) -> list[Outcomes]:
    """The policy from never finishing by itself to always, for comparing at a judge's steps."""
    advantages = scored.scores.advantages
    widest = float(np.abs(advantages[np.isfinite(advantages)]).max(initial=0.0)) + rule.margin
    # Cubes: most operating points near the frozen one, the outermost beyond every advantage.
    eager = [1.01 * widest * (i / 10) ** 3 for i in range(-10, 11)]
    return [follow_each(name, scored.trees, scored.deciders(rule, e), cost) for e in eager]


def _said(scored: Scored) -> Floats:
    """Of each state that can be finished in: its question, the sufficiency said, the sufficiency so."""
    rows = [
        (float(i), float(scored.scores.sufficiency[at[node.path]]), sufficient(node))
        for i, (tree, at) in enumerate(zip(scored.trees, scored.rows, strict=True))
        for node in tree.nodes.values()
        if at and "FINISH" in node.valid
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), 3)


def _scope(
    name: str,
    training: Sequence[Tree],
    trees: Sequence[Tree],
    candidates: Sequence[Candidate],
    judges: Sequence[Judge],
    settings: Settings,
) -> Scope:
    cost = settings.cost
    against = baselines(training, trees, cost, settings.resamples, settings.seed)
    drawn = against.drawn
    rivals = [judged(judge, trees, cost) for judge in judges]
    natural = [rival.natural for rival in rivals]
    rows = [row("fixed", follow(f"fixed {k}", trees, fixed(k), cost), drawn) for k in range(1, _FIXED + 1)]
    rows += [row("schedule", found, drawn) for found in (*against.schedules, against.best)]
    for found in against.untrained.values():
        rows.append(row("untrained", found, drawn, standing(found, against, natural)))
    for rival in rivals:
        spent = rival.judge.milliseconds
        hindsight = [rival.best(cost)] if rival.sweep else []
        for found in (rival.natural, *hindsight):
            rows.append(row("judge", found, drawn, standing(found, against), spent))
    for candidate in candidates:
        stands = standing(candidate.found, against, natural)
        rows.append(candidate_row(candidate, rivals, drawn, stands))
    for found in (against.oracle, complete_oracle(trees, cost)):
        rows.append(row("oracle", found, drawn))
    return Scope(name, len(trees), sum(map(is_whole, trees)), len(training), rows)


def _datasets(trees: Sequence[Tree]) -> list[str]:
    return list(dict.fromkeys(tree.dataset for tree in trees))


def _check(training: Sequence[Tree], validation: Sequence[Tree], test: Sequence[Tree]) -> None:
    seen: dict[str, str] = {}
    for kind, trees in (("training", training), ("validation", validation), ("test", test)):
        if not trees:
            raise ValueError(f"There are no {kind} questions.")
        for tree in trees:
            if seen.setdefault(tree.question, kind) != kind:
                raise ValueError(f"{tree.question} is a {seen[tree.question]} and a {kind} question.")
