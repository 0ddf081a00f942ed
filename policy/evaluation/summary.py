"""From rows to numbers: means with intervals, losses by stage, and paired differences.

Every system is summarised on the questions it has answered; two are compared on those both have answered.
The order of the rows does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from policy.decisions.trees import Floats
from policy.evaluation.rows import Row
from policy.evaluation.systems import GUESS, SEARCH, SEED, SHALLOW, SYSTEMS
from policy.judging.bootstrap import RESAMPLES, Draws, Interval, draws, means

BASELINES: Final = (SHALLOW, SEARCH, GUESS, SEED)
"""The systems that every system is compared with."""

POOLED: Final = "all sets"

_Key: TypeAlias = tuple[str, str]  # of a question: its set and its id
_Answers: TypeAlias = dict[_Key, Row]


@dataclass(frozen=True, slots=True)
class Standing:
    """The results of one system.

    Attributes:
        questions: How many it has answered.
        measures: Means by name, each over the questions for which it is known.
        lost: How many wrong answers were lost at each of `policy.evaluation.measures.STAGES`.
    """

    system: str
    questions: int
    measures: Mapping[str, Interval]
    lost: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Against:
    """One system against another, on the questions that both have answered.

    Attributes:
        differences: ``system`` less ``baseline`` in each measure that both have.
        answered: The same on the questions that neither abstained on.
    """

    system: str
    baseline: str
    questions: int
    differences: Mapping[str, Interval]
    answered: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class Scope:
    """The results of one model on one set, or on several taken together (`POOLED`).

    Attributes:
        systems: In the order of `SYSTEMS`; others follow by name.
        against: Every system against every baseline with results.
    """

    name: str
    model: str
    sets: tuple[str, ...]
    systems: tuple[Standing, ...]
    against: tuple[Against, ...]

    def pair(self, system: str, baseline: str) -> Against | None:
        """The comparison of the two; None if they have no question in common."""
        names = (system, baseline)
        return next((pair for pair in self.against if (pair.system, pair.baseline) == names), None)


def summarise(
    rows: Iterable[Row], baselines: Sequence[str] = BASELINES, resamples: int = RESAMPLES
) -> list[Scope]:
    """Summarise ``rows``, one per key, by model: each set first, then all of them pooled."""
    ordered = sorted(rows, key=lambda row: row.key)
    resamples_of = cache(lambda questions: draws(questions, resamples))
    scopes = []
    for model in sorted({row.model for row in ordered}):
        model_rows = [row for row in ordered if row.model == model]
        sets = tuple(sorted({row.questions for row in model_rows}))
        scope_sets = [(name, (name,)) for name in sets] + ([(POOLED, sets)] if len(sets) > 1 else [])
        scopes += [
            _scope(name, model, members, model_rows, baselines, resamples_of)
            for name, members in scope_sets
        ]
    return scopes


def _scope(
    name: str,
    model: str,
    sets: tuple[str, ...],
    rows: Sequence[Row],
    baselines: Sequence[str],
    resamples_of: Callable[[int], Draws],
) -> Scope:
    answers: dict[str, _Answers] = {}
    for row in rows:
        if row.questions in sets:
            answers.setdefault(row.system, {})[row.questions, row.question] = row
    systems = [
        *(system for system in SYSTEMS if system in answers),
        *sorted(answers.keys() - SYSTEMS.keys()),
    ]
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
        tuple(_summarise_system(system, answers[system], resamples_of) for system in systems),
        tuple(_compare(ours, theirs, answers, resamples_of) for ours, theirs in pairs),
    )


def _summarise_system(system: str, answers: _Answers, resamples_of: Callable[[int], Draws]) -> Standing:
    lost = Counter(row.lost for row in answers.values() if row.lost)
    return Standing(
        system, len(answers), means(_columns(answers, list(answers)), resamples_of(len(answers))), lost
    )


def _compare(
    ours: str, theirs: str, answers: Mapping[str, _Answers], resamples_of: Callable[[int], Draws]
) -> Against:
    shared = [question for question in answers[ours] if question in answers[theirs]]
    our_columns, their_columns = _columns(answers[ours], shared), _columns(answers[theirs], shared)
    gains = {name: our_columns[name] - their_columns[name] for name in our_columns if name in their_columns}
    abstained = np.array(
        [any(answers[system][q].measures.get("abstained") for system in (ours, theirs)) for q in shared]
    )
    answered = {name: np.where(abstained, np.nan, gain) for name, gain in gains.items()}
    resamples = resamples_of(len(shared))
    return Against(ours, theirs, len(shared), means(gains, resamples), means(answered, resamples))


def _columns(answers: _Answers, questions: Sequence[_Key]) -> dict[str, Floats]:
    """Each measure of the questions by name; NaN where it is unknown."""
    names = sorted({name for question in questions for name in answers[question].measures})
    return {
        name: np.array(
            [answers[question].measures.get(name, np.nan) for question in questions], dtype=np.float64
        )
        for name in names
    }
