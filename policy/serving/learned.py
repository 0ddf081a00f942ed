"""The learned source of decisions: the active policy, loaded at its first decision, and its reason."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from agent.decisions.decider import Decision, PolicyState
from agent.decisions.features import features, state_text
from agent.decisions.sources import LEARNED
from agent.state import Action
from policy.decisions import Seen, default_action
from policy.serving.folder import MANIFEST, BadPolicy, open_policy
from policy.serving.registry import Registry
from policy.serving.scorers import Rule, Scorer
from traces.errors import DeepthinkError

_NUMBERS = "none one two three four five six seven eight nine ten".split()
_HELPS = 0.5  # grader's probability from which a passage counts as helpful
_TRIES: Mapping[Action, str] = {
    "MORE": "reads more passages",
    "WORDS": "searches in other words",
    "ASK": "asks the model",
}
_QUOTED = 60  # characters of a sub-question that are quoted


def reason(state: PolicyState, valid: tuple[Action, ...], action: Action, sufficient: float) -> str:
    """One line: what the policy saw in ``state``, and how sure it is that the evidence is complete.

    It is derived from the state and the scores, and does not say how the policy weighed them.
    """
    facts = [part for part in (_answered(state), _missing(state), _searched(state)) if part]
    sure = f"{sufficient:.0%} sure that the evidence is complete"
    return f"{', '.join(facts)}; {sure}{_departure(valid, action)}"


def _answered(state: PolicyState) -> str:
    answered = sum(bool(finding["found"]) for finding in state.findings)
    total = answered + len(state.missing) + len(state.open_questions)
    if total == 0:
        return ""
    if total == 1:
        return "the one sub-question is answered" if answered else "the one sub-question is unanswered"
    if answered == total:
        return (
            "both sub-questions answered" if total == 2 else f"all {_number(total)} sub-questions answered"
        )
    return f"{_number(answered)} of {_number(total)} sub-questions answered"


def _missing(state: PolicyState) -> str:
    if not state.missing:
        return ""
    question = state.missing[-1]
    excerpt = question if len(question) <= _QUOTED else f"{question[: _QUOTED - 1].rstrip()}…"
    return f"found no answer to “{excerpt}”"


def _searched(state: PolicyState) -> str:
    if state.step == 0:
        return "nothing searched yet"
    if state.barren > 1:
        return f"the last {_number(state.barren)} searches brought nothing new"
    if state.fresh == 0:
        return "the last search brought nothing new"
    passages = "one new passage" if state.fresh == 1 else f"{_number(state.fresh)} new passages"
    helping = sum(score >= _HELPS for score in state.scores)
    return f"the last search brought {passages}{'' if helping else ', none that clearly helps'}"


def _departure(valid: tuple[Action, ...], action: Action) -> str:
    default = default_action(valid)
    if action == default or len(valid) == 1:
        return ""
    if action in _TRIES:
        return f", so it {_TRIES[action]}"
    if action == "FINISH":
        return ", so the rest of the plan is skipped"
    if default == "FINISH":
        return ", so it plans another search before it answers"
    return ", so it changes the plan instead of following it"


def _number(count: int) -> str:
    return _NUMBERS[count] if 0 <= count < len(_NUMBERS) else str(count)


class Served:
    """The policy in a folder as an `agent.decisions.sources.Policy`: loaded at its first decision.

    ``warning`` is what the user should know about how it was selected.
    """

    def __init__(self, folder: Path, warning: str = "") -> None:
        self.folder = folder
        self.name = folder.name
        self.warning = warning
        self._lock = threading.Lock()
        self._loaded: tuple[Scorer, Rule] | None = None
        self._failure: DeepthinkError | None = None

    @property
    def failed(self) -> bool:
        """Whether it could not be loaded; a new instance for the same folder would try again."""
        return self._failure is not None

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """As `decide`, with the scorer and the rule in the folder.

        Raises `DeepthinkError` if it cannot be loaded; later calls raise the same error at once.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._loaded is None:
                try:
                    scorer, manifest = open_policy(self.folder)
                except DeepthinkError as failure:
                    self._failure = failure
                    raise
                self._loaded = scorer, manifest.rule
        return decide(*self._loaded, state, valid)


def decide(scorer: Scorer, rule: Rule, state: PolicyState, valid: Sequence[Action]) -> Decision:
    """The decision of a policy. It is deterministic: its behaviour probability is 1.

    Raises `BadPolicy` if the scores are not numbers.
    """
    began = time.perf_counter()
    view = Seen(state_text(state), features(state), tuple(valid))  # as stored with the decision
    scores = scorer.score([view])
    advantages, sufficient = scores.advantages[0], float(scores.sufficiency[0])
    if np.isnan(advantages).any() or not np.isfinite(advantages.max()) or np.isnan(sufficient):
        raise BadPolicy("The policy's scores are not numbers.", "`deepthink policy rollback`.")
    action = rule.action(view.valid, advantages)
    probabilities = rule.probabilities(view.valid, advantages)
    explanation = reason(state, view.valid, action, min(max(sufficient, 0.0), 1.0))
    latency = (time.perf_counter() - began) * 1000
    return Decision(action, probabilities, LEARNED, latency, explanation)


def active_policy(registry: Registry | None = None) -> Served | None:
    """The active policy, loaded at its first decision; None if the rules decide.

    It is looked up each time, since another process may change it, and stays the same object until then.
    One that could not be loaded is tried again.
    """
    active = (registry or Registry()).active()
    if active.folder is None:
        return None
    manifest = active.folder / MANIFEST
    key = active.folder, active.warning, manifest.stat().st_mtime_ns if manifest.exists() else 0
    if _served(*key).failed:
        _served.cache_clear()
    return _served(*key)


@lru_cache(maxsize=1)
def _served(folder: Path, warning: str, _changed_ns: int) -> Served:
    return Served(folder, warning)
