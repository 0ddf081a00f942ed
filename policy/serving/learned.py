"""The learned source of decisions: the active policy, loaded at its first decision, and its reason."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from agent.decisions.decider import Decision, PolicyState
from agent.decisions.features import features
from agent.decisions.learned import LEARNED
from agent.decisions.state_text import state_text
from agent.state import Action
from policy.decisions.trees import Seen, default_action
from policy.serving.folder import MANIFEST, BadPolicy, open_policy, read
from policy.serving.registry import Registry, base_of
from policy.serving.scorers import Rule, Scorer
from traces.errors import DeepthinkError

_NUMBERS = "none one two three four five six seven eight nine ten".split()
_HELPS = 0.5  # the grader's probability from which a passage is said to help
_ASKED = 60  # characters of a sub-question that are quoted


def reason(state: PolicyState, valid: tuple[Action, ...], action: Action, sufficient: float) -> str:
    """One line: what the policy saw in ``state``, and how sure it is that the evidence is complete.

    It is made from the state and the scores, and does not say how the policy weighed them.
    """
    facts = [part for part in (_answered(state), _missing(state), _searched(state)) if part]
    sure = f"{sufficient:.0%} sure that the evidence is complete"
    return f"{', '.join(facts)}; {sure}{_departure(valid, action)}"


def _answered(state: PolicyState) -> str:
    answered = sum(bool(finding["found"]) for finding in state.findings)
    asked = answered + len(state.missing) + len(state.open_questions)
    if asked == 0:
        return ""
    if asked == 1:
        return "the one sub-question is answered" if answered else "the one sub-question is unanswered"
    if answered == asked:
        return (
            "both sub-questions answered" if asked == 2 else f"all {_number(asked)} sub-questions answered"
        )
    return f"{_number(answered)} of {_number(asked)} sub-questions answered"


def _missing(state: PolicyState) -> str:
    if not state.missing:
        return ""
    asked = state.missing[-1]
    short = asked if len(asked) <= _ASKED else f"{asked[: _ASKED - 1].rstrip()}…"
    return f"nothing found on “{short}”"


def _searched(state: PolicyState) -> str:
    if state.step == 0:
        return "nothing searched yet"
    if state.barren > 1:
        return f"the last {_number(state.barren)} searches brought nothing new"
    if state.fresh == 0:
        return "the last search brought nothing new"
    found = "one new passage" if state.fresh == 1 else f"{_number(state.fresh)} new passages"
    helping = sum(score >= _HELPS for score in state.scores)
    return f"the last search brought {found}{'' if helping else ', none that clearly helps'}"


def _departure(valid: tuple[Action, ...], action: Action) -> str:
    default = default_action(valid)
    if action == default or len(valid) == 1:
        return ""
    if action == "FINISH":
        return ", so the rest of the plan is left out"
    if default == "FINISH":
        return ", so it asks anew before it answers"
    return ", so it plans anew instead of going on"


def _number(count: int) -> str:
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)


class LearnedDecider:
    """A scorer and its frozen rule as an `agent.decisions.decider.Decider`."""

    name = LEARNED

    def __init__(self, scorer: Scorer, rule: Rule) -> None:
        self._scorer = scorer
        self._rule = rule

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """Deterministic; its behaviour probability is 1.

        Raises:
            BadPolicy: the scores are no numbers.
        """
        began = time.perf_counter()
        state_seen = seen(state, valid)
        scores = self._scorer.score([state_seen])
        advantages, sufficient = scores.advantages[0], float(scores.sufficiency[0])
        if np.isnan(advantages).any() or not np.isfinite(advantages.max()) or np.isnan(sufficient):
            raise BadPolicy("The policy's scores are no numbers.", "`deepthink policy rollback`.")
        action = self._rule.action(state_seen.valid, advantages)
        probabilities = self._rule.probabilities(state_seen.valid, advantages)
        why = reason(state, state_seen.valid, action, min(max(sufficient, 0.0), 1.0))
        latency = (time.perf_counter() - began) * 1000
        return Decision(action, probabilities, self.name, latency, why)


class Served:
    """The policy in a folder as an `agent.decisions.learned.Policy`: nothing is read before it is asked.

    Attributes:
        warning: What a person should know of how it was chosen.
        made_of: What tells it from a policy of the same name that was changed since.
    """

    def __init__(self, folder: Path, warning: str = "") -> None:
        self.folder = folder
        self.warning = warning
        self.made_of = (folder, _changed(folder), warning)
        self._lock = threading.Lock()
        self._decider: LearnedDecider | None = None
        self._failure: DeepthinkError | None = None

    @property
    def name(self) -> str:
        """The policy's."""
        return self.folder.name

    @property
    def failed(self) -> bool:
        """Whether it could not be loaded; a new one of the same folder would try again."""
        return self._failure is not None

    def decider(self) -> LearnedDecider:
        """It, loaded.

        Raises:
            DeepthinkError: it cannot be loaded; asked again it says the same at once.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._decider is None:
                try:
                    scorer, rule, _ = open_policy(self.folder, base_of(read(self.folder)))
                except DeepthinkError as failure:
                    self._failure = failure
                    raise
                self._decider = LearnedDecider(scorer, rule)
            return self._decider


def active_policy(registry: Registry | None = None) -> Served | None:
    """The active policy, not yet loaded; None where nothing is in the box and nothing was chosen."""
    active = (registry or Registry()).active()
    return Served(active.folder, active.warning) if active.folder else None


def _changed(folder: Path) -> int:
    """When the manifest was written, in nanoseconds; 0 if it is not there."""
    try:
        return (folder / MANIFEST).stat().st_mtime_ns
    except OSError:
        return 0


def seen(state: PolicyState, valid: Sequence[Action]) -> Seen:
    """The state as a policy is given it, to the digit as it is stored with the decision."""
    return Seen(state_text(state), features(state), tuple(valid))
