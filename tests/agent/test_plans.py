"""A person says what a run should have looked up; the planner's request is put together again."""

from __future__ import annotations

import pytest

from agent.plans import NotAPlan, correct, planned, request_of, wanted
from traces.runs import CorrectedPlans, NewRun, RunEnd, Runs, Sessions, StoredEvent
from traces.store import Store

QUESTION = "Who signed the lease, and what did she bill?"
PLANNED = [
    {"question": "Who signed the lease?", "reason": "", "tool": "contracts", "keywords": "", "section": ""}
]


def _ran(store: Store, question: str = QUESTION, session: str = "") -> str:
    runs, names = Runs(store), ("contracts", "invoices")
    run_id = runs.begin(NewRun(question, "lean", "chat", "embedder", "", "rules", names, session))
    events = [StoredEvent(0, 0.1, "Planned", {"steps": PLANNED, "revision": 0, "origin": "planner"})]
    runs.record(
        run_id, events, end=RunEnd("answered", "", "Mara Hult [1].", 1, 1, 0, 1, standalone=question)
    )
    return run_id


def test_a_corrected_plan_takes_the_place_of_the_first_until_it_or_its_run_goes(store: Store) -> None:
    run = Runs(store).find(_ran(store))
    assert wanted(store, run.id) == ["[contracts] Who signed the lease?"]
    lines = ["[contracts] Who signed the lease?", "", "  [invoices] What did  #1 bill? "]
    assert correct(store, run, lines) == 1
    assert correct(store, run, lines) == 1
    assert wanted(store, run.id) == ["[contracts] Who signed the lease?", "[invoices] What did #1 bill?"]
    assert planned(Runs(store).events(run.id)) == [("contracts", "Who signed the lease?")]
    CorrectedPlans(store).withdraw(run.id)
    assert wanted(store, run.id) == ["[contracts] Who signed the lease?"]
    correct(store, run, lines)
    Runs(store).delete(run.id)
    assert CorrectedPlans(store).all() == []


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["What did #1 bill?"],
        [f"What is {n}?" for n in range(6)],
        ["[letters] Who signed the lease?"],
        ["[contracts] Who signed the lease?[invoices] What did she bill?"],
    ],
)
def test_what_is_no_plan_is_refused_and_not_kept(store: Store, lines: list[str]) -> None:
    run = Runs(store).find(_ran(store))
    with pytest.raises(NotAPlan):
        correct(store, run, lines)
    assert CorrectedPlans(store).all() == []


def test_a_request_has_what_was_said_before_the_run_and_not_after(store: Store) -> None:
    session = Sessions(store).begin()
    first, second, _ = (_ran(store, f"{QUESTION} {number}", session) for number in range(3))
    assert request_of(store, Runs(store).find(first), {}).history == []
    request = request_of(store, Runs(store).find(second), {})
    assert request.history == [(f"{QUESTION} 0", "Mara Hult.")]
    assert [name for name, _ in request.collections] == ["contracts", "invoices"]
