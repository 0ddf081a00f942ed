"""Node ``plan``: the first plan, and what is left of it made anew."""

from __future__ import annotations

from agent.nodes.plan import plan

import agent.events as ev
from agent.state import Claim, Note
from tests.agent.nodes.conftest import Make, state, step

TWO = {"steps": ["Who supplies Orlavane's ceramic bearings?", "Where does #1 make them?"]}


def test_the_first_plan_opens_the_notebook(make: Make) -> None:
    update = plan(state(), make([("Split the QUESTION", TWO)]))
    assert [s["question"] for s in update["plan"]] == TWO["steps"]
    assert [entry.split(":")[0] for entry in update["notebook"]] == ["QUESTION", "PLAN"]


def test_a_plan_that_cannot_be_read_is_the_question_itself(make: Make, events: list[ev.Event]) -> None:
    update = plan(state(), make(["no JSON", "none either"]))
    assert [s["question"] for s in update["plan"]] == ["Who supplies Orlavane's ceramic bearings?"]
    assert [e.origin for e in events if isinstance(e, ev.Planned)] == ["default"]
    assert any(isinstance(e, ev.Warned) for e in events)


def _revised(**changes: object) -> object:
    return state(plan=[step("Who?"), step("Where?")], position=0, step=1, action="REVISE", **changes)


def test_a_revision_keeps_what_is_done_and_asks_for_what_is_missing(make: Make) -> None:
    lost = Note(
        step=1, question="Who makes bearings?", sentence="", answer="", cites=[], found=False, revision=0
    )
    deps = make([("- Who makes bearings?\n- Where?", {"steps": ["Which supplier makes bearings?"]})])
    update = plan(_revised(notes=[lost], notebook=["Who supplies bearings?"]), deps)  # type: ignore[arg-type]
    assert [s["question"] for s in update["plan"]] == ["Who?", "Which supplier makes bearings?"]
    assert update["revisions"] == 1


def test_searching_more_also_asks_for_what_the_answer_said_without_support(make: Make) -> None:
    claim = Claim(text="Bearings are blue.", cites=[], support=0.0, verdict="not", reason="nothing cited")
    deps = make([("- Bearings are blue.", {"steps": ["What colour are the bearings?"]})])
    update = plan(_revised(approval="search", claims=[claim], notebook=["bearings"]), deps)  # type: ignore[arg-type]
    assert update["plan"][-1]["question"] == "What colour are the bearings?"


def test_what_states_an_answer_is_no_new_step(make: Make) -> None:
    steps = ["Lookup 1: The supplier was founded later than the buyer", "Lookup 2: the supplier's bearings"]
    deps = make([("Still missing", {"steps": steps})])
    update = plan(_revised(notebook=["the bearings of the supplier, who is known"]), deps)  # type: ignore[arg-type]
    assert [s["question"] for s in update["plan"][1:]] == ["the supplier's bearings"]
