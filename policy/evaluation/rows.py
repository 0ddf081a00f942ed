"""The rows of the protocol's table: one policy on one set of questions, with all its columns."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from policy.evaluation.baselines import Standing
from policy.evaluation.bootstrap import NOTHING, Draws, Interval, difference, means
from policy.evaluation.judges import Judge
from policy.evaluation.measures import Calibration, Matched, against_frontier, calibration
from policy.evaluation.walking import Outcomes
from policy.trees import Floats, Tree

COSTS = (0.0, 0.01, 0.02, 0.05, 0.1)
"""The costs of a step for which utility is told."""

MEASURES = ("quality", "steps", "complete", "recall", "f1", "em", "tokens")
"""The measures that a row has where the walks have them."""


@dataclass(frozen=True, slots=True)
class AgainstJudge:
    """A policy against a language-model judge, on the questions that were judged.

    Attributes:
        judge: The judge's name.
        quality: Quality of the policy at the operating point that has the most mean steps of those with no
            more than the judge, less the judge's quality. The point is chosen by steps alone. Nothing
            where the policy has no such point.
        complete: The same for the share of questions whose evidence is complete.
        steps: Steps of the policy there, less the judge's.
        swept: The policy as it is, against the frontier of the judge swept by its FINISH logit.
        times_faster: Milliseconds of a judge's decision by those of the policy's; NaN if not timed.
    """

    judge: str
    quality: Interval
    complete: Interval
    steps: Interval
    swept: Matched
    times_faster: float


@dataclass(frozen=True, slots=True)
class Row:
    """One policy on one set of questions.

    Attributes:
        name: Of the policy.
        kind: fixed, schedule, untrained, threshold, policy, judge or oracle.
        questions: Whose outcome is known.
        unknown: Whose is not.
        measures: Means of `MEASURES` with their intervals, as far as there are any.
        utility: Mean utility by the cost of a step, for `COSTS`.
        premature: Share of questions it stopped too early on (`policy.evaluation.walking.Walk`).
        oversearched: Share of questions on which it went past the best stop of its own path.
        first_stop: Share of its voluntary stops that were sufficient.
        milliseconds: Median of one decision; NaN if not timed.
        standing: Against the baselines; None for those that are baselines only.
        calibration: Of the sufficiency, over all states that can be finished in; None where it says none.
        judges: Against each judge.
    """

    name: str
    kind: str
    questions: int
    unknown: int
    measures: Mapping[str, Interval]
    utility: Mapping[float, float]
    premature: float
    oversearched: float
    first_stop: float
    milliseconds: float = math.nan
    standing: Standing | None = None
    calibration: Calibration | None = None
    judges: Sequence[AgainstJudge] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """A judge on one set of questions: as it is, and swept by its FINISH logit."""

    judge: Judge
    natural: Outcomes
    sweep: Sequence[Outcomes]

    def best(self, cost: float) -> Outcomes:
        """The sweep's point with the most utility on these very questions: in the judge's favour."""

        def worth(found: Outcomes) -> float:
            return float(np.nanmean(found.utility(cost)))

        best = max((found for found in self.sweep if found.unknown < len(found.walks)), key=worth)
        return replace(best, name=f"{self.natural.name}, best threshold in hindsight")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A policy walked over all test questions, with what goes beside its walks.

    Attributes:
        kind: policy or threshold.
        found: Its outcomes.
        milliseconds: Of one decision; NaN if not timed.
        said: Shape (states, 3): index of the question, sufficiency said, sufficiency so.
        sweep: Its outcomes if it were more or less eager to finish.
    """

    kind: str
    found: Outcomes
    milliseconds: float
    said: Floats
    sweep: Sequence[Outcomes] = ()

    def take(self, at: Sequence[int]) -> Candidate:
        """The same on some of the questions, by index."""
        said = self.said[np.isin(self.said[:, 0], np.asarray(at))]
        sweep = [found.take(at) for found in self.sweep]
        return Candidate(self.kind, self.found.take(at), self.milliseconds, said, sweep)


def judged(judge: Judge, trees: Sequence[Tree], cost: float) -> Judged:
    """Walk a judge over the questions."""
    sweep = [judge.outcomes(trees, bias, cost) for bias in judge.biases(trees)]
    return Judged(judge, judge.outcomes(trees, 0.0, cost), sweep)


def row(
    kind: str,
    found: Outcomes,
    drawn: Draws,
    standing: Standing | None = None,
    milliseconds: float = math.nan,
) -> Row:
    """The columns that every policy has."""
    measured = means({measure: found.column(measure) for measure in MEASURES}, drawn)
    return Row(
        found.name,
        kind,
        len(found.walks) - found.unknown,
        found.unknown,
        {measure: value for measure, value in measured.items() if value.questions},
        {cost: _mean(found.utility(cost)) for cost in COSTS},
        _mean(found.column("premature")),
        _mean(found.column("oversearched")),
        _mean(found.column("first_stop")),
        milliseconds,
        standing,
    )


def candidate_row(candidate: Candidate, judges: Sequence[Judged], drawn: Draws, standing: Standing) -> Row:
    """The columns of a learned policy."""
    made = row(candidate.kind, candidate.found, drawn, standing, candidate.milliseconds)
    if candidate.kind != "policy":
        return made
    return replace(
        made,
        calibration=calibration(candidate.said[:, 1], candidate.said[:, 2]),
        judges=[_against_judge(candidate, judge, drawn) for judge in judges],
    )


def _against_judge(candidate: Candidate, against: Judged, drawn: Draws) -> AgainstJudge:
    theirs = against.natural
    more = [(_mean(point.steps - theirs.steps), i) for i, point in enumerate(candidate.sweep)]
    at_most = [(steps, i) for steps, i in more if steps <= 0]
    swept = against_frontier(candidate.found, against.sweep or [theirs], drawn)
    faster = against.judge.milliseconds / candidate.milliseconds
    if not at_most:
        return AgainstJudge(theirs.name, NOTHING, NOTHING, NOTHING, swept, faster)
    point = candidate.sweep[max(at_most)[1]]
    return AgainstJudge(
        theirs.name,
        difference(point.quality, theirs.quality, drawn),
        difference(point.column("complete"), theirs.column("complete"), drawn),
        difference(point.steps, theirs.steps, drawn),
        swept,
        faster,
    )


def _mean(values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if known.size else math.nan
