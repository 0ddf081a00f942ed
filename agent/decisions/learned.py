"""A learned policy as the graph uses it: handed in by whoever starts the run, loaded at its first decision,
and never a reason for a run to fail.

What a policy is made of is not known here. One that cannot be loaded, or fails at a decision, is told once,
and the rules decide in its place.
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
"""The name of the source, whichever policy it is."""


class NoPolicy(DeepthinkError):
    """Raised when a learned policy is asked and none was handed in."""

    title = "No learned policy"
    kind = "input"


class Policy(Protocol):
    """A learned policy that need not be loaded yet."""

    @property
    def name(self) -> str:
        """Which one it is."""
        ...

    @property
    def warning(self) -> str:
        """What a person should know of how it was chosen; "" if nothing."""
        ...

    def decider(self) -> Decider:
        """It, loaded; asked again it is the same. Thread-safe.

        Raises:
            DeepthinkError: it cannot be loaded; asked again it says the same at once.
        """
        ...


class Learned:
    """A learned policy as a source of decisions; it raises what the policy raises."""

    name = LEARNED

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The policy's.

        Raises:
            NoPolicy: none was handed in.
            Exception: whatever loading or asking it raises.
        """
        if self._policy is None:
            raise NoPolicy("There is no learned policy.", "`deepthink policy list` shows what there is.")
        return self._policy.decider().decide(state, valid)


class LearnedOrRules:
    """A learned policy, and the rules where it fails.

    Args:
        policy: None if none was handed in.
        warn: Takes what a person should know; called from within a node.
        notice: What else to tell before the first decision, if anything.
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
        """The policy's, or that of the rules, which say so by their name as its source."""
        while self._notices:
            self._warn(self._notices.pop(0))
        try:
            decision = self._learned.decide(state, valid)
            _check(decision, valid)
        except GenerationCancelled:
            raise
        except Exception as failure:  # noqa: BLE001 - told, and no run fails for want of a policy
            self._tell(failure)
            return self._rules.decide(state, valid)
        return decision

    def _tell(self, failure: Exception) -> None:
        if self._failed:
            return
        self._failed = True
        if isinstance(failure, DeepthinkError):
            said = failure.message
        else:
            name = self._policy.name if self._policy else ""
            said = f"The policy {name} failed: {type(failure).__name__}: {failure}."
        self._warn(f"{said} The rules decide instead.")


def _check(decision: Decision, valid: Sequence[Action]) -> None:
    if decision.action not in valid:
        raise ValueError(f"it chose {decision.action}, which is not possible here")
