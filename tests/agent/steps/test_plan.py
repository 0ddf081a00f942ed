"""Step ``plan``, and the two planners: the taught one on its own text, the asked one by prompt."""

from __future__ import annotations

from typing import Any

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.state import Claim, PlanStep, RunState
from agent.steps.plan import AskedPlanner, TaughtPlanner, plan, request_of
from agent.steps.plan_text import Plan, PlanRequest
from tests.agent.made import note, only, scripted, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import Scripted, ScriptedCompleter

_REQUEST = PlanRequest(
    "Who supplies the bearings, and where is the plant?", collections=[("a", "A"), ("b", "B")]
)
_FOLLOW_UP = PlanRequest("and where?", history=[("Who supplies the bearings?", "Tolvang [1].")])


def _questions(steps: list[PlanStep]) -> list[str]:
    return [one["question"] for one in steps]


def test_a_question_that_stands_alone_borrows_nothing_from_the_conversation() -> None:
    request = PlanRequest(
        "What is the excess, and who wrote?", history=[("Who sells bearings?", "Tolvang.")]
    )
    borrowing = ("Before: Who sells", " =\nWhat is the excess of the bearings?\nWho wrote of Tolvang?")
    alone = " =\nWhat is the excess?\nWho wrote?"
    with ScriptedCompleter([borrowing, alone]) as model, scripted() as session:
        made = TaughtPlanner(model).begin(session, request)
    assert "Before:" not in model.prompts[-1]
    assert _questions(made.steps) == ["What is the excess?", "Who wrote?"]


def test_what_is_no_plan_becomes_the_whole_question() -> None:
    with ScriptedCompleter([("Plan:", "I cannot help with that.")]) as model, scripted() as session:
        made = TaughtPlanner(model).begin(session, _REQUEST)
    assert (made.kind, _questions(made.steps), made.origin) == ("search", [_REQUEST.question], "default")


def _asked(*replies: Scripted, request: PlanRequest = _REQUEST, full: bool = False, **options: Any) -> Plan:
    chosen = options.pop("chosen", None)
    with scripted(*replies, **options) as session:
        return AskedPlanner(full=full).begin(session, request, chosen)


def test_the_asked_planner_asks_for_follow_up_route_and_plan_in_turn() -> None:
    made = _asked(
        ("NEW: and where?", "Where is Tolvang's plant?\nIt is …"),
        ("Where is Tolvang's plant?", {"route": "single"}),
        ("Split the QUESTION", {"steps": ["1. Where is Tolvang's plant?", "where is  tolvang's plant?"]}),
        request=_FOLLOW_UP,
    )
    assert (made.kind, made.question, made.origin) == ("search", "Where is Tolvang's plant?", "model")
    assert _questions(made.steps) == ["Where is Tolvang's plant?"]


def test_the_asked_planner_leaves_talk_and_asks_back() -> None:
    assert _asked({"route": "direct"}).kind == "talk"
    asked_back = _asked({"route": "clarify"}, ("You:", "Which plant do you mean?"))
    assert (asked_back.kind, asked_back.question) == ("ask", "Which plant do you mean?")


def test_the_seed_fills_in_where_to_look() -> None:
    filled = {
        "question": "Where is the plant?",
        "reason": "r",
        "tool": "b",
        "keywords": "k",
        "section": "s",
    }
    elsewhere = {**filled, "question": "Who supplies the bearings?", "tool": "nowhere"}
    made = _asked({"route": "deep"}, ("one of a, b", {"steps": [filled, elsewhere]}), full=True)
    assert made.steps == [filled, {**elsewhere, "tool": ""}]
    assert _questions(_asked({"route": "single"}, full=True).steps) == [_REQUEST.question]


@pytest.mark.parametrize(
    "replies",
    [
        ["no JSON", "none either"],
        [{"steps": []}],
        [{"steps": ["Who is the mother of Marrow's author?"]}],  # copied from the examples
        [{"steps": ["When does the ferry leave?"]}],  # about nothing that was asked
        [{"steps": ["Where was #1 born?"]}],
    ],
)
def test_what_the_model_gives_that_is_no_plan_becomes_the_whole_question(replies: list[Scripted]) -> None:
    made = _asked(*replies, chosen="deep")
    assert (_questions(made.steps), made.origin) == ([_REQUEST.question], "default")


# --- the step ---------------------------------------------------------------------------------------


