"""From rows to numbers: means with intervals, where answers were lost, and paired differences.

Every system is summarised on the questions that it has answered, and compared on those that both have. The
same rows give the same summary, in whatever order they came.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb
from typing import Final, TypeAlias

import numpy as np

from policy.decisions.trees import Floats
from policy.evaluation.metrics import STAGES
from policy.evaluation.rows import Row
from policy.judging.bootstrap import RESAMPLES, SEED, Draws, Interval, difference, draws, interval, means

CLOSED_BOOK: Final = "closed-book"
SHALLOW: Final = "shallow"
SEARCH: Final = "search-and-answer"
GUESS: Final = "search-and-guess"
CRAG: Final = "crag"
SEED_SYSTEM: Final = "seed"
LEAN: Final = "lean"
RULES: Final = "lean rules"
JUDGE: Final = "lean judge"
FIXED: Final = ("lean 1 step", "lean 2 steps", "lean 3 steps", "lean 4 steps")
PLAN_DONE: Final = "lean plan done"
LEARNED: Final = "lean learned"
ORACLE: Final = "oracle"
ORDER: Final = (
    *(CLOSED_BOOK, SHALLOW, SEARCH, GUESS, CRAG, SEED_SYSTEM, LEAN),
    *(RULES, JUDGE, *FIXED, PLAN_DONE, LEARNED, ORACLE),
)
"""Systems as tables list them; others follow by name."""

BASELINES: Final = (SHALLOW, SEARCH, GUESS, SEED_SYSTEM, ORACLE)
"""What every system is held against."""

RULES_BESIDE: Final = (RULES, JUDGE, *FIXED, PLAN_DONE)
"""What the learned policy is held against as well: every other rule that finishes the same research."""

DIFFERENCES: Final = ("f1", "em", "steps", "right", "wrong_supported", "refused_rightly")
RATIOS: Final = ("seconds", "evaluated")

FAMILIES: Final = ("hotpotqa", "2wikimultihopqa", "musique")
"""How the names of multi-hop sets begin."""

POOLED_MULTIHOP: Final = "multi-hop sets"
POOLED: Final = "all sets"

_Key: TypeAlias = tuple[str, str]  # of a question: its set and its id
_Answers: TypeAlias = dict[_Key, Row]
_Drawing: TypeAlias = Callable[[int], Draws]


@dataclass(frozen=True, slots=True)
class Standing:
    """One system by itself.

    Attributes:
        system: Its name.
        questions: How many it has answered.
        measures: Their means by name, each over the questions that it is known for.
        lost: How many answers were lost at each of `policy.evaluation.metrics.STAGES`; zeros included.
    """

    system: str
    questions: int
    measures: Mapping[str, Interval]
    lost: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's exact test for exact match: the discordant pairs as tosses of a fair coin.

    McNemar (1947); the exact conditional form as in Fagerland, Lydersen and Laake (2013).

    Attributes:
        ours: Questions that only we have right.
        theirs: Questions that only they have right.
        p: Of as uneven a split, if both were as good.
    """

    ours: int
    theirs: int
    p: float


@dataclass(frozen=True, slots=True)
class Against:
    """One system against another, on the questions that both have answered.

    Attributes:
        system: Ours.
        baseline: Theirs.
        questions: That both have.
        differences: Ours less theirs in each of `DIFFERENCES`.
        answered: Ours less theirs in F1 on those of the questions that neither abstained on.
        ratios: The sum of ours to the sum of theirs in each of `RATIOS`.
        exact: The test for exact match.
    """

    system: str
    baseline: str
    questions: int
    differences: Mapping[str, Interval]
    answered: Interval
    ratios: Mapping[str, Interval]
    exact: McNemar


