"""Judging a policy on held-out questions: walks, calibration, the margin, and the gate.

A question's outcome under a policy is read off its tree. On a tree with every path it is exact for any
policy. On a real run, which is one path, it is exact for policies that stop on the path, and unknown for
those that leave it.

`freeze` fits three things on the validation questions: a curve that turns the raw sufficiency into a
calibrated probability, the margin that an advantage must exceed, and the temperature of the displayed
probabilities. The same questions judge the policy, so the judgement is cross-fitted: each question is
walked with a margin chosen on the other held-out questions, and its calibration error is that of a curve
fitted without it. What is frozen in the end is fitted on all of them.

The gate is the rule a new policy must pass to become the active one, stated before anything is measured.
Intervals are percentile intervals of a paired bootstrap over questions (Efron and Tibshirani, 1993): every
policy and every baseline gets the same resampled questions.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

import numpy as np

from agent.state import Action
from policy.decisions import (
    HELD_OUT,
    Floats,
    Node,
    Seen,
    Tree,
    default_action,
    default_columns,
    examples,
    fold,
)
from policy.serving.card import difference
from policy.serving.folder import GAIN, Gate, open_policy
from policy.serving.scorers import IDENTITY, Calibrated, Curve, Rule, Scorer, Scores
from traces.errors import DeepthinkError

# --- intervals -----------------------------------------------------------------------------------

RESAMPLES = 2_000
SEED = 20_260_813
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its percentile interval; all NaN if nothing is known."""

    estimate: float
    low: float
    high: float

    def __str__(self) -> str:
        return difference((self.estimate, self.low, self.high))


NOTHING = Interval(math.nan, math.nan, math.nan)


@lru_cache(maxsize=32)
def _draws(questions: int) -> Floats:
    """How often each of ``questions`` questions is drawn, shape (1 + RESAMPLES, questions).

    In the first row every question counts once: that is the estimate itself.
    """
    rng = np.random.default_rng(SEED)
    counts = rng.multinomial(questions, np.full(questions, 1 / questions), size=RESAMPLES)
    return np.concatenate([np.ones((1, questions)), counts])


def means(columns: Mapping[str, Floats]) -> dict[str, Interval]:
    """The mean of each per-question measure, shape (n,); NaN is skipped."""
    if not columns:
        return {}
    table = np.stack(list(columns.values()), axis=1)
    known = ~np.isnan(table)
    counts = _draws(len(table))
    with np.errstate(invalid="ignore"):  # a resample may draw no known value
        samples = (counts @ np.where(known, table, 0.0)) / (counts @ known.astype(np.float64))
    return {name: _interval(samples[:, i]) for i, name in enumerate(columns)}


def mean(values: Floats) -> Interval:
    """The mean of a per-question measure, shape (n,), or of a paired difference; NaN is skipped."""
    return means({"": values})[""]


