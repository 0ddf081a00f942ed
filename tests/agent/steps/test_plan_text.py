"""The planner's language: what is written for a plan is read back as that plan, and nothing else is one."""

from __future__ import annotations

import pytest

from agent.state import PlanStep
from agent.steps.plan_text import MOST_LOOKUPS, Plan, PlanRequest, look_up, parse, prompt, reply

_SIMPLE = PlanRequest("How much did Dalton bill?")
_CHOICE = PlanRequest(
    "And who\nsigned it?",
    history=[("How much did  Dalton bill?", "1,200 euros")],
    collections=[("invoices", "bills"), ("contracts", "leases and\nloans")],
)
_KNOWN = PlanRequest("Who signed it?", findings=["Dalton billed 1,200 euros.", "Not found: Who signed it?"])


def test_the_prompt_shows_collections_conversation_question_and_findings_in_this_order() -> None:
    assert prompt(_SIMPLE) == "Question: How much did Dalton bill?\nPlan:"
    assert prompt(_CHOICE).splitlines() == [
        "Collections:",
        "- invoices: bills",
        "- contracts: leases and loans",
        "Before: How much did Dalton bill?",
        "Answer: 1,200 euros",
        "Question: And who signed it?",
        "Plan:",
    ]
    assert prompt(_KNOWN).splitlines()[1:3] == [
        "Found: Dalton billed 1,200 euros.",
        "Found: Not found: Who signed it?",
    ]


def test_the_prompt_is_bounded() -> None:
    turns = [(f"Question {number}?", "word " * 500) for number in range(9)]
    shown = prompt(PlanRequest("Why?", turns, [("c", "word " * 500)], ["word " * 500]))
    assert len(shown) < 1200
    assert ("Question 6?" in shown, "Question 7?" in shown) == (False, True)


@pytest.mark.parametrize(
    ("request_", "plan", "text"),
    [
        (_SIMPLE, Plan("talk", _SIMPLE.question), " TALK"),
        (_SIMPLE, Plan("ask", "Which Dalton do you mean?"), " ASK Which Dalton do you mean?"),
        (_SIMPLE, Plan("search", _SIMPLE.question, [look_up(_SIMPLE.question)]), " =\n="),
        (
            _CHOICE,
            Plan(
                "search",
                "Who signed the bill of Dalton?",
                [look_up("Which bill is Dalton's?", "invoices"), look_up("Who signed #1?")],
            ),
            " Who signed the bill of Dalton?\n[invoices] Which bill is Dalton's?\nWho signed #1?",
        ),
        (_CHOICE, Plan("search", "Who signed?", [look_up("Who signed?", "contracts")]), None),
        (_KNOWN, Plan("search", _KNOWN.question), " ="),
    ],
)
def test_a_written_plan_is_read_back(request_: PlanRequest, plan: Plan, text: str | None) -> None:
    written = reply(plan, request_)
    assert written == text or text is None
    assert parse(written, request_) == plan


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n\n",
        "=",  # no look-up, and nothing is known
        "TALK\n=",
        "ASK Which one?\n=",
        "=\nWho signed #1?",  # there is no first result yet
        "=\nWho?\nWho signed #2?",
        "=\nWho signed #0?",
        "=\n" + "\n".join(f"Who {number}?" for number in range(MOST_LOOKUPS + 1)),
    ],
)
def test_what_breaks_the_form_is_no_plan(text: str) -> None:
    assert parse(text, _SIMPLE) is None


_INVOICE = "Who was sent invoice #4711?"


@pytest.mark.parametrize(
    ("request_", "text", "lookups"),
    [
        # A collection that is not there is none, and a look-up that is repeated is made once.
        (_CHOICE, " Who?\n[letters] =\n[contracts]  Why?", [look_up("Who?"), look_up("Why?", "contracts")]),
        (_SIMPLE, "=\n=\nHow much did Dalton bill?", [look_up(_SIMPLE.question)]),
        *(  # A number that was shown is no reference.
            (shown, f"=\n{_INVOICE}\nWho signed #1?", [look_up(_INVOICE), look_up("Who signed #1?")])
            for shown in (
                PlanRequest(_INVOICE),
                PlanRequest("Who was sent it?", history=[("What is it?", "Invoice #4711")]),
                PlanRequest("Who was sent it?", findings=["It is invoice #4711."]),
            )
        ),
    ],
)
def test_what_is_odd_in_a_plan_is_put_right(
    request_: PlanRequest, text: str, lookups: list[PlanStep]
) -> None:
    plan = parse(text, request_)
    assert plan is not None
    assert plan.steps == lookups
