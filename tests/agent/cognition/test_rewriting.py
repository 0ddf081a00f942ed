"""References are resolved, and what is no query is not searched for."""

from __future__ import annotations

import pytest
from agent.cognition.rewriting import PlainRewriter, one_line, resolve

from agent.session import Session
from agent.state import Note, PlanStep


def _note(step: int, answer: str, *, found: bool = True) -> Note:
    return Note(
        step=step,
        question="Who makes them?",
        sentence=answer,
        answer=answer,
        cites=[1],
        found=found,
        revision=0,
    )


def test_references() -> None:
    notes = [_note(1, "Tolvang Ceramics"), _note(2, "", found=False)]
    assert resolve("What happened at #1's plant?", notes) == "What happened at Tolvang Ceramics's plant?"
    assert resolve("Where is #2?", notes) == "Where is (Who makes them)?"
    assert resolve("Where is #7 now?", notes) == "Where is now?"


@pytest.mark.parametrize(
    ("question", "query"),
    [
        ("What happened at that supplier's plant in 2025?", " Tolvang"),
        ("For how long?", " Who makes them? Tolvang"),
        ("When was John Waite born?", ""),
        ("云浦工厂的年产能是多少？", ""),
        ("What was revenue in 2024?", ""),
    ],
)
def test_a_question_that_points_back_gets_the_last_finding(
    question: str, query: str, idle_session: Session
) -> None:
    step = PlanStep(question=question, reason="", tool="", keywords="", section="")
    rewritten = PlainRewriter().rewrite(idle_session, [], step, question, [_note(1, "Tolvang")])
    assert rewritten == question + query


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("NVIDIA revenue 2023", "NVIDIA revenue 2023"),
        ('Search query: "NVIDIA revenue"\nThis query looks for…', "NVIDIA revenue"),
        ("\n\n- Tolvang fire", "Tolvang fire"),
        ("", ""),
        ("…", ""),
        ("x" * 301, ""),  # an essay is no query
    ],
)
def test_one_line(written: str, query: str) -> None:
    assert one_line(written) == query
