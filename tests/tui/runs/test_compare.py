"""Two runs held against each other: what is said of them, and choosing them."""

from __future__ import annotations

import pytest
from textual.widgets import Static

from agent import events as ev
from agent.state import PlanStep
from tests.tui import parts, stored
from tests.tui.runs.test_screen import opened
from tests.tui.seen import text_of
from tests.tui.waiting import opens, until
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.runs.compare import CompareScreen, Row, compare
from tui.runs.list import StoredRun, read_run
from tui.runs.screen import RunsScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (120, 40)


def step(question: str) -> PlanStep:
    return PlanStep(question=question, reason="", tool="facts", keywords="", section="")


def decided(after: int, action: str, source: str = "rules") -> tuple[float, ev.Event]:
    shares = (0.1, 0.1, 0.8) if action == "FINISH" else (0.8, 0.1, 0.1)
    return 1.0, parts.decided(action, shares, step=after, source=source)


def two_runs() -> tuple[str, str]:
    """Two runs of the same question: the second took a step and a passage more, and other words."""
    shared, other = stored.passage(1), stored.passage(2, text="Brevnes makes them.", title="Fire")
    first = [
        (0.5, ev.Planned([step("Who supplies it?")], 0, "model")),
        (0.6, ev.EvidenceKept(1, [shared], [])),
        decided(1, "FINISH"),
    ]
    second = [
        (0.5, ev.Planned([step("Who supplies it?"), step("Where is #1?")], 0, "model")),
        (0.6, ev.EvidenceKept(1, [other, {**shared, "number": 3, "passage_id": 77}], [])),
        decided(1, "CONTINUE", "llm"),
        decided(2, "FINISH"),
        (6.1, ev.Warned("late")),
    ]
    return (
        stored.store_run(first, answer="Tolvang [1]."),
        stored.store_run(second, answer="Tolvang, in Brevnes [2][3]."),
    )


def read(run_id: str) -> StoredRun:
    return read_run(open_store(), run_id)


def test_two_runs_are_compared_section_by_section() -> None:
    sections = {section.title: section for section in compare(*map(read, two_runs()))}
    assert sections["Question"].rows == [Row("=", stored.QUESTION)]
    assert sections["Answer"].rows == [Row("≠", "Tolvang [1].", "Tolvang, in Brevnes [1][2].")]
    assert sections["End"].rows[0].first == "answered: enough was found"
    assert sections["Settings"].rows == [], "what is the same is said once"
    assert "profile lean" in sections["Settings"].words
    assert "model llama.cpp:small" in sections["Settings"].words
    assert sections["Plan"].rows == [
        Row("=", "1. Who supplies it?"),
        Row("B only", "–", "2. Where is (answer 1)?"),
    ]
    assert sections["Decisions"].rows == [
        Row("≠", "after step 1: FINISH (rules, 80%)", "after step 1: CONTINUE (llm, 80%)"),
        Row("B only", "–", "after step 2: FINISH (rules, 80%)"),
    ]
    assert sections["Evidence"].rows == [  # a passage is the same by its text, whatever its numbers
        Row("=", "[1] (in B [2]) Supply › Bearings, p. 3"),
        Row("B only", "–", "[1] Fire › Supply › Bearings, p. 3"),
    ]
    assert sections["Evidence"].words == "1 in both, 0 only in A, 1 only in B"
    time, calls, *_ = sections["Cost"].rows
    assert time == Row("≠", "time: 1.1 s", "time: 6.2 s")
    assert calls == Row("=", "model calls: 2")


def test_long_questions_leave_room_for_the_answers() -> None:
    long = "Who supplies the seals of the pumps, and since when? " * 20
    runs = [read(stored.store_run(question=long + more)) for more in ("", "Why?")]
    question, answer, *_ = compare(*runs)
    (row,) = question.rows
    assert row.sign == "≠", "they differ where they are cut"
    assert row.first.endswith("…")
    assert len(row.first) <= 240
    assert answer.title == "Answer"


def texts(screen: CompareScreen) -> list[str]:
    return [str(line.content) for line in screen.query_one("#compare").query(Static)]


async def test_two_runs_are_chosen_in_the_list(app: DeepthinkApp) -> None:
    first, second = two_runs()
    async with app.run_test(size=(80, 24)) as pilot:
        await opened(pilot, 2)
        screen = await opens(pilot, CompareScreen, "c", "down", "c")
        await until(pilot, lambda: "Cost" in texts(screen))
        assert second in text_of(screen, "#compare-first")
        assert first in text_of(screen, "#compare-second")
        assert "A only" in texts(screen)
        await opens(pilot, RunsScreen, "escape")
