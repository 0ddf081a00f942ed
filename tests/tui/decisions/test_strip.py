"""The strip of decisions: what a row says, and what the keys on it do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from textual import on
from textual.app import App, ComposeResult

from agent import events as ev
from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS
from traces.labels import Label
from tui.decisions.strip import DecisionStrip, Row, bar, drawn, percent, took
from tui.run.fold import RunFold


def shadow(action: str, probabilities: Sequence[float], source: str = "llm") -> dict[str, Any]:
    """What a second source would have done."""
    return {
        "action": action,
        "probabilities": dict(zip(ACTIONS, probabilities, strict=True)),
        "source": source,
        "latency_ms": 900.0,
        "justification": "",
        "behaviour_probability": 1.0,
    }


def decided(action: str, probabilities: Sequence[float], **changed: Any) -> ev.Decided:
    """A decision after the first step, by the rules."""
    fields: dict[str, Any] = {
        "step": 1,
        "state_version": STATE_VERSION,
        "state": {},
        "valid": list(ACTIONS),
        "action": action,
        "probabilities": dict(zip(ACTIONS, probabilities, strict=True)),
        "source": "rules",
        "latency_ms": 0.3,
        "justification": "one of the plan's steps is open",
        "behaviour_probability": 1.0,
        **changed,
    }
    return ev.Decided(**fields)


FIRST = decided("CONTINUE", (0.62, 0.3, 0.08), shadow=shadow("FINISH", (0.2, 0.1, 0.7)))
LAST = decided(
    "FINISH", (0, 0, 1), step=2, valid=["CONTINUE", "FINISH"], shadow=shadow("FINISH", (0, 0, 1))
)


def fold_of(*decisions: ev.Decided, asked: ev.Asked | None = None, run_id: str = "a") -> RunFold:
    """A run that took these decisions."""
    fold = RunFold(run_id=run_id, unanswered=asked)
    fold.decisions = list(decisions)
    return fold


class Strip(DecisionStrip):
    """A strip that has no store: it remembers what was labelled, and unlabelled."""

    def __init__(self) -> None:
        super().__init__()
        self.said: list[object] = []

    def read_labels(self, change: Callable[[Any], None] = lambda _labels: None) -> None:
        change(self)

    def put(self, _run_id: str, seq: int, action: str) -> None:
        self.said.append((seq, action))

    def drop(self, _run_id: str, seq: int) -> None:
        self.said.append(seq)

    def show_labels(self, labels: Mapping[int, Label], stored: int) -> None:
        self._labels, self._stored = labels, stored
        self.redraw()


class Showing(App[None]):
    """A strip alone, and what it says."""

    def __init__(self) -> None:
        super().__init__()
        self.strip = Strip()

    def compose(self) -> ComposeResult:
        yield self.strip

    @on(DecisionStrip.Answered)
    def _answered(self, message: DecisionStrip.Answered) -> None:
        self.said.append(message.action)

    @property
    def said(self) -> list[object]:
        """What was labelled, unlabelled, answered."""
        return self.strip.said

    @property
    def lines(self) -> str:
        """The text of all rows."""
        return "\n".join(str(option.prompt) for option in self.strip.options)


def test_a_row_shows_the_action_its_source_and_every_probability() -> None:
    assert drawn(Row(FIRST), 60, marked=True).plain.splitlines() == [
        "▸  1  → CONTINUE  rules  ≠ llm: FINISH",
        "    C 62%  R 30%  F  8%",
    ]
    assert drawn(Row(LAST), 60, marked=False).plain.splitlines() == [
        "   2  ■ FINISH  rules  = llm agrees",
        "    C  0%  R   –  F100%",
    ]


def test_a_row_has_two_lines_of_forty_cells() -> None:
    row = Row(decided("CONTINUE", (1, 0, 0), source="learned", shadow=shadow("FINISH", (0, 0, 1))))
    for label in (None, Label(0, "CONTINUE"), Label(0, "REVISE")):
        lines = drawn(Row(row.decided, label), 40, marked=True).plain.splitlines()
        assert len(lines) == 2
        assert max(map(len, lines)) <= 40
    assert lines[1].endswith("✎ you: REVISE")


def test_numbers() -> None:
    assert [percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == [
        "  0%",
        " <1%",
        " 50%",
        " 99%",
        "100%",
    ]
    assert [took(ms) for ms in (0, 0.02, 0.3, 312, 1412)] == ["", "< 0.1 ms", "0.3 ms", "312 ms", "1.4 s"]
    assert [bar(share, 4).plain for share in (0, 0.001, 0.5, 1)] == ["    ", "▏   ", "██  ", "████"]


async def test_keys_label_the_decision_under_the_cursor_with_what_was_possible() -> None:
    app = Showing()
    async with app.run_test() as pilot:
        app.strip.show(fold_of(FIRST, LAST))
        app.strip.show_labels({1: Label(1, "CONTINUE")}, stored=2)
        app.strip.focus()
        await pilot.pause()
        assert app.strip.highlighted == 1, "the newest"
        assert "✎ you: CONTINUE" in app.lines
        await pilot.press("1", "c", "2", "backspace", "up", "backspace", "2", "r", "3", "f")
        first = [(0, "REVISE")] * 2 + [(0, "FINISH")] * 2
        assert app.said == [(1, "CONTINUE"), (1, "CONTINUE"), 1, *first]
        assert "REVISE was not possible there, only CONTINUE or FINISH." in [
            n.message for n in app._notifications
        ]


async def test_the_label_of_an_event_stands_until_the_store_says_otherwise() -> None:
    app = Showing()
    taught = decided("CONTINUE", (1, 0, 0), source="human", label="teach")
    async with app.run_test() as pilot:
        app.strip.show(fold_of(FIRST, taught))
        await pilot.pause()
        assert "✎ you: right" in app.lines
        app.strip.show_labels({}, stored=1)
        assert "✎ you: right" in app.lines, "the store does not hold the second decision yet"
        app.strip.show_labels({}, stored=2)
        assert "✎" not in app.lines, "it was taken back"


async def test_the_cursor_follows_a_live_run_unless_it_was_moved() -> None:
    app = Showing()
    async with app.run_test() as pilot:
        app.strip.show(fold_of(FIRST))
        await pilot.pause()
        app.strip.show(fold_of(FIRST, LAST))
        await pilot.pause()
        assert app.strip.highlighted == 1
        app.strip.focus()
        await pilot.press("up")
        app.strip.show(fold_of(FIRST, LAST, LAST))
        await pilot.pause()
        assert app.strip.highlighted == 0
        app.strip.show(fold_of(FIRST, LAST, run_id="b"))
        await pilot.pause()
        assert app.strip.highlighted == 1, "another run"


async def test_a_run_that_asks_is_answered_on_its_last_row() -> None:
    app = Showing()
    asked = ev.Asked(
        "decide",
        "What next?",
        ["CONTINUE", "FINISH"],
        suggested="FINISH",
        probabilities={"CONTINUE": 0.3, "REVISE": 0.0, "FINISH": 0.7},
    )
    async with app.run_test() as pilot:
        app.strip.show(fold_of(FIRST, asked=asked))
        app.strip.focus()
        await pilot.press("2", "3")
        assert app.said == ["FINISH"]
        assert "suggested: ■ FINISH" in app.lines
        app.strip.show(fold_of(FIRST, asked=ev.Asked("approve", "Show it?", ["accept"])))
        await pilot.pause()
        assert "your turn" not in app.lines


async def test_without_a_decision_it_says_what_will_be_here() -> None:
    app = Showing()
    async with app.run_test(size=(42, 12)) as pilot:
        assert "No decision yet" in app.lines
        app.strip.focus()
        await pilot.press("1", "down")
        assert app.said == []
        app.strip.show(fold_of(FIRST))
        await pilot.pause()
        assert "No decision yet" not in app.lines
        assert len(app.lines.splitlines()) == 2
        app.strip.show(fold_of(run_id="c"))
        await pilot.pause()
        assert "No decision yet" in app.lines
