"""Step ``decide``: CONTINUE, REVISE or FINISH; the user overrides the decider, the budget both."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agent.budget import ANSWER_NOW, BudgetExhausted
from agent.decisions.decider import (
    STATE_VERSION,
    Decider,
    Decision,
    PolicyState,
    certain,
    policy_state,
    used_up,
    valid_actions,
)
from agent.decisions.features import features
from agent.decisions.learned import LEARNED
from agent.decisions.state_text import state_text
from agent.deps import Deps
from agent.events import Asked, Decided, Planned, Replied, Steered, Warned
from agent.state import ADDED, Action, PlanStep, RunState, added_and_open
from models.protocols import GenerationCancelled

_QUESTION = "What next?"
# Sources that are asked for comparison without a request for it, and what they are called.
_CHEAP = frozenset({"rules", LEARNED})
_DECIDES = {"rules": "the rules decide", LEARNED: "the learned policy decides", "llm": "the model decides"}


@dataclass(frozen=True, slots=True)
class _Taken:
    """A decision with what is recorded beside it.

    Attributes:
        decision: What is done.
        shadow: What another source would have done.
        label: ``override`` or ``teach`` if the user judged the state.
        spent: What ended the research, without a decision.
    """

    decision: Decision
    shadow: Decision | None = None
    label: str = ""
    spent: str = ""


def decide(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads everything the policy state is made of. Writes action, stopped_because, plan.

    Steps that the user added are appended to the plan first, and while one is open the decider may only
    continue. The user's decision overrides the decider's, and the end of the budget both. In teach mode
    the user is asked here, without an interrupt: a run that is killed while it waits decides again when it
    is resumed.
    """
    ledger = deps.session.ledger
    state, update = _with_added(state, deps)
    seen = policy_state(state, ledger.budget, ledger.tokens_left)
    given_back = deps.session.given_back
    valid = offered = valid_actions(seen)
    if "CONTINUE" in valid and added_and_open(state):
        offered = ("CONTINUE",)
    taken = _take(seen, valid, offered, state["stopped_because"] or _used_up(seen, deps), deps)
    decision = taken.decision
    if decision.source != "human":
        valid = ("FINISH",) if decision.source == "budget" else offered
    deps.session.emit(
        Decided(
            step=state["step"],
            state_version=STATE_VERSION,
            state=seen.to_json(),
            valid=list(valid),
            action=decision.action,
            probabilities=_named(decision),
            source=decision.source,
            latency_ms=round(decision.latency_ms, 3),
            justification=decision.justification,
            behaviour_probability=decision.behaviour_probability,
            shadow=_recorded(taken.shadow) if taken.shadow else None,
            label=taken.label,
            waited=round(deps.session.given_back - given_back, 3),
            text=state_text(seen),
            features=features(seen),
        )
    )
    update["action"] = decision.action
    if decision.action == "FINISH":
        update["stopped_because"] = taken.spent or f"{decision.source}: {decision.justification or 'done'}"
    return update


def _take(
    seen: PolicyState, valid: Sequence[Action], offered: Sequence[Action], spent: str, deps: Deps
) -> _Taken:
    """The decision: the user's is one of ``valid``, the decider's one of ``offered``."""
    wished = deps.steering.take_override()
    if spent:
        return _ended(spent)
    if wished and wished in valid:
        known = deps.shadow or (deps.decider if deps.decider.name in _CHEAP else None)
        return _overridden(wished, _second(known, seen, valid, deps), deps)
    if wished:
        name = deps.decider.name
        deps.session.emit(
            Warned(f"{wished} is not possible here; {_DECIDES.get(name, f'{name} decides')}.")
        )
    try:
        decision = deps.decider.decide(seen, offered)
    except BudgetExhausted as ended:
        return _ended(str(ended))
    taught = _taught(decision, valid, deps)
    return taught or _Taken(decision, _second(deps.shadow, seen, offered, deps))


def _ended(spent: str) -> _Taken:
    source = "human" if spent == ANSWER_NOW else "budget"
    return _Taken(Decision("FINISH", certain("FINISH"), source, 0.0, spent), spent=spent)


def _overridden(action: Action, shadow: Decision | None, deps: Deps) -> _Taken:
    deps.session.emit(Steered("override", action))
    return _Taken(_persons(action, 0.0), shadow, "override")


def _persons(action: Action, latency_ms: float) -> Decision:
    return Decision(action, certain(action), "human", latency_ms, "as you decided")


def _second(
    source: Decider | None, seen: PolicyState, valid: Sequence[Action], deps: Deps
) -> Decision | None:
    """What ``source`` would have done; None if it fails, or where there is only one thing to do."""
    if source is None or len(valid) == 1:
        return None
    try:
        with deps.session.beside():
            return source.decide(seen, valid)
    except GenerationCancelled:
        raise
    except BudgetExhausted as ended:
        deps.session.warn_once(f"There was no room to ask {source.name} for comparison: {ended}.")
    except Exception as failure:  # noqa: BLE001 - reported; no run fails for what it does not use
        deps.session.warn_once(f"{source.name} could not be asked for comparison: {failure}")
    return None


def _taught(suggestion: Decision, valid: Sequence[Action], deps: Deps) -> _Taken | None:
    """The person's decision with the decider's as its shadow; None where the suggestion was accepted."""
    steering, session = deps.steering, deps.session
    if not deps.interactive or len(valid) == 1:
        return None
    steering.forget_replies()
    while steering.teaching:
        began = time.monotonic()
        session.emit(
            Asked(
                "decide",
                _QUESTION,
                list(valid),
                suggested=suggestion.action,
                probabilities=_named(suggestion),
            )
        )
        reply = steering.wait_for_reply(
            lambda: (
                session.stop.cancelled or steering.finishing or steering.overriding or not steering.teaching
            )
        )
        waited = time.monotonic() - began
        session.give_back(waited)
        if session.stop.cancelled:
            raise GenerationCancelled("The run was cancelled.")
        if steering.finishing:
            return _ended(ANSWER_NOW)
        wished = steering.take_override()
        if wished and wished in valid:
            return _overridden(wished, suggestion, deps)
        if wished:
            session.emit(Warned(f"{wished} is not possible here."))
        named = (reply or "").strip().upper()
        for action in valid:
            if action == named:
                session.emit(Replied("decide", _QUESTION, action, "person"))
                return _Taken(_persons(action, waited * 1000), suggestion, "teach")
    return None


def _named(decision: Decision) -> dict[str, float]:
    return {str(action): p for action, p in decision.probabilities.items()}


def _recorded(shadow: Decision) -> dict[str, Any]:
    return {**asdict(shadow), "latency_ms": round(shadow.latency_ms, 3)}


def _used_up(seen: PolicyState, deps: Deps) -> str:
    budget = deps.session.ledger.budget
    if deps.steering.finishing:
        return ANSWER_NOW
    return used_up(seen, budget, out_of_time=deps.session.stop.out_of_time)


def _with_added(state: RunState, deps: Deps) -> tuple[RunState, dict[str, Any]]:
    added = deps.steering.take_added()
    if not added:
        return state, {}
    steps = [PlanStep(question=q, reason=ADDED, tool="", keywords="", section="") for q in added]
    plan = [*state["plan"], *steps]
    deps.session.emit(Steered("add", "; ".join(added)))
    deps.session.emit(Planned(plan, state["revisions"], "person"))
    return RunState({**state, "plan": plan}), {"plan": plan}
