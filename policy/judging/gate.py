"""The gate: the rule a new policy must pass to become the active one, stated before anything is measured.

`measure` walks the trees of held-out questions; `judge` passes a policy or says which conditions fail.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from policy.decisions.trees import HELD_OUT, Tree
from policy.judging.bootstrap import Interval, mean
from policy.judging.calibration import Frozen
from policy.judging.walking import default_schedule, follow, score
from policy.serving.folder import open_policy
from policy.serving.manifest import GAIN, Gate, Manifest
from policy.serving.registry import Registry
from policy.serving.scorers import Rule, Scorer
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

Opened: TypeAlias = tuple[Scorer, Rule, Manifest]


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


def ask(frozen: Frozen, trees: Sequence[Tree], cost: float, registry: Registry, data: str) -> Gate:
    """The verdict on a new policy.

    Args:
        trees: The held-out questions that it was frozen on, at least one.
        cost: Of a step, in quality.
        registry: Provides the active policy.
        data: sha256 of the data it was trained and frozen on.
    """
    return judge(measure(frozen, trees, cost, opponent(registry), data))


def opponent(registry: Registry) -> Opened | None:
    """The active policy, which a new one must not fall behind; None if there is none that can be loaded."""
    active = registry.active()
    if active.folder is None:
        return None
    try:
        return open_policy(active.folder)
    except DeepthinkError:
        return None


def measure(
    frozen: Frozen, trees: Sequence[Tree], cost: float, active: Opened | None, data: str
) -> Measured:
    """Measure a new policy; the arguments are those of `ask`, with the active policy opened."""
    utility = frozen.crossed.utility(cost)
    over_active, name = None, ""
    if active is not None:
        scorer, rule, manifest = active
        name = manifest.name
        theirs = follow(trees, score(trees, scorer).decide(rule)).utility(cost)
        # If the active policy's margin was chosen on these questions too, so is ours: a policy must not
        # lose against itself.
        ours = frozen.fitted.utility(cost) if manifest.data.sha256 == data else utility
        over_active = mean(ours - theirs)
    return Measured(
        questions=len(trees),
        known=len(trees) - frozen.crossed.unknown,
        gain=mean(utility - follow(trees, default_schedule).utility(cost)),
        over_active=over_active,
        active=name,
        error=frozen.calibration_error,
        milliseconds=processor_ms(frozen.scorer, trees),
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


def judge(measured: Measured) -> Gate:
    """Whether the rule holds, and why not; NaN satisfies no condition."""
    known, gain = measured.known, measured.gain
    error = "is not known" if math.isnan(measured.error) else f"is {measured.error:.3f}"
    conditions = [
        (
            known >= QUESTIONS,
            f"the outcome of {known} held-out questions is known, and {QUESTIONS} are needed",
        ),
        (
            known >= KNOWN * measured.questions,
            f"what it does was tried in only {known} of {measured.questions} held-out questions; "
            "`deepthink collect` tries everything",
        ),
        (gain.low > 0, f"its {GAIN}, {gain}, is not above 0 for sure"),
        (
            gain.estimate * known > UNSEEN,
            f"its {GAIN}, {gain}, would be gone with {UNSEEN} more question "
            f"lost entirely, which {known} questions need not show",
        ),
        (
            measured.over_active is None or measured.over_active.low > -LOSS,
            f"its utility over the active policy {measured.active}, {measured.over_active}, is not above "
            f"{-LOSS:g} for sure",
        ),
        (measured.error <= ERROR, f"its calibration error {error}, and {ERROR:g} is the most"),
        (
            measured.milliseconds < MILLISECONDS,
            f"a decision takes {measured.milliseconds:.0f} ms, and the limit is {MILLISECONDS:g} ms",
        ),
    ]
    failures = [words for holds, words in conditions if not holds]
    reason = (
        "; ".join(failures) or f"utility over the default schedule {gain} on {known} held-out questions"
    )
    measures: dict[str, object] = {
        "held-out questions": measured.questions,
        "with a known outcome": known,
        GAIN: _rounded(gain),
    }
    if measured.over_active is not None:
        measures[f"utility over the active policy {measured.active}"] = _rounded(measured.over_active)
    measures["calibration error"] = round(measured.error, 4)
    measures["milliseconds a decision"] = round(measured.milliseconds, 2)
    return Gate(
        passed=not failures, reason=f"{reason[0].upper()}{reason[1:]}.", rule=STATED, measures=measures
    )


def _rounded(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.estimate, interval.low, interval.high)]
