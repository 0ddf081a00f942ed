"""The table of stored runs. It holds a page at a time and asks for the next as the cursor nears its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from textual.coordinate import Coordinate
from textual.message import Message

from traces.runs import RunSummary
from tui.app.widgets.run_list_table import RowTable, when
from tui.run_status import status
from tui.terminal import one_line

_NEAR = 40  # rows before the last at which the next page is asked for
_LONGEST = 200  # characters of a question; no row is wider
_RATINGS = {"good": "✓ good", "partly": "~ partly", "wrong": "✗ wrong"}


class RunList(RowTable):
    """Stored runs, newest first; a run that is marked has ``▸`` before it."""

    HELP = (
        "Every run that is stored. **Enter** replays one, `c` marks one and then a second to compare them."
    )
    WIDTHS: ClassVar[Mapping[str, int]] = {
        "when": 11,
        "status": 10,
        "rating": 8,
        "time": 6,
        "dec": 3,
        "question": 0,
    }
    RIGHT = frozenset({"time", "dec"})
    QUIET = frozenset({"when", "time", "dec"})

    class NearEnd(Message):
        """The cursor or the view has come near the last row that is loaded."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.marked = ""
        self._runs: dict[str, RunSummary] = {}

    @property
    def current(self) -> RunSummary | None:
        """The run under the cursor."""
        return self._runs.get(self.current_id)

    @property
    def near_end(self) -> bool:
        """Whether the next page is wanted."""
        row = max(self.cursor_row, round(self.scroll_y) + self.size.height)
        return row >= self.row_count - _NEAR

    def of(self, run_id: str) -> RunSummary | None:
        """A run that is in the table."""
        return self._runs.get(run_id)

    def show_page(self, page: Sequence[RunSummary], *, first: bool) -> None:
        """Add a page; the ``first`` replaces what there is, and the cursor stays on its run."""
        here = self.current_id
        if first:
            self.clear()
            self._runs.clear()
        for run in page:
            self.show(run)
        if first:
            self.go_to(here)

    def show(self, run: RunSummary) -> None:
        """Add a run, or show it anew."""
        self._runs[run.id] = run
        values = (
            when(run.started),
            status(run),
            _RATINGS.get(run.rating, ""),
            _clock(run.seconds),
            str(run.decisions or ""),
            ("▸ " if run.id == self.marked else "") + one_line(run.question, _LONGEST),
        )
        self.put(run.id, values)

    def take_out(self, run_id: str) -> None:
        """Take a run out of the table, and its mark with it."""
        if run_id == self.marked:
            self.marked = ""
        if self._runs.pop(run_id, None) is not None:
            self.remove_row(run_id)

    def mark(self, run_id: str) -> None:
        """Mark a run instead of the one that was; "" for none."""
        before, self.marked = self.marked, run_id
        for changed in (before, run_id):
            if changed in self._runs:
                self.show(self._runs[changed])

    def watch_cursor_coordinate(self, old_coordinate: Coordinate, new_coordinate: Coordinate) -> None:
        """Ask for more in time."""
        super().watch_cursor_coordinate(old_coordinate, new_coordinate)
        self._look_ahead()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Likewise for who scrolls with the mouse."""
        super().watch_scroll_y(old_value, new_value)
        self._look_ahead()

    def _look_ahead(self) -> None:
        if self.row_count and self.near_end:
            self.post_message(self.NearEnd())


def _clock(seconds: float | None) -> str:
    """Seconds in six columns: ``8.3 s``, ``59 s``, ``12:05``, ``3 h``."""
    if seconds is None:
        return ""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 100 else f"{minutes / 60:.0f} h"
