"""The bars that were set before anything was measured, and whether a policy meets them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from policy.evaluation.bootstrap import Interval
from policy.evaluation.protocol import POOLED, Results, Scope
from policy.evaluation.rows import Row

TIMES_FASTER = 200.0
SAVING = 0.30
HEADROOM = 0.5
ECE = 0.05
_RIVALS = ("plan done", "answer repeats", "answer repeats or plan done")


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        what: Is asked for.
        result: Was measured.
        met: None where it was not measured, or is not settled.
        settled: False where what was measured leaves it open.
    """

    what: str
    result: str
    met: bool | None
    settled: bool = True

    @property
    def measured(self) -> bool:
        """Whether there is a result, be it one that leaves the bar open."""
        return self.met is not None or not self.settled

    @property
    def verdict(self) -> str:
        """In words."""
        if not self.settled:
            return "not settled"
        return {None: "not measured", True: "met", False: "missed"}[self.met]


def bars(results: Results, policy: str) -> list[Bar]:
    """Every bar for one policy, on all data sets together; the last ones on data sets left out.

    Raises:
        KeyError: there is no such policy.
    """
    pooled = next(scope for scope in results.scopes if scope.name == POOLED)
    row = pooled.row(policy)
    return [
        *_judges(row),
        *_schedules(row),
        *_rivals(row, results.settings.cost),
        *_calibrated(row),
        *(_left_out(scope, policy) for scope in results.left_out),
    ]


def _judges(row: Row) -> list[Bar]:
    found = []
    for against in row.judges:
        better = [gain for gain in (against.quality, against.complete) if not math.isnan(gain.estimate)]
        told = f"quality {against.quality}, complete {against.complete}, steps {against.steps}"
        met = any(gain.above_zero for gain in better) if better else None
        found.append(Bar(f"better than {against.judge} at no more steps", told, met))
        # A judge that finishes at once leaves no fewer steps to be better in: so it is made to go on too.
        what = f"better than {against.judge} at equal steps, its FINISH swept, interval above zero"
        gain = against.swept.gain
        swept = None if math.isnan(gain.estimate) else gain.above_zero
        found.append(Bar(what, f"quality {gain}", swept))
        faster = None if math.isnan(against.times_faster) else against.times_faster >= TIMES_FASTER
        what = f"at least {TIMES_FASTER:.0f} times faster than {against.judge}"
        found.append(Bar(what, f"{against.times_faster:.0f} times", faster))
    return found


def _schedules(row: Row) -> list[Bar]:
    if row.standing is None:
        return []
    saving, share = row.standing.schedules.saving, row.standing.headroom
    return [
        Bar(
            f"at least {SAVING:.0%} fewer steps than the best schedules, at equal quality",
            f"{percent(saving)}; the schedules reach the quality in {row.standing.schedules.reached:.0%} "
            "of the resamples",
            _at_least(saving, SAVING),
        ),
        Bar(
            "better than the best schedules at equal steps, interval above zero",
            str(row.standing.schedules.gain),
            row.standing.schedules.gain.above_zero,
        ),
        Bar(
            f"at least {HEADROOM:.0%} of the oracle's headroom in steps at equal quality",
            percent(share.steps),
            _at_least(share.steps, HEADROOM),
        ),
        Bar(
            f"at least {HEADROOM:.0%} of the oracle's headroom in utility",
            percent(share.utility),
            _at_least(share.utility, HEADROOM),
        ),
    ]


def _rivals(row: Row, cost: float) -> list[Bar]:
    if row.standing is None:
        return []
    return [
        Bar(
            f"utility at {cost:g} a step above that of {name}, interval above zero",
            str(row.standing.utility[name]),
            row.standing.utility[name].above_zero,
        )
        for name in _RIVALS
    ]


def _calibrated(row: Row) -> list[Bar]:
    if row.calibration is None:
        return []
    told = f"{row.calibration.ece:.3f} over {row.calibration.states} states"
    return [Bar(f"ECE of the FINISH value at most {ECE:g}", told, row.calibration.ece <= ECE)]


def _left_out(scope: Scope, policy: str) -> Bar:
    what = f"not below the best schedules on {scope.name}, trained without it"
    standing = next((row.standing for row in scope.rows if row.name == policy), None)
    if standing is None:
        return Bar(what, "not measured", None)
    gain = standing.schedules.gain
    return Bar(what, f"{gain} at equal steps", gain.estimate >= 0)


def _at_least(found: Interval, bar: float) -> bool | None:
    return None if math.isnan(found.estimate) else found.estimate >= bar


def percent(found: Interval) -> str:
    """``27 % [20, 33]``."""
    if math.isnan(found.estimate):
        return "–"
    return f"{100 * found.estimate:.0f} % [{100 * found.low:.0f}, {100 * found.high:.0f}]"
