"""The bars that were set before anything was measured, and whether the learned policy meets them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from policy.evaluation.bars import Bar, percent
from policy.evaluation.bootstrap import Interval
from policy.systems.summary import (
    FAMILIES,
    FIXED,
    GUESS,
    LEARNED,
    ORACLE,
    SEARCH,
    SEED_SYSTEM,
    SHALLOW,
    Against,
    Scope,
    Summary,
    multihop,
)

LEADS: Final = {SHALLOW: 0.15, SEARCH: 0.06}
"""F1 by which the learned policy has to lead."""

SETS: Final = 2
"""On how many of the multi-hop sets it has to."""

BEHIND_ORACLE: Final = 0.03
OF_SEED: Final = 0.35
QUESTIONS: Final = 40
QUESTIONS_OF_SEED: Final = 20

_ROUNDING: Final = 1e-9  # a difference of means that is the bar itself meets it


def bars(summary: Summary, model: str) -> list[Bar]:
    """Every bar for one model; with too few questions a bar counts as not measured.

    A verdict is of the estimate; whether that is settled, the interval beside it says.
    """
    mine = [scope for scope in summary.scopes if scope.model == model]
    sets = multihop(scope.name for scope in mine)
    single = [scope for scope in mine if scope.name in sets]
    pooled = next((scope for scope in mine if sets and scope.sets == sets), None)
    return [_leads(single), _oracle(pooled), _schedules(pooled), *_seed(pooled)]


def points(found: Interval) -> str:
    """A difference of shares in hundredths: ``+12.3 [+4.0, +20.1]``."""
    if math.isnan(found.estimate):
        return "–"
    return f"{100 * found.estimate:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"


def of_answered(pair: Against) -> str:
    """The difference in F1 on the questions that both answer, in words."""
    count = pair.answered.questions
    return f"{points(pair.answered)} on the {count} that both answer" if count else "none that both answer"


def _leads(scopes: Sequence[Scope]) -> Bar:
    asked = " and ".join(f"at least {100 * lead:.0f} over {name}" for name, lead in LEADS.items())
    verdicts: list[bool | None] = []
    told = []
    for scope in scopes:
        pairs = {name: _enough(scope, name, QUESTIONS) for name in LEADS}
        gains = {name: pair.differences["f1"] for name, pair in pairs.items() if pair}
        met = [gain.estimate >= LEADS[name] - _ROUNDING for name, gain in gains.items()]
        # One lead that is too small settles a set, whatever the other would be.
        verdicts.append(False if not all(met) else (True if len(met) == len(LEADS) else None))
        leads = ", ".join(
            f"{points(gain)} over {name} ({of_answered(pair)})"
            for name, gain in gains.items()
            if (pair := pairs[name])
        )
        guessed = _enough(scope, GUESS, QUESTIONS)
        beside = f"; {points(guessed.differences['f1'])} over {GUESS}" if guessed else ""
        told.append(f"{scope.name}: {leads or 'not measured'}{beside}")
    absent = [name for name in FAMILIES if not any(scope.name.startswith(name) for scope in scopes)]
    told += [f"{name}: not measured" for name in absent]
    verdicts += [None] * len(absent)
    sure, open_ = verdicts.count(True), verdicts.count(None)
    met_all = True if sure >= SETS else (None if sure + open_ >= SETS else False)
    return Bar(f"F1 points: {asked}, on at least {SETS} multi-hop sets", ". ".join(told), met_all)


def _oracle(scope: Scope | None) -> Bar:
    what = f"within {100 * BEHIND_ORACLE:.0f} F1 points of the oracle"
    pair = _enough(scope, ORACLE, QUESTIONS)
    if pair is None or scope is None:
        return _not_measured(what, scope, ORACLE, QUESTIONS)
    gain = pair.differences["f1"]
    return Bar(what, f"{points(gain)} on {scope.name}", gain.estimate >= -BEHIND_ORACLE - _ROUNDING)


def _schedules(scope: Scope | None) -> Bar:
    """At no more steps than the cheapest fixed number of steps that is as good, as far as can be told.

    One that is surely worse is not of equal quality. Where one that takes fewer steps is worse in the
    estimate, but not surely so, the bar is not settled. Where all are surely worse the best of them stands
    in, so that the bar cannot be met by going on for ever.
    """
    what = "at no more steps than the best fixed number of steps of equal F1"
    pairs = [pair for name in FIXED if (pair := _enough(scope, name, QUESTIONS))]
    if not pairs or scope is None:
        return _not_measured(what, scope, "fixed numbers of steps", QUESTIONS)
    equal = [pair for pair in pairs if pair.differences["f1"].low <= _ROUNDING]
    if equal:
        rival = max(equal, key=lambda pair: pair.differences["steps"].estimate)
        why = ", the cheapest that is not surely worse"
    else:
        rival = min(pairs, key=lambda pair: pair.differences["f1"].estimate)
        why = ", the best of them; all are surely worse"
    steps = rival.differences["steps"]
    met = steps.estimate <= _ROUNDING
    as_good = [pair for pair in equal if pair.differences["f1"].estimate <= _ROUNDING]
    beaten = not equal or any(pair.differences["steps"].estimate > _ROUNDING for pair in as_good)
    told = f"{steps.estimate:+.2f} [{steps.low:+.2f}, {steps.high:+.2f}] steps and "
    told += f"{points(rival.differences['f1'])} F1 points to {rival.baseline}{why}, on {scope.name}"
    if not met and not beaten:
        return Bar(what, told, None, settled=False)
    return Bar(what, told, met)


def _seed(scope: Scope | None) -> list[Bar]:
    quality = f"F1 at least that of {SEED_SYSTEM}"
    shares = {
        name: f"{what} at most {100 * OF_SEED:.0f} % of those of {SEED_SYSTEM}"
        for name, what in {"seconds": "seconds", "evaluated": "evaluated tokens"}.items()
    }
    pair = _enough(scope, SEED_SYSTEM, QUESTIONS_OF_SEED)
    if pair is None or scope is None:
        return [
            _not_measured(what, scope, SEED_SYSTEM, QUESTIONS_OF_SEED)
            for what in (quality, *shares.values())
        ]
    on = f"on the {pair.questions} questions that both have of {scope.name}"
    gain = pair.differences["f1"]
    return [
        Bar(quality, f"{points(gain)} {on}", gain.estimate >= -_ROUNDING),
        *(
            Bar(what, f"{percent(found)} {on}", _at_most(found, OF_SEED))
            for name, what in shares.items()
            for found in [pair.ratios[name]]
        ),
    ]


def _enough(scope: Scope | None, baseline: str, questions: int) -> Against | None:
    pair = scope.pair(LEARNED, baseline) if scope else None
    return pair if pair and pair.differences["f1"].questions >= questions else None


def _not_measured(what: str, scope: Scope | None, baseline: str, questions: int) -> Bar:
    pair = scope.pair(LEARNED, baseline) if scope else None
    had = f": {pair.questions} of the {questions} questions that it takes" if pair else ""
    return Bar(what, f"not measured{had}", None)


def _at_most(found: Interval, bar: float) -> bool | None:
    return None if math.isnan(found.estimate) else found.estimate <= bar + _ROUNDING
