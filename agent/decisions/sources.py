"""The sources of decisions: plain rules, the language model as judge, and a learned policy.

A learned policy is passed in by the caller, and loaded at its first decision.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Protocol

from agent import prompts
from agent.decisions.decider import Decider, Decision, PolicyState, certain
from agent.session import Session
from agent.state import PLAN_ACTIONS, Action
from models.protocols import GenerationCancelled
from traces.errors import DeepthinkError

LEARNED = "learned"
"""The name of a learned policy as a source, whichever policy it is."""

SOURCES = ("rules", "llm", LEARNED)
"""The sources that can be named."""

_LETTERS = ("A", "B", "C")  # of `PLAN_ACTIONS`, as the prompt has them


class UnknownSource(DeepthinkError, title="Unknown decision source", kind="usage"):
    """Raised when a decision source is named that does not exist."""


class NoPolicy(DeepthinkError, title="No learned policy", kind="input"):
    """Raised when a learned policy should decide but there is none."""


class Rules:
    """Follow the plan, then finish.

    Revising where a plan was done or stuck paid in 1 of 49 states of train questions; see
    `policy/EXPERIMENTS.md`.
    """

    name = "rules"

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """Deterministic: the chosen action has probability one."""
        began = time.perf_counter()
        open_count, missing = len(state.open_questions), len(state.missing)
        wanted: Action = "CONTINUE" if open_count else "FINISH"
        reason = "every step of the plan has its finding"
        if open_count:
            reason = f"{open_count} of the plan's steps {'is' if open_count == 1 else 'are'} open"
        elif missing:
            reason = f"the plan is done, but {_unanswered(state)}"
        action = wanted if wanted in valid else valid[0]
        reason = reason if action == wanted else f"{wanted} is not possible here"
        latency = (time.perf_counter() - began) * 1000
        return Decision(action, certain(action), self.name, latency, reason)


def _unanswered(state: PolicyState) -> str:
    """How many steps of a plan found nothing certain, and how many the user skipped, in words."""
    steps = len(state.findings)
    skipped = sum(bool(one.get("skipped")) for one in state.findings if one["question"] in state.missing)
    unsure = len(state.missing) - skipped

    def which(count: int) -> str:
        return "its only step" if steps == 1 else f"{count} of its {steps} steps"

    found_nothing = [f"{which(unsure)} found nothing certain"] if unsure else []
    return ", and ".join([*found_nothing, *([f"you skipped {which(skipped)}"] if skipped else [])])


class ModelJudge:
    """Asks the run's language model; the probabilities are those of the first token of its answer.

    With ``explain`` it also asks for a justification, as the seed does: a second, longer answer.
    """

    name = "llm"

    def __init__(self, session: Session, *, explain: bool) -> None:
        self._session = session
        self._explain = explain

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The most probable valid action of the plan; probabilities are renormalised over these."""
        began = time.perf_counter()
        choice = self._session.choose("decide", state.notebook, prompts.judge(), _LETTERS)
        raw = dict(zip(PLAN_ACTIONS, choice.probabilities, strict=True))
        valid = [action for action in valid if action in raw]
        total = sum(raw[action] for action in valid)
        probabilities: dict[Action, float] = {
            action: (raw[action] / total if total > 0 else 1 / len(valid)) if action in valid else 0.0
            for action in PLAN_ACTIONS
        }
        action = max(valid, key=lambda a: probabilities[a])
        justification = ""
        if self._explain:
            instruction = prompts.justify(action)
            justification = self._session.write("justify", state.notebook, instruction, 60).text.strip()
        latency = (time.perf_counter() - began) * 1000
        return Decision(action, probabilities, self.name, latency, justification)


class Policy(Decider, Protocol):
    """A learned policy, loaded at its first decision, which may be taken from any thread.

    It raises `DeepthinkError` if it cannot be loaded, and at once on later calls.
    """

    @property
    def warning(self) -> str:
        """A warning for the user about how it was chosen, or ""."""


class Learned:
    """A learned policy as a decider; it raises the policy's errors, and `NoPolicy` without one."""

    name = LEARNED

    def __init__(self, policy: Policy | None) -> None:
        self._policy = policy

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        if self._policy is None:
            raise NoPolicy("There is no learned policy.", "`deepthink policy list` shows what there is.")
        decision = self._policy.decide(state, valid)
        if decision.action not in valid:
            raise ValueError(f"it chose {decision.action}, which is not possible here")
        return decision


class LearnedOrRules:
    """A learned policy; if it cannot be loaded or fails, the rules decide, and the user is warned.

    ``warn_once`` takes each warning again at every decision; ``notice`` is one about the policy, or "".
    """

    name = LEARNED

    def __init__(self, policy: Policy | None, warn_once: Callable[[str], None], notice: str = "") -> None:
        self._policy = policy
        self._warn_once = warn_once
        self._notices = [policy.warning if policy else "", notice]

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        """The decision of the policy, or of the rules, which are then its source."""
        for notice in filter(None, self._notices):
            self._warn_once(notice)
        try:
            return Learned(self._policy).decide(state, valid)
        except GenerationCancelled:
            raise
        except Exception as failure:  # noqa: BLE001 - any failure of a policy is a warning
            name = self._policy.name if self._policy else ""
            reason = f"The policy {name} failed: {type(failure).__name__}: {failure}."
            if isinstance(failure, DeepthinkError):
                reason = failure.message
            self._warn_once(f"{reason} The rules decide instead.")
            return Rules().decide(state, valid)


def source(name: str, session: Session, learned: Policy | None = None, *, explain: bool = False) -> Decider:
    """The source called ``name``, without a fallback; ``explain``: the language model gives its reason.

    Raises `UnknownSource` if there is none of that name.
    """
    match name:
        case "rules":
            return Rules()
        case "llm":
            return ModelJudge(session, explain=explain)
        case "learned":
            return Learned(learned)
    raise UnknownSource(f"There is no decision source “{name}”.", f"Choose one of: {', '.join(SOURCES)}.")