def test_the_first_plan_is_cut_to_the_budget_and_opens_the_notebook(make: Make, events: Events) -> None:
    three = [step("Who?"), step("Where is #1?"), step("When?")]
    update = plan(state(plan=three, planned_by="default", notebook=["Q"]), make(budget=Budget(steps=2)))
    assert update["plan"] == three[:2]
    assert update["notebook"] == ["Q", "PLAN:\n1. Who?\n2. Where is #1?"]
    assert [e.origin for e in events if isinstance(e, ev.Planned)] == ["default"]
    assert only(events, ev.Warned), "a plan by default is told"


def test_a_planner_is_shown_collections_only_where_there_is_a_choice(make: Make) -> None:
    both = make()
    assert [name for name, _ in request_of(state(), both).collections] == both.tools
    assert request_of(state(), make(collections=both.collections[:1])).collections == []


def _stopped(**changes: Any) -> RunState:
    """A run whose first step found nothing and whose second is open, to be revised."""
    return state(
        **{
            "plan": [step("Who?"), step("Where?")],
            "position": 0,
            "step": 1,
            "action": "REVISE",
            "notes": [note("", question="Who?")],
            "notebook": ["PLAN:\n1. Who?\n2. Where?", "STEP 1: Who?"],
            **changes,
        }
    )


def test_a_revision_is_made_from_what_is_known_and_what_is_missing(make: Make) -> None:
    known = [note("Tolvang burned.", 1, step=1, question="What?"), note("", step=2, question="Who?")]
    shown = "Found: Tolvang burned.\nFound: Not found: Who?\nFound: Not found: Where?\nPlan:"
    update = plan(_stopped(notes=known), make(plans=[(shown, " =\nWho insured the plant?")]))
    assert _questions(update["plan"]) == ["Who?", "Who insured the plant?"]
    assert update["revisions"] == 1
    assert update["notebook"][-1].endswith("\n2. Who insured the plant?")


@pytest.mark.parametrize(
    ("written", "new"),
    [
        # Its references count from the first step of the run.
        ("Who has #4711?\nWho owns #1?\nWhere is #2?", ["Who has #4711?", "Who owns #2?", "Where is #3?"]),
        # What was asked is not asked again, nor what refers to it; an open step may be planned again.
        ("Who?\nWhere is #1?\nWho insured it?\nWhen was #3?", ["Who insured it?", "When was #2?"]),
        ("Where?\nWho insured it?", ["Where?", "Who insured it?"]),
        ("", []),
    ],
)
def test_a_revision_goes_on_from_what_is_done(make: Make, written: str, new: list[str]) -> None:
    changes = {"question": "Who insured invoice #4711?", "action": "REVISE"}
    revised = plan(_stopped(**changes), make(plans=[f" =\n{written}".rstrip()]))
    assert _questions(revised["plan"]) == ["Who?", *new]


@pytest.mark.parametrize("written", [" TALK", "???"])
def test_a_revision_that_is_no_plan_leaves_what_is_done(make: Make, written: str) -> None:
    assert _questions(plan(_stopped(), make(plans=[written]))["plan"]) == ["Who?"]


def test_the_asked_planner_revises_by_prompt(make: Make) -> None:
    """Its references count the notebook's steps already."""
    steps = ["Who?", "Which supplier makes the bearings of #1?", "When does the ferry leave?"]
    deps = make([("Still missing:\n- Who?\n- Where?", {"steps": steps})])
    update = plan(_stopped(notebook=["1. Who supplies bearings #1?", "STEP 1: Who?"]), deps)
    assert _questions(update["plan"]) == ["Who?", "Which supplier makes the bearings of #1?"]


def test_searching_more_also_asks_for_what_the_answer_said_without_support(make: Make) -> None:
    claim = Claim(text="Bearings are blue.", cites=[], support=0.0, verdict="not", reason="nothing cited")
    deps = make(plans=[("Found: Not found: Bearings are blue.", " =\nWhat colour are bearings?")])
    update = plan(_stopped(action="FINISH", approval="search", claims=[claim]), deps)
    assert _questions(update["plan"])[-1] == "What colour are bearings?"


def test_searching_more_says_so_where_nothing_is_left_to_search_for(make: Make, events: Events) -> None:
    plan(_stopped(action="FINISH", approval="search", claims=[]), make(plans=[("Found:", " =\nWho?")]))
    assert any(isinstance(event, ev.Warned) for event in events)
