"""The table of stored runs. It holds a page at a time and asks for the next as the cursor nears its end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from rich.text import Text
from textual.coordinate import Coordinate
from textual.events import Resize
from textual.message import Message
from textual.widgets import DataTable

from traces.runs import RunSummary
from traces.store import now
from tui.run_status import local, status
from tui.terminal import one_line

NEAR = 40
"""Rows before the last at which the next page is asked for."""
_LONGEST = 200  # characters of a question; no row is wider
_RATINGS = {"good": "✓ good", "partly": "~ partly", "wrong": "✗ wrong"}
_WIDTHS = {"when": 11, "status": 10, "rating": 8, "time": 6, "dec": 3}
_RIGHT = frozenset({"time", "dec"})
_LEAST = 16  # columns for the question


class RunList(DataTable[Text]):
    """Stored runs, newest first; a run that is marked has ``▸`` before it."""

    HELP = "Every run that is stored. Enter replays one, C marks one and then a second to compare them."
    DEFAULT_CSS = "RunList { overflow-x: hidden; }"
    _COLUMNS: ClassVar[Sequence[str]] = ("when", "status", "rating", "time", "dec", "question")

    class NearEnd(Message):
        """The cursor or the view has come near the last row that is loaded."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(cursor_type="row", id=id)
        self.marked = ""
        self._runs: dict[str, RunSummary] = {}

    def on_mount(self) -> None:
        """Columns first; the question takes what is left."""
        for name in self._COLUMNS:
            label = Text(name, justify="right" if name in _RIGHT else "left")
            self.add_column(label, key=name, width=_WIDTHS.get(name, _LEAST))

    def on_resize(self, event: Resize) -> None:
        """The question takes what the other columns leave."""
        taken = sum(width + 2 * self.cell_padding for width in _WIDTHS.values())
        question = next(column for key, column in self.columns.items() if key == "question")
        room = max(_LEAST, event.size.width - 1 - taken - 2 * self.cell_padding)
        if room != question.width:
            question.width = room
            self._clear_caches()
            self._require_update_dimensions = True
            self.refresh()

    @property
    def current(self) -> RunSummary | None:
        """The run under the cursor."""
        if not self.is_valid_row_index(self.cursor_row):
            return None
        return self._runs[str(self.coordinate_to_cell_key(Coordinate(self.cursor_row, 0)).row_key.value)]

    def of(self, run_id: str) -> RunSummary | None:
        """A run that is in the table."""
        return self._runs.get(run_id)

    def show_page(self, page: Sequence[RunSummary], *, first: bool) -> None:
        """Add a page; the ``first`` replaces what there is, and the cursor stays on its run."""
        if first:
            here = self.current
            self.clear()
            self._runs.clear()
        for run in page:
            if run.id not in self._runs:  # a run that was begun meanwhile moves all the others down
                self._runs[run.id] = run
                self.add_row(*self._cells(run), key=run.id)
        if first and here is not None and here.id in self._runs:
            self.move_cursor(row=self.get_row_index(here.id), animate=False)

    def put(self, run: RunSummary) -> None:
        """Show a run anew that is in the table."""
        self._runs[run.id] = run
        for name, cell in zip(self._COLUMNS, self._cells(run), strict=True):
            self.update_cell(run.id, name, cell)

    def take_out(self, run_id: str) -> None:
        """Take a run out of the table."""
        if self._runs.pop(run_id, None) is not None:
            self.remove_row(run_id)

    def mark(self, run_id: str) -> None:
        """Mark a run instead of the one that was; "" for none."""
        before, self.marked = self.marked, run_id
        for changed in (before, run_id):
            if changed in self._runs:
                self.put(self._runs[changed])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter is the screen's."""
        return False if action == "select_cursor" else super().check_action(action, parameters)

    def action_scroll_home(self) -> None:
        """To the newest; a row has no first column to go to."""
        self.action_scroll_top()

    def action_scroll_end(self) -> None:
        """To the oldest that is loaded."""
        self.action_scroll_bottom()

    def watch_cursor_coordinate(self, old_coordinate: Coordinate, new_coordinate: Coordinate) -> None:
        """Ask for more in time."""
        super().watch_cursor_coordinate(old_coordinate, new_coordinate)
        self._look_ahead()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Likewise for who scrolls with the mouse."""
        super().watch_scroll_y(old_value, new_value)
        self._look_ahead()

    @property
    def near_end(self) -> bool:
        """Whether the next page is wanted."""
        row = max(self.cursor_row, round(self.scroll_y) + self.size.height)
        return row >= self.row_count - NEAR

    def _look_ahead(self) -> None:
        if self.row_count and self.near_end:
            self.post_message(self.NearEnd())

    def _cells(self, run: RunSummary) -> list[Text]:
        values: dict[str, Any] = {
            "when": self._when(run),
            "status": status(run),
            "rating": _RATINGS.get(run.rating, ""),
            "time": _clock(run.seconds),
            "dec": run.decisions or "",
            "question": ("▸ " if run.id == self.marked else "") + one_line(run.question, _LONGEST),
        }
        return [_cell(name, str(values[name])) for name in self._COLUMNS]

    @staticmethod
    def _when(run: RunSummary) -> str:
        """The day and the time; of another year's only the day."""
        began = local(run.started)
        return f"{began:%m-%d %H:%M}" if began.year == local(now()).year else f"{began:%Y-%m-%d}"


def _cell(name: str, text: str) -> Text:
    cell = Text(text, no_wrap=True, overflow="ellipsis", end="")
    cell.style = "dim" if name in {"when", "time", "dec"} else "bold" if text.startswith("▸") else ""
    cell.justify = "right" if name in _RIGHT else "left"
    return cell


def _clock(seconds: float | None) -> str:
    """Seconds in six columns: ``8.3 s``, ``59 s``, ``12:05``, ``3 h``."""
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 100 else f"{minutes / 60:.0f} h"
