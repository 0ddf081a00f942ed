"""A learned policy as a decider: passed in by the caller, loaded at its first decision.

If it cannot be loaded or fails, the run warns once and the rules decide instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from agent.decisions.decider import Decider, Decision, PolicyState
from agent.decisions.judges import Rules
from agent.state import Action
from models.protocols import GenerationCancelled
from traces.errors import DeepthinkError

LEARNED = "learned"
"""The name of the source, regardless of the policy."""


class NoPolicy(DeepthinkError):
    """Raised when a learned policy should decide but there is none."""

    title = "No learned policy"
    kind = "input"


class Policy(Protocol):
    """A learned policy, which may not be loaded yet."""

    @property
    def name(self) -> str:
        """Its name."""
        ...

    @property
    def warning(self) -> str:
        """A warning for the user about how it was chosen, or ""."""
        ...

    def decider(self) -> Decider:
        """The loaded policy, always the same object. Thread-safe.

        Raises:
            DeepthinkError: It cannot be loaded; raised again at once on later calls.
        """
        ...


class Learned:
    """A learned policy as a decider; it raises the policy's errors."""

    name = LEARNED

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The policy's decision.

        Raises:
            NoPolicy: There is no policy.
            Exception: Any error of loading or asking it.
        """
        if self._policy is None:
            raise NoPolicy("There is no learned policy.", "`deepthink policy list` shows what there is.")
        return self._policy.decider().decide(state, valid)


class LearnedOrRules:
    """A learned policy, with the rules as fallback.

    ``warn`` takes warnings for the user inside a node; ``notice`` is one before the first decision, or "".
    """

    name = LEARNED

    def __init__(self, policy: Policy | None, warn: Callable[[str], None], notice: str = "") -> None:
        self._learned = Learned(policy)
        self._rules = Rules()
        self._warn = warn
        self._policy = policy
        self._notices = [text for text in (policy.warning if policy else "", notice) if text]
        self._failed = False

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The decision of the policy, or of the rules, which are then its source."""
        while self._notices:
            self._warn(self._notices.pop(0))
        try:
            decision = self._learned.decide(state, valid)
            _check(decision, valid)
        except GenerationCancelled:
            raise
        except Exception as failure:  # noqa: BLE001 - any failure of a policy is a warning
            self._warn_once(failure)
            return self._rules.decide(state, valid)
        return decision

    def _warn_once(self, failure: Exception) -> None:
        if self._failed:
            return
        self._failed = True
        if isinstance(failure, DeepthinkError):
            reason = failure.message
        else:
            name = self._policy.name if self._policy else ""
            reason = f"The policy {name} failed: {type(failure).__name__}: {failure}."
        self._warn(f"{reason} The rules decide instead.")


def _check(decision: Decision, valid: Sequence[Action]) -> None:
    if decision.action not in valid:
        raise ValueError(f"it chose {decision.action}, which is not possible here")
