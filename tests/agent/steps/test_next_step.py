"""Step ``next_step``: moves on, resolves references, lays out the searches."""

from __future__ import annotations

import agent.events as ev
from agent.state import searched
from agent.steps.next_step import next_step
from tests.agent.made import note, only, state, step
from tests.agent.steps.conftest import Events, Make


def test_a_reference_becomes_the_finding_it_names_and_what_the_step_before_left_is_cleared(
    make: Make, events: Events
) -> None:
    before = state(
        plan=[step("Who?"), step("What halted the plant of #1?")],
        position=0,
        step=1,
        notes=[note("Tolvang Ceramics", 1)],
        rungs=["reword"],
        grade="correct",
    )
    update = next_step(before, make())
    assert (update["position"], update["step"]) == (1, 2)
    assert update["query"] == "What halted the plant of Tolvang Ceramics?"
    assert update["searches"][0]["query"] == update["query"]
    assert {s["rung"] for s in update["searches"]} == {""}
    assert update["queries"] == [searched(s) for s in update["searches"]]
    assert (update["rungs"], update["grade"], update["recalled"], update["candidates"]) == ([], "", [], [])
    (started,) = only(events, ev.StepStarted)
    assert started.plan_step["question"] == update["query"]
    before["notes"] = [note("", question="Who?")]
    assert next_step(before, make())["query"] == "What halted the plant of (Who)?"
    assert only(events, ev.StepStarted)[-1].plan_step["question"] == "What halted the plant of #1?"
    behind = next_step(state(plan=[step("Who?")], position=0), make())
    assert (behind["query"], "step" in behind) == ("", False)


def test_a_search_that_was_made_is_not_made_again(make: Make, events: Events) -> None:
    before = state(plan=[step("Who supplies bearings?")])
    first = next_step(before, make())
    again = next_step(state(plan=[step("Who supplies bearings?")], queries=first["queries"]), make())
    assert again["searches"] == []
    assert again["query"]
    assert only(events, ev.Warned)


def test_a_skip_that_came_too_late_is_not_the_next_steps(make: Make, events: Events) -> None:
    deps = make()
    deps.steering.skip()
    assert next_step(state(plan=[step("Who?")], position=-1), deps)["searches"]
    assert not deps.steering.skipping
    assert only(events, ev.Warned)
    deps.steering.skip()
    assert deps.steering.skipping, "the step that is under way can be skipped"
