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
from policy.evaluation.rows import Row
from policy.evaluation.systems import GUESS, SEARCH, SEED, SHALLOW, SYSTEMS
from policy.judging.bootstrap import RESAMPLES, Draws, Interval, draws, means

BASELINES: Final = (SHALLOW, SEARCH, GUESS, SEED)
"""What every system is compared with."""

POOLED: Final = "all sets"

_Key: TypeAlias = tuple[str, str]  # of a question: its set and its id
_Answers: TypeAlias = dict[_Key, Row]


@dataclass(frozen=True, slots=True)
class Standing:
    """One system by itself.

    Attributes:
        questions: How many it has answered.
        measures: Their means by name, each over the questions it is known for.
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
        differences: Of ``system`` less ``baseline`` in each measure that both have.
        answered: The same on those of the questions that neither abstained on.
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


def summarise(
    rows: Iterable[Row], baselines: Sequence[str] = BASELINES, resamples: int = RESAMPLES
) -> list[Scope]:
    """Summarise ``rows``, one of each key, by model: its sets first, then all of them together."""
    ordered = sorted(rows, key=lambda row: row.key)
    drawing = cache(lambda questions: draws(questions, resamples))
    scopes = []
    for model in sorted({row.model for row in ordered}):
        mine = [row for row in ordered if row.model == model]
        sets = tuple(sorted({row.questions for row in mine}))
        named = [(name, (name,)) for name in sets] + ([(POOLED, sets)] if len(sets) > 1 else [])
        scopes += [_scope(name, model, within, mine, baselines, drawing) for name, within in named]
    return scopes


def _scope(
    name: str,
    model: str,
    sets: tuple[str, ...],
    rows: Sequence[Row],
    baselines: Sequence[str],
    drawing: Callable[[int], Draws],
) -> Scope:
    answers: dict[str, _Answers] = {}
    for row in rows:
        if row.questions in sets:
            answers.setdefault(row.system, {})[row.questions, row.question] = row
    systems = [*(one for one in SYSTEMS if one in answers), *sorted(answers.keys() - SYSTEMS.keys())]
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


def _standing(system: str, answers: _Answers, drawing: Callable[[int], Draws]) -> Standing:
    lost = Counter(row.lost for row in answers.values() if row.lost)
    return Standing(
        system, len(answers), means(_columns(answers, list(answers)), drawing(len(answers))), lost
    )


def _against(
    ours: str, theirs: str, answers: Mapping[str, _Answers], drawing: Callable[[int], Draws]
) -> Against:
    both = [question for question in answers[ours] if question in answers[theirs]]
    mine, other = _columns(answers[ours], both), _columns(answers[theirs], both)
    gains = {name: mine[name] - other[name] for name in mine if name in other}
    silent = np.array(
        [any(answers[one][q].measures.get("abstained") for one in (ours, theirs)) for q in both]
    )
    answered = {name: np.where(silent, np.nan, gain) for name, gain in gains.items()}
    drawn = drawing(len(both))
    return Against(ours, theirs, len(both), means(gains, drawn), means(answered, drawn))


def _columns(answers: _Answers, questions: Sequence[_Key]) -> dict[str, Floats]:
    """Each measure of the questions by name; NaN where it is not known."""
    names = sorted({name for one in questions for name in answers[one].measures})
    return {
        name: np.array([answers[one].measures.get(name, np.nan) for one in questions], dtype=np.float64)
        for name in names
    }
