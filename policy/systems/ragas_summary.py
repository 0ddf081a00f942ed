"""From a judge's scores to means with intervals, and to the cells of a table that says whose they are."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from policy.evaluation.bootstrap import RESAMPLES, SEED, Interval, draws, means
from policy.systems.ragas_judge import METRICS
from policy.systems.ragas_scores import Score
from policy.systems.summary import ORDER


@dataclass(frozen=True, slots=True)
class JudgedSystem:
    """One system as a judge sees it.

    Attributes:
        system: Its name.
        answers: How many of its answers were judged.
        means: By metric, each over the answers that it has a score of; a metric without one is not there.
        asked: By metric: how many scores were asked for.
        missing: By metric: how many of those the judge did not give.
    """

    system: str
    answers: int
    means: Mapping[str, Interval]
    asked: Mapping[str, int]
    missing: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """What one judge made of one model's answers to one set.

    Attributes:
        name: Of the set.
        model: That answered.
        judge: The model that judged.
        packages: Versions of ``ragas`` that the scores are from.
        systems: In the order of the tables.
    """

    name: str
    model: str
    judge: str
    packages: tuple[str, ...]
    systems: tuple[JudgedSystem, ...]


def summarise_judged(
    scores: Iterable[Score], resamples: int = RESAMPLES, seed: int = SEED
) -> tuple[JudgedSet, ...]:
    """Summarise ``scores``, one of each key; by judge, model and set.

    Args:
        scores: In any order.
        resamples: Of the bootstrap over answers.
        seed: Of the bootstrap.
    """
    parts: dict[tuple[str, str, str], dict[str, list[Score]]] = {}
    for score in scores:
        systems = parts.setdefault((score.judge, score.model, score.questions), {})
        systems.setdefault(score.system, []).append(score)
    return tuple(
        JudgedSet(
            name,
            model,
            judge,
            tuple(sorted({one.package for several in systems.values() for one in several})),
            tuple(
                _system(one, parts[judge, model, name][one], resamples, seed) for one in _ordered(systems)
            ),
        )
        for (judge, model, name), systems in sorted(parts.items())
    )


def heading(judge: str) -> str:
    """What stands above a judge's tables."""
    return f"RAGAS, judged by {judge}: a weak judge"


def caution(judged: Sequence[JudgedSet]) -> str:
    """What has to be said of all scores: what they are, and how many the judges did not give."""
    asked = sum(count for one in judged for system in one.systems for count in system.asked.values())
    missing = sum(count for one in judged for system in one.systems for count in system.missing.values())
    packages = ", ".join(sorted({f"ragas {package}" for one in judged for package in one.packages}))
    share = 100 * missing / asked if asked else 0.0
    return (
        "RAGAS's metrics are a small local model's opinion and no measurement: such a judge is weak, and "
        f"its scores tell less than all else here. It failed to give {missing:,} of {asked:,} scores "
        f"({share:.1f} %); they are left out of the means, which stand with the number of answers that "
        "they are from. The reference is the first gold answer; an answer from no passages is judged by "
        f"its relevancy alone. The package is {packages}."
    )


HEAD = ("system", "answers", *METRICS, "not given")
"""Of a table of `cells`."""


def cells(system: JudgedSystem) -> list[str]:
    """A row below `HEAD`: means in hundredths with intervals, and the answers that each is from."""
    missing, asked = sum(system.missing.values()), sum(system.asked.values())
    return [
        system.system,
        str(system.answers),
        *(_mean(system.means.get(metric)) for metric in METRICS),
        f"{missing} of {asked}",
    ]


def _mean(found: Interval | None) -> str:
    if found is None or math.isnan(found.estimate):
        return ""
    low, high = 100 * found.low, 100 * found.high
    return f"{100 * found.estimate:.0f} [{low:.0f}, {high:.0f}] of {found.questions}"


def _ordered(systems: Iterable[str]) -> list[str]:
    known = set(systems)
    return [*(one for one in ORDER if one in known), *sorted(known - set(ORDER))]


def _system(name: str, scores: Sequence[Score], resamples: int, seed: int) -> JudgedSystem:
    values = {(score.question, score.metric): score.value for score in scores}
    questions = sorted({score.question for score in scores})
    asked = {metric: sum((one, metric) in values for one in questions) for metric in METRICS}
    columns = {
        metric: np.array([_number(values.get((one, metric))) for one in questions], dtype=np.float64)
        for metric in METRICS
    }
    given = {metric: int((~np.isnan(column)).sum()) for metric, column in columns.items()}
    return JudgedSystem(
        name,
        len(questions),
        means(
            {metric: column for metric, column in columns.items() if given[metric]},
            draws(len(questions), resamples, seed),
        ),
        asked,
        {metric: asked[metric] - given[metric] for metric in METRICS},
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value
