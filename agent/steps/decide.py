"""Step ``decide``: what comes next; the user overrides the decider, the budget both."""

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
from agent.decisions.features import features, state_text
from agent.decisions.sources import LEARNED
from agent.deps import Deps
from agent.events import Asked, Decided, Planned, Replied, Steered, Warned
from agent.state import (
    ADDED,
    PLAN_ACTIONS,
    TRIES,
    Action,
    PlanStep,
    RunState,
    Search,
    added_and_open,
    updated,
)
from agent.steps.plan_text import look_up
from models.protocols import GenerationCancelled

_QUESTION = "What next?"
# Sources cheap enough to be asked for comparison without being configured as the shadow.
_CHEAP_SOURCES = frozenset({"rules", LEARNED})
_WHO_DECIDES = {
    "rules": "the rules decide",
    LEARNED: "the learned policy decides",
    "llm": "the model decides",
}


@dataclass(frozen=True, slots=True)
class _Outcome:
    decision: Decision  # that takes effect
    shadow: Decision | None = None  # what another source would have done
    label: str = ""  # ``override`` or ``teach`` if the user took the decision
    stop_reason: str = ""  # what ended the research without a decision


def decide(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads everything the policy state is made of. Writes action, stopped_because, plan, and for a
    further try tried and searches.

    Steps added by the user are appended to the plan first, and while one is open the decider may only
    continue. The user's decision overrides the decider's, and the end of the budget overrides both. In
    teach mode the user is asked here, without an interrupt: a run that is killed while it waits decides
    again when it is resumed.
    """
    ledger = deps.session.ledger
    update = _append_added_steps(state, deps)
    state = updated(state, update)
    observation = policy_state(state, ledger.budget, ledger.tokens_left)
    given_back_before = deps.session.given_back
    valid = choices = valid_actions(observation)
    if "CONTINUE" in valid and added_and_open(state):
        choices = ("CONTINUE",)
    stop_reason = state["stopped_because"] or (
        ANSWER_NOW
        if deps.steering.finishing
        else used_up(observation, ledger.budget, out_of_time=deps.session.stop.out_of_time)
    )
    outcome = _choose_action(observation, valid, choices, stop_reason, deps)
    decision, shadow = outcome.decision, outcome.shadow
    if decision.source != "human":
        valid = ("FINISH",) if decision.source == "budget" else choices
    deps.session.emit(
        Decided(
            step=state["step"],
            state_version=STATE_VERSION,
            state=observation.to_json(),
            valid=list(valid),
            action=decision.action,
            probabilities=_probabilities_by_name(decision),
            source=decision.source,
            latency_ms=round(decision.latency_ms, 3),
            justification=decision.justification,
            behaviour_probability=decision.behaviour_probability,
            shadow={**asdict(shadow), "latency_ms": round(shadow.latency_ms, 3)} if shadow else None,
            label=outcome.label,
            waited=round(deps.session.given_back - given_back_before, 3),
            text=state_text(observation),
            features=features(observation),
        )
    )
    update["action"] = decision.action
    if decision.action in TRIES:
        update |= further_try(state, decision.action)
    if decision.action == "FINISH":
        update["stopped_because"] = (
            outcome.stop_reason or f"{decision.source}: {decision.justification or 'done'}"
        )
    return update


def further_try(state: RunState, action: Action) -> dict[str, Any]:
    """The update before the step's nodes run again: for MORE, its searches go on where they stopped."""
    searches = [
        Search({**result["search"], "skip": result["search"].get("skip", 0) + len(result["candidates"])})
        for result in state["recalled"]
        if action == "MORE" and result.get("further")
    ]
    return {"tried": [*state.get("tried", ()), action], "searches": searches}


def _choose_action(
    observation: PolicyState,
    valid: Sequence[Action],
    choices: Sequence[Action],
    stop_reason: str,
    deps: Deps,
) -> _Outcome:
    """The decision: one of ``valid`` if the user takes it, one of ``choices`` if the decider does."""
    override = deps.steering.take_override()
    if stop_reason:
        return _finish(stop_reason)
    if override and override in valid:
        shadow_source = deps.shadow or (deps.decider if deps.decider.name in _CHEAP_SOURCES else None)
        return _apply_override(override, _shadow_decision(shadow_source, observation, valid, deps), deps)
    if override:
        name = deps.decider.name
        deps.session.emit(
            Warned(f"{override} is not possible here; {_WHO_DECIDES.get(name, f'{name} decides')}.")
        )
    try:
        decision = deps.decider.decide(observation, choices)
    except BudgetExhausted as exhausted:
        return _finish(str(exhausted))
    outcome = _ask_user(decision, valid, deps)
    return outcome or _Outcome(decision, _shadow_decision(deps.shadow, observation, choices, deps))


def _finish(stop_reason: str) -> _Outcome:
    source = "human" if stop_reason == ANSWER_NOW else "budget"
    return _Outcome(
        Decision("FINISH", certain("FINISH"), source, 0.0, stop_reason), stop_reason=stop_reason
    )


def _apply_override(action: Action, shadow: Decision | None, deps: Deps) -> _Outcome:
    deps.session.emit(Steered("override", action))
    return _Outcome(_human_decision(action, 0.0), shadow, "override")


def _human_decision(action: Action, latency_ms: float) -> Decision:
    return Decision(action, certain(action), "human", latency_ms, "as you decided")


def _shadow_decision(
    source: Decider | None, observation: PolicyState, valid: Sequence[Action], deps: Deps
) -> Decision | None:
    """The decision of ``source``, for comparison; None if it fails, or if the plan leaves no choice."""
    if source is None or sum(action in PLAN_ACTIONS for action in valid) == 1:
        return None
    try:
        with deps.session.beside():
            return source.decide(observation, valid)
    except GenerationCancelled:
        raise
    except BudgetExhausted as exhausted:
        deps.session.warn_once(f"There was no room to ask {source.name} for comparison: {exhausted}.")
    except Exception as error:  # noqa: BLE001 - reported; no run fails for what it does not use
        deps.session.warn_once(f"{source.name} could not be asked for comparison: {error}")
    return None


def _ask_user(suggestion: Decision, valid: Sequence[Action], deps: Deps) -> _Outcome | None:
    """The user's decision with the decider's as its shadow; None outside of teach mode."""
    steering, session = deps.steering, deps.session
    if not deps.interactive or len(valid) == 1:
        return None
    steering.forget_replies()
    while steering.teaching:
        start = time.monotonic()
        session.emit(
            Asked(
                "decide",
                _QUESTION,
                list(valid),
                suggested=suggestion.action,
                probabilities=_probabilities_by_name(suggestion),
            )
        )
        reply = steering.wait_for_reply(
            lambda: (
                session.stop.cancelled or steering.finishing or steering.overriding or not steering.teaching
            )
        )
        wait_seconds = time.monotonic() - start
        session.give_back(wait_seconds)
        if session.stop.cancelled:
            raise GenerationCancelled("The run was cancelled.")
        if steering.finishing:
            return _finish(ANSWER_NOW)
        override = steering.take_override()
        if override and override in valid:
            return _apply_override(override, suggestion, deps)
        if override:
            session.emit(Warned(f"{override} is not possible here."))
        name = (reply or "").strip().upper()
        for action in valid:
            if action == name:
                session.emit(Replied("decide", _QUESTION, action, "person"))
                return _Outcome(_human_decision(action, wait_seconds * 1000), suggestion, "teach")
    return None


def _probabilities_by_name(decision: Decision) -> dict[str, float]:
    return {str(action): p for action, p in decision.probabilities.items()}


def _append_added_steps(state: RunState, deps: Deps) -> dict[str, Any]:
    questions = deps.steering.take_added()
    if not questions:
        return {}
    plan = [*state["plan"], *(PlanStep({**look_up(question), "reason": ADDED}) for question in questions)]
    deps.session.emit(Steered("add", "; ".join(questions)))
    deps.session.emit(Planned(plan, state["revisions"], "person"))
    return {"plan": plan}
