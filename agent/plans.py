"""Plans of stored runs: what was planned first, and what the user says should have been looked up instead.

The planner learns from corrected plans (`policy.training.planner`). As text a plan has a look-up on each
line, after the collection to search in brackets, if one is preferred: ``[invoices] Who signed #1?``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from agent.steps.plan import first_request
from agent.steps.plan_text import COLLECTION, MOST_LOOKUPS, PlanRequest, parse
from traces.errors import DeepthinkError
from traces.runs import CorrectedPlans, Run, Runs, Sessions, StoredEvent
from traces.store import Store

FEWEST: Final = 10
"""Corrected plans that the planner learns from; of fewer there is nothing to hold out."""


class NotAPlan(DeepthinkError, title="That is no plan", kind="usage"):
    """Raised when the look-ups that a run should have made cannot be a plan."""


def planned(events: Sequence[StoredEvent]) -> list[tuple[str, str]]:
    """Collection and question of each look-up that was first planned in a run; empty if none was."""
    plans = (event.payload["steps"] for event in events if event.kind == "Planned")
    return [(step["tool"], step["question"]) for step in next(plans, [])]


def lookups(store: Store, run_id: str) -> Sequence[tuple[str, str]]:
    """Collection and question of each look-up of a run: as the user corrected them, else as planned."""
    corrected = CorrectedPlans(store).of(run_id)
    return corrected.lookups if corrected else planned(Runs(store).events(run_id))


def wanted(store: Store, run_id: str) -> list[str]:
    """The same as text, a line each."""
    return [
        f"[{collection}] {question}" if collection else question
        for collection, question in lookups(store, run_id)
    ]


def correct(store: Store, run: Run, lines: Sequence[str]) -> int:
    """Store what a run should have looked up, and return how many plans are corrected now.

    Raises `NotAPlan` if the lines are no plan, or name a collection that the run did not search, or one
    within a line.
    """
    lines = [" ".join(line.split()) for line in lines if line.strip()]
    unknown = [
        prefix[1]
        for line in lines
        if (prefix := COLLECTION.match(line)) and prefix[1] not in run.collections
    ]
    if unknown:
        raise NotAPlan(
            f"The run did not search a collection “{unknown[0]}”.",
            f"It searched: {', '.join(run.collections)}.",
        )
    within = [
        prefix[0].strip()
        for line in lines
        for prefix in COLLECTION.finditer(line, 1)
        if prefix[1] in run.collections
    ]
    if within:
        raise NotAPlan(
            f"{within[0]} stands within a look-up.",
            "Begin a line with it; each look-up has its own.",
        )
    plan = parse(
        "\n".join(["=", *lines]), PlanRequest(run.question, collections=[(n, "") for n in run.collections])
    )
    if plan is None:
        raise NotAPlan(
            f"A plan has one to {MOST_LOOKUPS} look-ups, and #1 in one of them is the result of the first.",
            "Write each look-up as a question that can be understood alone.",
        )
    corrections = CorrectedPlans(store)
    corrections.put(run.id, [(step["tool"], step["question"]) for step in plan.steps])
    return len(corrections.all())


def request_of(store: Store, run: Run, described: Mapping[str, str]) -> PlanRequest:
    """What the planner read for a run, with the collections as they are described now."""
    turns = Sessions(store).exchanges(run.session, before=run.started)
    return first_request(run.question, turns, [(name, described.get(name, "")) for name in run.collections])
