"""The gate: the rule a new policy must pass to become the active one, stated before anything is measured.

`measure` walks the trees of held-out questions; `judge` passes a policy or says which conditions fail.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from policy.decisions.trees import HELD_OUT, Tree, default_action
from policy.judging.bootstrap import Interval, difference, draws
from policy.judging.freezing import Frozen
from policy.judging.walking import Outcomes, follow, follow_each, score
from policy.serving.folder import Gate, open_policy, read
from policy.serving.registry import Registry, base_of
from policy.serving.scorers import Rule, Scorer
from policy.training.progress import Verdict
from traces.errors import DeepthinkError

QUESTIONS: Final = 100  # minimum of held-out questions with a known outcome
KNOWN: Final = 0.9  # minimum share of the held-out questions with a known outcome
# The gain must survive this many more questions, each lost entirely. A loss rarer than 3 in n may not occur
# in n questions, and resampling cannot show it then (rule of three: Hanley and Lippman-Hand, 1983).
UNSEEN: Final = 1
LOSS: Final = 0.01  # the interval of the utility over the active policy lies above minus this
ERROR: Final = 0.10  # maximum calibration error of the probability that the evidence is complete
MILLISECONDS: Final = 60.0  # a decision on a state of median length takes less than this
_TIMED = 100  # timed decisions at most
_SECONDS = 10.0  # time limit for timing them

STATED: Final = (
    f"On at least {QUESTIONS} held-out questions, and with a known outcome for at least {KNOWN:.0%} of "
    "them: the 95% interval of the utility gained over the default schedule lies above 0, and "
    f"{UNSEEN} more of them, lost entirely, would leave a gain; that of the utility gained over the active "
    f"policy lies above {-LOSS:g}; the calibration error is at most {ERROR:g}; a decision takes less than "
    f"{MILLISECONDS:g} ms."
)
"""The rule in words. Utility is quality less the cost of the steps."""


@dataclass(frozen=True, slots=True)
class Opponent:
    """The active policy, which a new one must not fall behind; ``data``: sha256 of its training data."""

    name: str
    scorer: Scorer
    rule: Rule
    data: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements that the rule is applied to.

    Attributes:
        questions: Held-out questions.
        known: Those whose outcome is known.
        gain: Utility less the default schedule's, paired by question.
        over_active: Utility less the active policy's; None if there is no policy to compare with.
        active: Name of the active policy; "" if there is none.
        error: Expected calibration error; NaN if it is not known.
        milliseconds: Of a decision, see `processor_ms`.
    """

    questions: int
    known: int
    gain: Interval
    over_active: Interval | None
    active: str
    error: float
    milliseconds: float


def too_few(held_out: int) -> str:
    """The warning that a training has too few questions for the gate; "" if it has enough."""
    if held_out >= QUESTIONS:
        return ""
    return (
        f"{held_out} questions are held out, one in {HELD_OUT}, and the gate wants {QUESTIONS}: what "
        "is trained on these becomes active with --force only. "
        f"About {HELD_OUT * QUESTIONS} questions in all are enough: `deepthink collect`."
    )


def ask(
    frozen: Frozen, trees: Sequence[Tree], cost: float, registry: Registry, data: str
) -> tuple[Verdict, Gate]:
    """The verdict on a new policy, and the record of it for its manifest.

    Args:
        trees: The held-out questions that it was frozen on, at least one.
        cost: Of a step, in quality.
        registry: Provides the active policy.
        data: sha256 of the data it was trained and frozen on.
    """
    active = opponent(registry)
    fitted = frozen.fitted if active is not None and active.data == data else None
    ece = frozen.calibration.ece
    verdict = judge(measure(frozen.crossed, trees, frozen.scorer, ece, cost, active, fitted))
    return verdict, recorded(verdict)


def measure(
    outcomes: Outcomes,
    trees: Sequence[Tree],
    scorer: Scorer,
    error: float,
    cost: float,
    active: Opponent | None = None,
    fitted: Outcomes | None = None,
) -> Measured:
    """Measure a new policy.

    Args:
        outcomes: The outcomes of ``trees`` under the policy, in their order.
        trees: Held-out questions, at least one.
        scorer: The policy, to time it.
        error: Expected calibration error of its sufficiency on ``trees``.
        cost: Of a step, in quality.
        active: The policy it must not fall behind.
        fitted: As ``outcomes``, but with the single margin chosen on all these questions; given if the
            active policy's margin was chosen on them too, so that a policy does not lose against itself.
    """
    resamples = draws(len(trees))
    utility = outcomes.utility(cost)
    default = follow("default", trees, lambda node: default_action(node.valid))
    over_active = None
    if active is not None:
        theirs = follow_each(active.name, trees, score(trees, active.scorer).deciders(active.rule))
        over_active = difference((fitted or outcomes).utility(cost), theirs.utility(cost), resamples)
    return Measured(
        questions=len(trees),
        known=len(trees) - outcomes.unknown,
        gain=difference(utility, default.utility(cost), resamples),
        over_active=over_active,
        active=active.name if active else "",
        error=error,
        milliseconds=processor_ms(scorer, trees),
    )


