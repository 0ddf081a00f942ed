"""Node ``decide``: CONTINUE, REVISE or FINISH; the budget's word is final."""

from __future__ import annotations

from typing import Any

from agent.budget import BudgetExhausted
from agent.decisions import STATE_VERSION, Decision, PolicyState, certain, policy_state, valid_actions
from agent.deps import Deps
from agent.events import Decided
from agent.state import RunState


def decide(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads everything the policy state is made of. Writes action, stopped_because."""
    ledger = deps.session.ledger
    seen = policy_state(state, ledger.budget, ledger.tokens_left)
    valid = valid_actions(seen)
    spent = state["stopped_because"] or _used_up(seen, deps)
    if spent:
        decision = Decision("FINISH", certain("FINISH"), "budget", 0.0, spent)
    else:
        try:
            decision = deps.decider.decide(seen, valid)
        except BudgetExhausted as used_up:
            spent = str(used_up)
            decision = Decision("FINISH", certain("FINISH"), "budget", 0.0, spent)
    deps.session.emit(
        Decided(
            step=state["step"],
            state_version=STATE_VERSION,
            state=seen.to_json(),
            valid=["FINISH"] if decision.source == "budget" else list(valid),
            action=decision.action,
            probabilities={str(a): p for a, p in decision.probabilities.items()},
            source=decision.source,
            latency_ms=round(decision.latency_ms, 3),
            justification=decision.justification,
            behaviour_probability=decision.behaviour_probability,
        )
    )
    update: dict[str, Any] = {"action": decision.action}
    if decision.action == "FINISH":
        update["stopped_because"] = spent or f"{decision.source}: {decision.justification or 'done'}"
    return update


def _used_up(seen: PolicyState, deps: Deps) -> str:
    budget = deps.session.ledger.budget
    if deps.session.stop.out_of_time:
        return "time budget"
    if seen.tokens_left <= 0:
        return "token budget"
    if seen.barren >= budget.barren:
        return f"no new evidence in {seen.barren} steps"
    if seen.steps_left == 0 and seen.open_questions:
        return "step budget"
    return ""
