"""The gate: the rule by which a new policy may become the active one, stated before anything is measured.

The rule is data (`RULE`) with its words (`stated`); what it is applied to is measured on held-out questions
by walking their trees (`measure`). It passes a policy or says which of its conditions does not hold.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from policy.decisions.trees import HELD_OUT, Tree, default_action
from policy.judging.bootstrap import Interval, difference, draws
from policy.judging.freezing import Frozen
from policy.judging.walking import Outcomes, follow, follow_each, score
from policy.serving.folder import Gate, open_policy, read
from policy.serving.registry import Registry, base_of
from policy.serving.scorers import Rule, Scorer
from policy.training.progress import Verdict
from traces.errors import DeepthinkError


@dataclass(frozen=True, slots=True)
class GateRule:
    """What a policy has to fulfil. Utility is quality less the cost of the steps.

    Attributes:
        questions: Held-out questions whose outcome is known, at least.
        known: Share of the held-out questions whose outcome is known, at least: on real runs, which hold
            one path each, the rest would be left out by what the policy itself does.
        gain: The interval of the utility over the default schedule's lies above this.
        unseen: So many more questions, each lost entirely, would leave a gain. A policy gains many steps
            and loses few answers: of a loss that is rarer than 3 in n, n questions may have none, and no
            resampling then shows it (the rule of three: Hanley and Lippman-Hand, 1983).
        loss: That over the active policy's lies above minus this.
        error: Expected calibration error of the probability that the evidence is complete, at most.
        milliseconds: Of a decision on a state of usual length, less than this.
    """

    questions: int = 100
    known: float = 0.9
    gain: float = 0.0
    unseen: int = 1
    loss: float = 0.01
    error: float = 0.10
    milliseconds: float = 60.0


RULE = GateRule()
_TIMED = 100  # decisions, or
_SECONDS = 10.0  # as many as that allows


@dataclass(frozen=True, slots=True)
class Opponent:
    """The active policy, which a new one must not fall behind.

    Attributes:
        name: Its name.
        scorer: What scores.
        rule: Its frozen rule.
        data: sha256 of what it was learned from and frozen on.
    """

    name: str
    scorer: Scorer
    rule: Rule
    data: str = ""


@dataclass(frozen=True, slots=True)
class Measured:
    """What the rule is applied to.

    Attributes:
        questions: Held-out questions.
        known: Those whose outcome is known.
        gain: Utility less the default schedule's, paired by question.
        over_active: Utility less the active policy's; None where there is none to compare with.
        active: Its name; "" for none.
        error: Expected calibration error; NaN where it is not known.
        milliseconds: Of a decision, see `processor_ms`.
    """

    questions: int
    known: int
    gain: Interval
    over_active: Interval | None
    active: str
    error: float
    milliseconds: float


def stated(rule: GateRule = RULE) -> str:
    """The rule in words."""
    return (
        f"On at least {rule.questions} held-out questions, and with a known outcome for at least "
        f"{rule.known:.0%} of them: the 95% interval of the utility gained over the default schedule lies "
        f"above {rule.gain:g}, and {rule.unseen} more of them, lost entirely, would leave a gain; that of "
        f"the utility gained over the active policy lies above {-rule.loss:g}; the calibration error is "
        f"at most {rule.error:g}; a decision takes less than {rule.milliseconds:g} ms."
    )


def too_few(held_out: int, rule: GateRule = RULE) -> str:
    """What to say before a training whose policy the gate will refuse for want of questions; "" if not."""
    if held_out >= rule.questions:
        return ""
    return (
        f"{held_out} questions are held out, one in {HELD_OUT}, and the gate wants {rule.questions}: what "
        "is trained on these becomes active with --force only. "
        f"About {HELD_OUT * rule.questions} questions in all are enough: `deepthink collect`."
    )


def ask(
    frozen: Frozen, trees: Sequence[Tree], cost: float, registry: Registry, data: str
) -> tuple[Verdict, Gate]:
    """The verdict on a new policy, and what its manifest keeps of it.

    Args:
        frozen: The policy.
        trees: The held-out questions that it was frozen on.
        cost: Of a step, in quality.
        registry: Knows the active policy.
        data: sha256 of what it was learned from and frozen on.

    Raises:
        ValueError: there are no trees.
    """
    active = opponent(registry)
    fitted = frozen.fitted if active is not None and active.data == data else None
    ece = frozen.calibration.ece
    verdict = judge(measure(frozen.crossed, trees, frozen.scorer, ece, cost, active, fitted))
    return verdict, record(verdict)


def measure(
    walked: Outcomes,
    trees: Sequence[Tree],
    scorer: Scorer,
    error: float,
    cost: float,
    active: Opponent | None = None,
    fitted: Outcomes | None = None,
) -> Measured:
    """Measure a new policy.

    Args:
        walked: What becomes of ``trees`` under it, in their order.
        trees: Held-out questions.
        scorer: The policy, to time it.
        error: Expected calibration error of its sufficiency on them.
        cost: Of a step, in quality.
        active: What it must not fall behind.
        fitted: As ``walked``, but with the one margin that was chosen on all these questions; given where
            the active policy's was chosen on them too. It is as flattered, and the same policy trained
            again does not lose against itself.

    Raises:
        ValueError: there are no trees.
    """
    drawn = draws(len(trees))
    utility = walked.utility(cost)
    default = follow("default", trees, lambda node: default_action(node.valid))
    over_active = None
    if active is not None:
        theirs = follow_each(active.name, trees, score(trees, active.scorer).deciders(active.rule))
        over_active = difference((fitted or walked).utility(cost), theirs.utility(cost), drawn)
    return Measured(
        questions=len(trees),
        known=len(trees) - walked.unknown,
        gain=difference(utility, default.utility(cost), drawn),
        over_active=over_active,
        active=active.name if active else "",
        error=error,
        milliseconds=processor_ms(scorer, trees),
    )


def processor_ms(scorer: Scorer, trees: Sequence[Tree]) -> float:
    """Milliseconds that the deciding thread computes for one state of usual length, as a run scores it.

    The best of many, and by the thread's own clock: what other programs take from the machine meanwhile,
    which is often much while something is trained, is not the policy's.
    """
    states = sorted(
        (node.seen for tree in trees for node in tree.nodes.values()), key=lambda s: len(s.text)
    )
    usual = states[len(states) // 2]
    scorer.score([usual])  # loads what is loaded at first use
    taken: list[float] = []
    until = time.monotonic() + _SECONDS
    while not taken or (len(taken) < _TIMED and time.monotonic() < until):
        began = time.thread_time()
        scorer.score([usual])
        taken.append((time.thread_time() - began) * 1000)
    return min(taken)


def judge(measured: Measured, rule: GateRule = RULE) -> Verdict:
    """Whether the rule holds, and why in words."""
    broken = list(_broken(measured, rule))
    gained = f"utility over the default schedule {measured.gain} on {measured.known} held-out questions"
    reason = "; ".join(broken) if broken else gained
    return Verdict(not broken, f"{reason[0].upper()}{reason[1:]}.", _measures(measured))


def record(verdict: Verdict, rule: GateRule = RULE) -> Gate:
    """The verdict as a manifest keeps it, with the rule that was applied."""
    return Gate(
        passed=verdict.passed, reason=verdict.reason, rule=stated(rule), measures=dict(verdict.measures)
    )


def opponent(registry: Registry) -> Opponent | None:
    """The active policy, loaded; None where there is none, or it cannot be loaded and decides nothing."""
    active = registry.active()
    if active.folder is None:
        return None
    try:
        scorer, rule, manifest = open_policy(active.folder, base_of(read(active.folder)))
    except DeepthinkError:
        return None
    return Opponent(manifest.name, scorer, rule, manifest.data.sha256)


def _broken(found: Measured, rule: GateRule) -> Iterator[str]:
    """Which conditions do not hold; NaN fulfils none."""
    if found.known < rule.questions:
        yield f"the outcome of {found.known} held-out questions is known, and {rule.questions} are needed"
    if found.known < rule.known * found.questions:
        yield (
            f"what it does was tried in only {found.known} of {found.questions} held-out questions; "
            "`deepthink collect` tries everything"
        )
    if not found.gain.low > rule.gain:
        yield f"its utility over the default schedule, {found.gain}, is not above {rule.gain:g} for sure"
    if not found.gain.estimate * found.known > rule.unseen:
        yield (
            f"its utility over the default schedule, {found.gain}, would be gone with {rule.unseen} more "
            f"question lost entirely, which {found.known} questions need not show"
        )
    if found.over_active is not None and not found.over_active.low > -rule.loss:
        yield (
            f"its utility over the active policy {found.active}, {found.over_active}, is not above "
            f"{-rule.loss:g} for sure"
        )
    if not found.error <= rule.error:
        known = f"is {found.error:.3f}" if not math.isnan(found.error) else "is not known"
        yield f"its calibration error {known}, and {rule.error:g} is the most"
    if not found.milliseconds < rule.milliseconds:
        most = f"{rule.milliseconds:g}"
        yield f"a decision takes {found.milliseconds:.0f} ms, and it has to be less than {most}"


def _measures(found: Measured) -> dict[str, object]:
    told: dict[str, object] = {
        "held-out questions": found.questions,
        "with a known outcome": found.known,
        "utility over the default schedule": _rounded(found.gain),
    }
    if found.over_active is not None:
        told[f"utility over the active policy {found.active}"] = _rounded(found.over_active)
    told["calibration error"] = round(found.error, 4)
    told["milliseconds a decision"] = round(found.milliseconds, 2)
    return told


def _rounded(interval: Interval) -> list[float]:
    return [round(value, 4) for value in (interval.estimate, interval.low, interval.high)]