def processor_ms(scorer: Scorer, trees: Sequence[Tree]) -> float:
    """CPU milliseconds of the deciding thread for one state of median length, scored as in a run.

    The minimum of many, on the thread's own clock: the load of other programs, often high during training,
    is not the policy's.
    """
    states = sorted(
        (node.seen for tree in trees for node in tree.nodes.values()), key=lambda s: len(s.text)
    )
    median_state = states[len(states) // 2]
    scorer.score([median_state])  # lazy loading happens here
    durations: list[float] = []
    until = time.monotonic() + _SECONDS
    while not durations or (len(durations) < _TIMED and time.monotonic() < until):
        began = time.thread_time()
        scorer.score([median_state])
        durations.append((time.thread_time() - began) * 1000)
    return min(durations)


def judge(measured: Measured) -> Verdict:
    """Whether the rule holds, with the reasons."""
    failures = list(_failed_conditions(measured))
    success = f"utility over the default schedule {measured.gain} on {measured.known} held-out questions"
    reason = "; ".join(failures) if failures else success
    return Verdict(not failures, f"{reason[0].upper()}{reason[1:]}.", _measures(measured))


def recorded(verdict: Verdict) -> Gate:
    """The verdict as recorded in a manifest, with the rule that was applied."""
    measures = dict(verdict.measures)
    return Gate(passed=verdict.passed, reason=verdict.reason, rule=STATED, measures=measures)


def opponent(registry: Registry) -> Opponent | None:
    """The active policy, loaded; None if there is none or it cannot be loaded."""
    active = registry.active()
    if active.folder is None:
        return None
    try:
        scorer, rule, manifest = open_policy(active.folder, base_of(read(active.folder)))
    except DeepthinkError:
        return None
    return Opponent(manifest.name, scorer, rule, manifest.data.sha256)


def _failed_conditions(measured: Measured) -> Iterator[str]:
    """The conditions that do not hold; NaN satisfies none."""
    if measured.known < QUESTIONS:
        yield f"the outcome of {measured.known} held-out questions is known, and {QUESTIONS} are needed"
    if measured.known < KNOWN * measured.questions:
        yield (
            f"what it does was tried in only {measured.known} of {measured.questions} held-out questions; "
            "`deepthink collect` tries everything"
        )
    if not measured.gain.low > 0:
        yield f"its utility over the default schedule, {measured.gain}, is not above 0 for sure"
    if not measured.gain.estimate * measured.known > UNSEEN:
        yield (
            f"its utility over the default schedule, {measured.gain}, would be gone with {UNSEEN} more "
            f"question lost entirely, which {measured.known} questions need not show"
        )
    if measured.over_active is not None and not measured.over_active.low > -LOSS:
        yield (
            f"its utility over the active policy {measured.active}, {measured.over_active}, is not above "
            f"{-LOSS:g} for sure"
        )
    if not measured.error <= ERROR:
        error = f"is {measured.error:.3f}" if not math.isnan(measured.error) else "is not known"
        yield f"its calibration error {error}, and {ERROR:g} is the most"
    if not measured.milliseconds < MILLISECONDS:
        yield f"a decision takes {measured.milliseconds:.0f} ms, and the limit is {MILLISECONDS:g} ms"


def _measures(measured: Measured) -> dict[str, object]:
    figures: dict[str, object] = {
        "held-out questions": measured.questions,
        "with a known outcome": measured.known,
        "utility over the default schedule": _rounded(measured.gain),
    }
    if measured.over_active is not None:
        figures[f"utility over the active policy {measured.active}"] = _rounded(measured.over_active)
    figures["calibration error"] = round(measured.error, 4)
    figures["milliseconds a decision"] = round(measured.milliseconds, 2)
    return figures


def _rounded(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.estimate, interval.low, interval.high)]
