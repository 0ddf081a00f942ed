"""The strip of decisions: what a row says, and which one the cursor is at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from textual.app import App, ComposeResult

from agent import events as ev
from tests.tui.parts import decided, shadow
from traces.runs import Label
from tui.decisions.strip import DecisionStrip, Row, drawn
from tui.run.fold import RunFold

FIRST = decided("CONTINUE", (0.62, 0.3, 0.08), shadow=shadow("FINISH", (0.2, 0.1, 0.7)))
LAST = decided(
    "FINISH", (0, 0, 1), step=2, valid=["CONTINUE", "FINISH"], shadow=shadow("FINISH", (0, 0, 1))
)


def fold_of(*decisions: ev.Decided, run_id: str = "a") -> RunFold:
    fold = RunFold(run_id=run_id)
    fold.decisions = list(decisions)
    return fold


class Strip(DecisionStrip):
    """A strip that has no store."""

    def read_labels(self, change: Callable[[Any], None] = lambda _labels: None) -> None:
        change(self)

    def show_labels(self, labels: Mapping[int, Label], stored: int) -> None:
        self._labels, self._stored = labels, stored
        self._show_rows()


class Showing(App[None]):
    """A strip alone, and what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.strip = Strip()

    def compose(self) -> ComposeResult:
        yield self.strip

    @property
    def lines(self) -> str:
        return "\n".join(str(option.prompt) for option in self.strip.options)


def test_a_row_shows_the_action_its_source_and_every_probability() -> None:
    assert drawn(Row(FIRST), 60).plain.splitlines() == [
        " 1  → CONTINUE  rules  ≠ llm: FINISH",
        "    C 62%  R 30%  F  8%",
    ]
    assert drawn(Row(LAST), 60).plain.splitlines() == [
        " 2  ■ FINISH  rules  = llm agrees",
        "    C  0%  R   –  F100%",
    ]


async def test_the_label_of_an_event_stands_until_the_store_says_otherwise() -> None:
    app = Showing()
    taught = decided("CONTINUE", (1, 0, 0), source="human", label="teach")
    async with app.run_test() as pilot:
        app.strip.show_run(fold_of(FIRST, taught))
        await pilot.pause()
        assert "✎ you: right" in app.lines
        app.strip.show_labels({}, stored=1)
        assert "✎ you: right" in app.lines, "the store does not hold the second decision yet"
        app.strip.show_labels({}, stored=2)
        assert "✎" not in app.lines, "it was taken back"


async def test_the_cursor_follows_a_live_run_unless_it_was_moved() -> None:
    app = Showing()
    async with app.run_test() as pilot:
        app.strip.show_run(fold_of(FIRST))
        await pilot.pause()
        app.strip.show_run(fold_of(FIRST, LAST))
        await pilot.pause()
        assert app.strip.highlighted == 1
        app.strip.focus()
        await pilot.press("up")
        app.strip.show_run(fold_of(FIRST, LAST, LAST))
        await pilot.pause()
        assert app.strip.highlighted == 0
        app.strip.show_run(fold_of(FIRST, LAST, run_id="b"))
        await pilot.pause()
        assert app.strip.highlighted == 1, "another run"
