"""Progress is a bar on a terminal, and lines elsewhere."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from rich.console import Console

from tui import bars
from tui.bars import show_progress


@dataclass(frozen=True)
class Far:
    """How far something is."""

    done: int
    total: int = 3_000
    seconds_left: float | None = None


def _describe(far: Far) -> str:
    return "questions" if far.done else "paragraphs"


def test_where_nothing_can_be_drawn_a_line_is_told_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr("tui.bars.time.monotonic", lambda: now)

    def going() -> Iterator[Far]:
        nonlocal now
        yield Far(0)
        yield Far(1)
        now += 10
        yield Far(2_000, seconds_left=90)
        yield Far(3_000, seconds_left=0)

    assert show_progress(going(), _describe) == Far(3_000, seconds_left=0)
    assert capsys.readouterr().out.splitlines() == [
        "paragraphs 0 of 3,000",
        "questions 2,000 of 3,000 1 min 30 s left",
    ]


def test_on_a_terminal_a_bar_is_drawn_and_gone_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    out = Console(file=io.StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(bars, "is_live", lambda plain: not plain)
    monkeypatch.setattr(bars, "console", lambda: out)
    assert show_progress(iter([Far(2_000, seconds_left=90)]), _describe) == Far(2_000, seconds_left=90)
    drawn = out.file.getvalue()  # type: ignore[attr-defined]
    assert "questions" in drawn
    assert "2000/3000" in drawn
    assert drawn.endswith("\x1b[2K")  # the last line is wiped


def test_nothing_told_is_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    none: list[Far] = []
    assert show_progress(none, _describe) is None
    assert capsys.readouterr().out == ""
