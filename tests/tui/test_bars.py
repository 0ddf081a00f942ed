"""Progress is a bar on a terminal, and lines elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

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