@dataclass(frozen=True, slots=True)
class Scope:
    """What one model did on one set, or on several taken together.

    Attributes:
        name: Of the set, or `POOLED_MULTIHOP`, or `POOLED`.
        model: The language model.
        sets: Which are in it.
        systems: In the order of `ORDER`.
        against: Every system against every baseline that there is; the learned policy also against
            `RULES_BESIDE`.
    """

    name: str
    model: str
    sets: tuple[str, ...]
    systems: tuple[Standing, ...]
    against: tuple[Against, ...]

    def pair(self, system: str, baseline: str) -> Against | None:
        """The two against each other; None where no question has been answered by both."""
        return next(
            (one for one in self.against if (one.system, one.baseline) == (system, baseline)),
            None,
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """All of it.

    Attributes:
        scopes: By model; its sets first, then those taken together.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    scopes: tuple[Scope, ...]
    resamples: int
    seed: int

    @property
    def models(self) -> tuple[str, ...]:
        """Of the rows, by name."""
        return tuple(dict.fromkeys(scope.model for scope in self.scopes))


def summarise(rows: Iterable[Row], resamples: int = RESAMPLES, seed: int = SEED) -> Summary:
    """Summarise ``rows``, one of each key.

    Args:
        rows: In any order.
        resamples: Of the bootstrap.
        seed: Of the bootstrap; the same one gives the same intervals.
    """
    ordered = sorted(rows, key=lambda row: row.key)

    @cache
    def drawing(questions: int) -> Draws:
        return draws(questions, resamples, seed)

    scopes = [
        _scope(name, model, sets, [row for row in ordered if row.model == model], drawing)
        for model in sorted({row.model for row in ordered})
        for name, sets in _scopes(sorted({row.questions for row in ordered if row.model == model}))
    ]
    return Summary(tuple(scopes), resamples, seed)


def multihop(sets: Iterable[str]) -> tuple[str, ...]:
    """Those of ``sets`` that are of one of the multi-hop families, in their order."""
    return tuple(name for name in sets if name.startswith(FAMILIES))


def _scopes(sets: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    found: list[tuple[str, tuple[str, ...]]] = [(name, (name,)) for name in sets]
    several = multihop(sets)
    if 1 < len(several) < len(sets):
        found.append((POOLED_MULTIHOP, several))
    if len(sets) > 1:
        found.append((POOLED, tuple(sets)))
    return found


def _scope(name: str, model: str, sets: tuple[str, ...], rows: Sequence[Row], drawing: _Drawing) -> Scope:
    answers: dict[str, _Answers] = {}
    for row in rows:
        if row.questions in sets:
            answers.setdefault(row.system, {})[row.questions, row.question] = row
    systems = [*(one for one in ORDER if one in answers), *sorted(answers.keys() - set(ORDER))]
    pairs = [
        (ours, theirs)
        for ours in systems
        for theirs in (*BASELINES, *(RULES_BESIDE if ours == LEARNED else ()))
        if ours != theirs and answers[ours].keys() & answers.get(theirs, {}).keys()
    ]
    return Scope(
        name,
        model,
        sets,
        tuple(_standing(one, answers[one], drawing) for one in systems),
        tuple(_against(ours, theirs, answers, drawing) for ours, theirs in pairs),
    )


def _standing(system: str, answers: _Answers, drawing: _Drawing) -> Standing:
    questions = list(answers)
    names = sorted({name for row in answers.values() for name in row.measures})
    columns = {name: _column(answers, questions, name) for name in names}
    stages = Counter(row.lost for row in answers.values())
    return Standing(
        system,
        len(questions),
        means(columns, drawing(len(questions))),
        {stage: stages[stage] for stage in STAGES},
    )


def _against(ours: str, theirs: str, answers: Mapping[str, _Answers], drawing: _Drawing) -> Against:
    both = [question for question in answers[ours] if question in answers[theirs]]
    drawn = drawing(len(both))

    def columns(name: str) -> tuple[Floats, Floats]:
        return _column(answers[ours], both, name), _column(answers[theirs], both, name)

    silent = np.maximum(*columns("abstained")) > 0
    f1, their_f1 = columns("f1")
    return Against(
        ours,
        theirs,
        len(both),
        {name: difference(*columns(name), drawn) for name in DIFFERENCES},
        difference(np.where(silent, np.nan, f1), their_f1, drawn),
        {name: ratio(*columns(name), drawn) for name in RATIOS},
        mcnemar(*columns("em")),
    )


def _column(answers: _Answers, questions: Sequence[_Key], name: str) -> Floats:
    return np.array([answers[one].measures.get(name, np.nan) for one in questions], dtype=np.float64)


def ratio(ours: Floats, theirs: Floats, drawn: Draws) -> Interval:
    """The ratio of two sums of a per-question measure, over the questions that both are known for.

    Nothing where theirs is zero.
    """
    known = ~np.isnan(ours + theirs)
    above = drawn.means(np.where(known, ours, np.nan))
    below = drawn.means(np.where(known, theirs, np.nan))
    with np.errstate(invalid="ignore", divide="ignore"):
        samples = np.where(below > 0, above / below, np.nan)
    return interval(np.asarray(samples, dtype=np.float64), int(known.sum()))


def mcnemar(ours: Floats, theirs: Floats) -> McNemar:
    """The test for two columns of 0 and 1 over the same questions; NaN is left out."""
    only_ours = int(((ours == 1) & (theirs == 0)).sum())
    only_theirs = int(((ours == 0) & (theirs == 1)).sum())
    pairs = only_ours + only_theirs
    tail = sum(comb(pairs, k) for k in range(min(only_ours, only_theirs) + 1))
    return McNemar(only_ours, only_theirs, min(1.0, 2 * tail / 2**pairs))
