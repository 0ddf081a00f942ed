"""From rows to numbers: means with intervals, where answers were lost, and paired differences.

Every system is summarised on the questions it has answered, and compared on those that both have. The same
rows give the same summary, in any order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from policy.decisions.trees import Floats
from policy.evaluation.metrics import STAGES
from policy.evaluation.rows import Row
from policy.judging.bootstrap import RESAMPLES, Draws, Interval, difference, draws, means

CLOSED_BOOK: Final = "closed-book"
SHALLOW: Final = "shallow"
SEARCH: Final = "search-and-answer"
GUESS: Final = "search-and-guess"
CRAG: Final = "crag"
SEED_SYSTEM: Final = "seed"
LEAN: Final = "lean"
ORDER: Final = (CLOSED_BOOK, SHALLOW, SEARCH, GUESS, CRAG, SEED_SYSTEM, LEAN)
"""Systems as tables list them; others follow by name."""

BASELINES: Final = (SHALLOW, SEARCH, GUESS, SEED_SYSTEM)
"""What every system is compared with."""

DIFFERENCES: Final = ("f1", "em", "steps", "seconds", "evaluated", "right", "wrong_supported")

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
        measures: Their means by name, each over the questions it is known for.
        lost: How many answers were lost at each of `policy.evaluation.metrics.STAGES`; zeros included.
    """

    system: str
    questions: int
    measures: Mapping[str, Interval]
    lost: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Against:
    """One system against another, on the questions that both have answered.

    Attributes:
        system: Ours.
        baseline: Theirs.
        questions: That both have.
        differences: Ours less theirs in each of `DIFFERENCES`.
        answered: Ours less theirs in F1 on those of the questions that neither abstained on.
    """

    system: str
    baseline: str
    questions: int
    differences: Mapping[str, Interval]
    answered: Interval


@dataclass(frozen=True, slots=True)
class Scope:
    """The results of one model on one set, or on several taken together.

    Attributes:
        name: Of the set, or `POOLED_MULTIHOP`, or `POOLED`.
        model: The language model.
        sets: Which are in it.
        systems: In the order of `ORDER`.
        against: Every system against every baseline that there is.
    """

    name: str
    model: str
    sets: tuple[str, ...]
    systems: tuple[Standing, ...]
    against: tuple[Against, ...]

    def pair(self, system: str, baseline: str) -> Against | None:
        """The two against each other; None where both have answered no question."""
        wanted = (system, baseline)
        return next((one for one in self.against if (one.system, one.baseline) == wanted), None)


@dataclass(frozen=True, slots=True)
class Summary:
    """All of it: by model; its sets first, then those taken together."""

    scopes: tuple[Scope, ...]

    @property
    def models(self) -> tuple[str, ...]:
        """Of the rows, by name."""
        return tuple(dict.fromkeys(scope.model for scope in self.scopes))


def summarise(
    rows: Iterable[Row], baselines: Sequence[str] = BASELINES, resamples: int = RESAMPLES
) -> Summary:
    """Summarise ``rows``, one of each key.

    Args:
        rows: In any order.
        baselines: Systems that the others are compared with.
        resamples: Of the bootstrap.
    """
    ordered = sorted(rows, key=lambda row: row.key)

    @cache
    def drawing(questions: int) -> Draws:
        return draws(questions, resamples)

    scopes = [
        _scope(name, model, sets, [row for row in ordered if row.model == model], baselines, drawing)
        for model in sorted({row.model for row in ordered})
        for name, sets in _scopes(sorted({row.questions for row in ordered if row.model == model}))
    ]
    return Summary(tuple(scopes))


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


def _scope(
    name: str,
    model: str,
    sets: tuple[str, ...],
    rows: Sequence[Row],
    baselines: Sequence[str],
    drawing: _Drawing,
) -> Scope:
    answers: dict[str, _Answers] = {}
    for row in rows:
        if row.questions in sets:
            answers.setdefault(row.system, {})[row.questions, row.question] = row
    systems = [*(one for one in ORDER if one in answers), *sorted(answers.keys() - set(ORDER))]
    pairs = [
        (ours, theirs)
        for ours in systems
        for theirs in baselines
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
    told = means(columns, drawing(len(questions)))
    return Standing(system, len(questions), told, {stage: stages[stage] for stage in STAGES})


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
    )


def _column(answers: _Answers, questions: Sequence[_Key], name: str) -> Floats:
    return np.array([answers[one].measures.get(name, np.nan) for one in questions], dtype=np.float64)
