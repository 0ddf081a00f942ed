"""What it costs to append to an answer that is long already, beside one that is short."""

from __future__ import annotations

import asyncio
import statistics
import time

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll

from tests.benchmarks.table import Row
from tui.run.exchange import Answer

_SHORT, _LONG = 1_000, 50_000  # characters
_TIMES = 100
_PIECE = "It repeated this [2] of the *year*. "  # about as much as comes between two frames
_PARAGRAPH = 12  # pieces


class _Reader(App[None]):
    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            yield Answer()
        scroll.anchor()


def appends() -> list[Row]:
    """Milliseconds for one append, layout and drawing included, at two lengths."""
    short, long = asyncio.run(_measure())
    ratio = long / short
    return [
        Row(f"append to an answer of {_SHORT:,} characters", f"{short * 1000:.1f} ms"),
        Row(f"append to an answer of {_LONG:,} characters", f"{long * 1000:.1f} ms"),
        Row("the one beside the other", f"{ratio:.1f} times", "under 3", met=ratio < 3),
    ]


async def _measure() -> tuple[float, float]:
    app = _Reader()
    async with app.run_test(size=(100, 30)) as pilot:
        answer = app.query_one(Answer)

        async def grown(text: str) -> float:
            began = time.perf_counter()
            answer.write(text)
            while len(answer.source) < len(text):
                await asyncio.sleep(0)
            await pilot.pause()
            return time.perf_counter() - began

        pieces = 0
        text = ""
        medians = []
        for length in (_SHORT, _LONG):
            while len(text) < length:
                text += _piece(pieces)
                pieces += 1
            await grown(text)
            taken = []
            for _ in range(_TIMES):
                text += _piece(pieces)
                pieces += 1
                taken.append(await grown(text))
            medians.append(statistics.median(taken))
    return medians[0], medians[1]


def _piece(number: int) -> str:
    return _PIECE + ("\n\n" if number % _PARAGRAPH == _PARAGRAPH - 1 else "")
