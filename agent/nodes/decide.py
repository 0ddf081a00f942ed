"""Node ``decide``: CONTINUE, REVISE or FINISH; the budget's word is final."""

from __future__ import annotations

from typing import Any

from agent.budget import ANSWER_NOW, BudgetExhausted
from agent.decisions import STATE_VERSION, Decision, PolicyState, certain, policy_state, valid_actions
from agent.deps import Deps
from agent.events import Decided, Planned, Steered, Warned
from agent.state import PlanStep, RunState


def decide(state: RunState, deps: Deps) -> dict[str, Any]:
    """Reads everything the policy state is made of. Writes action, stopped_because, plan.

    Steps that a person added are appended to the plan first. A person's decision goes before the
    decider's, and both end where the budget does.
    """
    ledger = deps.session.ledger
    state, update = _with_added(state, deps)
    seen = policy_state(state, ledger.budget, ledger.tokens_left)
    valid = valid_actions(seen)
    spent = state["stopped_because"] or _used_up(seen, deps)
    wished = deps.steering.take_override()
    if spent == ANSWER_NOW:
        decision = Decision("FINISH", certain("FINISH"), "human", 0.0, spent)
    elif spent:
        decision = Decision("FINISH", certain("FINISH"), "budget", 0.0, spent)
    elif wished in valid:
        deps.session.emit(Steered("override", wished))
        decision = Decision(wished, certain(wished), "human", 0.0, "as you decided")
    else:
        if wished:
            deps.session.emit(Warned(f"{wished} is not possible here; the {deps.decider.name} decide."))
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
    update["action"] = decision.action
    if decision.action == "FINISH":
        update["stopped_because"] = spent or f"{decision.source}: {decision.justification or 'done'}"
    return update


def _used_up(seen: PolicyState, deps: Deps) -> str:
    budget = deps.session.ledger.budget
    if deps.steering.finishing:
        return ANSWER_NOW
    if deps.session.stop.out_of_time:
        return "time budget"
    if seen.tokens_left <= 0:
        return "token budget"
    if seen.barren >= budget.barren:
        return f"no new evidence in {seen.barren} steps"
    if seen.steps_left == 0 and seen.open_questions:
        return "step budget"
    return ""


def _with_added(state: RunState, deps: Deps) -> tuple[RunState, dict[str, Any]]:
    added = deps.steering.take_added()
    if not added:
        return state, {}
    steps = [PlanStep(question=q, reason="added", tool="", keywords="", section="") for q in added]
    plan = [*state["plan"], *steps]
    deps.session.emit(Steered("add", "; ".join(added)))
    deps.session.emit(Planned(plan, state["revisions"], "person"))
    return RunState({**state, "plan": plan}), {"plan": plan}