def _interval(samples: Floats) -> Interval:
    """The estimate ``samples[0]`` with the percentiles of the other samples."""
    resampled = samples[1:][~np.isnan(samples[1:])]
    if math.isnan(samples[0]) or not resampled.size:
        return NOTHING
    low, high = np.quantile(resampled, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(float(samples[0]), float(low), float(high))


# --- walking -------------------------------------------------------------------------------------

Decide: TypeAlias = Callable[[Node], Action | None]
"""A policy: the action for a state; None if that is not known (a judge that was not asked)."""


def default_schedule(node: Node) -> Action:
    """The default action, as a policy."""
    return default_action(node.valid)


def walk(tree: Tree, decide: Decide) -> Node | None:
    """Where ``decide`` finishes the question; None if it leaves the tree or finishing was not measured.

    Raises `ValueError` if it chose an action that is not valid.
    """
    node = tree.nodes[""]
    while True:
        action = decide(node)
        if action is not None and action not in node.valid:
            raise ValueError(f"{action} is not valid at {node.path!r} of {tree.question}: {node.valid}")
        if action == "FINISH":
            return None if node.quality is None else node
        child = tree.child(node, action) if action else None
        if child is None:
            return None
        node = child


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The outcomes of n questions under one policy, in the order of the trees: `walk` of each.

    Columns have shape (n,) and are NaN where the outcome is unknown, so that all means are over the same
    questions.
    """

    ends: Sequence[Node | None]

    @property
    def quality(self) -> Floats:
        """Of finishing."""
        return self._column(lambda node: node.quality)

    @property
    def steps(self) -> Floats:
        """Research steps taken."""
        return self._column(lambda node: node.steps)

    @property
    def unknown(self) -> int:
        """Questions whose outcome is not known."""
        return self.ends.count(None)

    def utility(self, cost: float) -> Floats:
        """Quality less ``cost`` times steps."""
        return self.quality - cost * self.steps

    def _column(self, measure: Callable[[Node], float | None]) -> Floats:
        known = [None if node is None else measure(node) for node in self.ends]
        return np.array(known, dtype=np.float64)  # NaN for None


def follow(trees: Iterable[Tree], decide: Decide) -> Outcomes:
    """Walk all trees with one policy."""
    return Outcomes([walk(tree, decide) for tree in trees])


@dataclass(frozen=True, slots=True)
class Scored:
    """Trees with a scorer's scores of all their states."""

    trees: Sequence[Tree]
    nodes: Sequence[Node]  # all states, in the order of the scores
    rows: Mapping[int, int]  # the row of each state in ``scores``, by the ``id`` of its `Seen`
    scores: Scores

    def decide(self, rule: Rule) -> Decide:
        """The rule applied to the scores."""
        return lambda node: rule.action(node.valid, self.scores.advantages[self.rows[id(node.seen)]])


def score(trees: Sequence[Tree], scorer: Scorer) -> Scored:
    """Score all states of all trees in one call."""
    nodes = [node for tree in trees for node in tree.nodes.values()]
    rows = {id(node.seen): row for row, node in enumerate(nodes)}
    return Scored(trees, nodes, rows, scorer.score([node.seen for node in nodes]))


# --- calibration ---------------------------------------------------------------------------------

_MARGINS = 60
_BINS: Final = 15
_EDGE = 1e-4  # probabilities stay this far from 0 and 1
_FOLDS = 5


def fit_curve(raw: Floats, targets: Floats) -> Curve:
    """Fit the curve from raw probabilities to ``targets``, 0 to 1, NaN where unknown.

    It is a line through the log-odds (Platt, 1999), and the identity if nothing is known or all states are
    alike. An isotonic curve is worse, since a question's states are correlated: over 1,555 states of 142
    questions it had an ECE of 0.041, the line 0.031 (crossed).
    """
    from sklearn.linear_model import LogisticRegression

    known = ~(np.isnan(raw) | np.isnan(targets))
    raw, targets = raw[known], targets[known]
    if not raw.size or targets.min() == targets.max() or raw.min() == raw.max():
        return IDENTITY
    odds = _log_odds(raw)[:, None]
    line = LogisticRegression(C=10.0).fit(
        np.concatenate([odds, odds]),
        np.repeat([1, 0], len(targets)),
        sample_weight=np.concatenate([targets, 1 - targets]),  # partial quality counts for both
    )
    x = np.linspace(_EDGE, 1 - _EDGE, 101)
    slope = max(0.0, float(line.coef_[0, 0]))
    return Curve(x, 1 / (1 + np.exp(-(slope * _log_odds(x) + float(line.intercept_[0])))))


def _log_odds(probability: Floats) -> Floats:
    clipped = np.clip(probability, _EDGE, 1 - _EDGE)
    return np.asarray(np.log(clipped / (1 - clipped)), dtype=np.float64)


def calibration_error(probabilities: Floats, targets: Floats) -> float:
    """Expected calibration error over bins of equal width (Guo et al., 2017).

    Both have shape (n,). NaN in either is skipped; the result is NaN if nothing is known.
    """
    known = ~(np.isnan(probabilities) | np.isnan(targets))
    probabilities, targets = probabilities[known], targets[known]
    if not probabilities.size:
        return float("nan")
    bin_of = np.minimum((probabilities * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.abs(np.bincount(bin_of, weights=probabilities - targets, minlength=_BINS))
    return float(gaps.sum() / probabilities.size)


def choose_margin(scored: Scored, trees: Sequence[Tree], cost: float, errors: float = 0.5) -> float:
    """The margin to freeze: the largest whose loss could be chance.

    Every margin that makes a difference is evaluated by walking ``trees``. The best is biased by the
    selection; a larger one deviates less often. So the largest is chosen whose mean utility is within
    ``errors`` standard errors of the best, the error being that of the paired difference (the
    one-standard-error rule of Breiman et al., 1984, on half an error: a whole one gives up half of what was
    learned).
    """
    margins = _candidates(scored.scores)
    utilities = np.stack(
        [follow(trees, scored.decide(Rule(margin, 1.0))).utility(cost) for margin in margins]
    )
    utilities = utilities[:, ~np.isnan(utilities).any(axis=0)]
    if not utilities.size:
        return margins[-1]
    means = utilities.mean(axis=1)
    best = int(np.argmax(means))
    questions = utilities.shape[1]
    differences = utilities[best] - utilities
    error = differences.std(axis=1, ddof=1) / np.sqrt(questions) if questions > 1 else 0.0
    acceptable = np.flatnonzero(means >= means[best] - errors * error - 1e-12)
    return margins[int(acceptable.max())]


def _candidates(scores: Scores) -> list[float]:
    """Margins from 0 to one that nothing exceeds, spread like the positive advantages."""
    best = scores.advantages.max(axis=1)
    positive = best[best > 0]
    if not positive.size:
        return [0.0]
    spread = np.quantile(positive, np.linspace(0.0, 1.0, _MARGINS))
    return sorted({0.0, *(float(np.round(value, 6)) for value in spread), float(positive.max()) + 1e-3})


def fit_temperature(states: Sequence[Seen], advantages: Floats, values: Floats, margin: float) -> float:
    """The temperature at which the displayed probabilities best predict the right action.

    It minimises the mean negative log-likelihood of the best action (Guo et al., 2017), over states in
    which the values of more than one action are known; equally good actions share the probability.
    ``advantages`` are the policy's, minus infinity where an action is not valid, and ``values`` what each
    action was worth, NaN where unknown; both have shape (n, actions).
    """
    usable = np.isfinite(values).sum(axis=1) > 1
    if not usable.any():
        return 1.0
    margins = np.full_like(advantages, margin)
    margins[np.arange(len(states)), default_columns(states)] = 0.0
    scores = (advantages - margins)[usable]
    best = np.nanmax(values[usable], axis=1, keepdims=True)
    targets = np.where(np.isclose(values[usable], best), 1.0, 0.0)
    targets /= targets.sum(axis=1, keepdims=True)

    def log_loss(temperature: float) -> float:
        scaled = (scores - scores.max(axis=1, keepdims=True)) / temperature
        logs = scaled - np.log(np.exp(scaled).sum(axis=1, keepdims=True))
        return float(-np.where(targets > 0, targets * np.maximum(logs, -50.0), 0.0).sum(axis=1).mean())

    spread = float(np.std(scores[np.isfinite(scores)])) or 1.0
    temperatures: list[float] = (spread * np.geomspace(0.02, 20.0, 61)).tolist()
    return min(temperatures, key=log_loss)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A policy ready to be judged and written."""

    scorer: Calibrated  # the scorer with calibrated sufficiency
    rule: Rule  # with the margin and the temperature
    crossed: Outcomes  # outcomes of the held-out questions, each with a margin chosen without it
    fitted: Outcomes  # the same with the rule, whose margin was chosen on all of them
    calibration_error: float  # of the sufficiency, each question with a curve fitted without it


def freeze(scorer: Scorer, validation: Sequence[Tree], cost: float, keep: Rule | None = None) -> Frozen:
    """Freeze ``scorer`` on the validation trees, which have qualities and were not trained on.

    A rule that is to be kept is not chosen anew: a few corrections hold out too few questions for that.
    """
    scored = score(validation, scorer)
    targets = examples(validation, cost)
    rows = [scored.rows[id(state)] for state in targets.states]
    raw, sufficient = scored.scores.sufficiency[rows], targets.sufficient
    if keep is None:
        margin = choose_margin(scored, validation, cost)
        advantages = scored.scores.advantages[rows]
        rule = Rule(margin, fit_temperature(targets.states, advantages, targets.values, margin))
    else:
        rule = keep
    fitted = follow(validation, scored.decide(rule))
    probabilities = np.full(len(raw), np.nan)
    fold_of = np.array([_fold_of(question) for question in targets.questions])
    for part in np.unique(fold_of):
        inside = fold_of == part
        probabilities[inside] = fit_curve(raw[~inside], sufficient[~inside])(raw[inside])
    return Frozen(
        Calibrated(scorer, fit_curve(raw, sufficient)),
        rule,
        fitted if keep else crossed(scored, cost),
        fitted,
        calibration_error(probabilities, sufficient),
    )


def crossed(scored: Scored, cost: float) -> Outcomes:
    """The outcome of each question, in tree order, with a margin chosen on the other folds."""
    parts = [_fold_of(tree.question) for tree in scored.trees]
    decide = {}
    for part in set(parts):
        others = [tree for tree, other in zip(scored.trees, parts, strict=True) if other != part]
        margin = choose_margin(scored, others or scored.trees, cost)
        decide[part] = scored.decide(Rule(margin, 1.0))
    return Outcomes([walk(tree, decide[part]) for tree, part in zip(scored.trees, parts, strict=True)])


def _fold_of(question: str) -> int:
    # Salted: by their bare ids all held-out questions are in one fold of the split.
    return fold(f"{question}\nheld out", _FOLDS)


# --- the gate ------------------------------------------------------------------------------------

# Minimum of held-out questions with a known outcome: an answer of each takes a language model some seconds.
QUESTIONS: Final = 40
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
    f"The outcome is known for at least {QUESTIONS} held-out questions, and for at least {KNOWN:.0%} of "
    "them. The 95% interval of the utility over the default schedule lies above 0, and a gain would be "
    f"left if {UNSEEN} more question went completely wrong. The 95% interval of the utility over the "
    f"active policy lies above {-LOSS:g}. The calibration error is at most {ERROR:g}. A decision "
    f"takes less than {MILLISECONDS:g} ms."
)
"""The rule in words. Utility is quality less the cost of the steps."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements that the rule is applied to."""

    questions: int  # held-out questions
    known: int  # those whose outcome is known
    gain: Interval  # utility less the default schedule's, paired by question
    over_active: Interval | None
    """Utility less the active policy's; None if there is no policy to compare with."""
    active: str  # name of the active policy; "" if there is none
    error: float  # expected calibration error; NaN if it is not known
    milliseconds: float  # of a decision, see `processor_ms`


def too_few(held_out: int) -> str:
    """The warning that a training has too few questions for the gate; "" if it has enough."""
    if held_out >= QUESTIONS:
        return ""
    return (
        f"{held_out} questions are held out, one in {HELD_OUT}, and the gate wants {QUESTIONS}: what "
        "is trained on these becomes active with --force only. "
        f"About {HELD_OUT * QUESTIONS} questions in all are enough: `deepthink collect`."
    )


def measure(frozen: Frozen, trees: Sequence[Tree], cost: float, active: Path | None, data: str) -> Measured:
    """Measure a new policy on the held-out questions that it was frozen on, at least one.

    ``active`` is the folder of the active policy, if any; ``data`` the sha256 of what the new one was
    trained and frozen on.
    """
    opponent = None
    if active is not None:
        with contextlib.suppress(DeepthinkError):  # one that cannot be loaded is no opponent
            opponent = open_policy(active)
    utility = frozen.crossed.utility(cost)
    over_active, name = None, ""
    if opponent is not None:
        scorer, manifest = opponent
        name = manifest.name
        theirs = follow(trees, score(trees, scorer).decide(manifest.rule)).utility(cost)
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
            f"the outcome is known for {known} held-out questions, and at least {QUESTIONS} are needed",
        ),
        (
            known >= KNOWN * measured.questions,
            f"what it does was tried in only {known} of {measured.questions} held-out questions; "
            "`deepthink collect` tries everything",
        ),
        (gain.low > 0, f"its {GAIN}, {gain}, is not surely above 0"),
        (
            not gain.low > 0 or gain.estimate * known > UNSEEN,  # only a sure gain can be gone
            f"its {GAIN}, {gain}, would be gone if {UNSEEN} more question "
            f"went completely wrong, and {known} questions are too few to rule that out",
        ),
        (
            measured.over_active is None or measured.over_active.low > -LOSS,
            f"its utility over the active policy {measured.active}, {measured.over_active}, is not "
            f"surely above {-LOSS:g}",
        ),
        (measured.error <= ERROR, f"its calibration error {error}, and may be at most {ERROR:g}"),
        (
            measured.milliseconds < MILLISECONDS,
            f"a decision takes {measured.milliseconds:.0f} ms, and may take {MILLISECONDS:g} ms",
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
