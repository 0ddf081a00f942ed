"""A table of rows whose last column takes what the others leave, as lists of runs and sessions are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import ClassVar

from rich.text import Text
from textual.coordinate import Coordinate
from textual.events import Resize
from textual.widgets import DataTable

from traces.store import now
from tui.run_status import local

_LEAST = 16  # columns for the last one


class RowTable(DataTable[Text]):
    """Rows with ids. Enter and a second click are the screen's; a row that is too long ends with ``…``.

    Attributes:
        WIDTHS: Columns by name with their widths; the last has 0.
        RIGHT: Names of those that are aligned right.
        QUIET: Names of those that matter less.
    """

    WIDTHS: ClassVar[Mapping[str, int]]
    RIGHT: ClassVar[frozenset[str]] = frozenset()
    QUIET: ClassVar[frozenset[str]] = frozenset()
    DEFAULT_CSS = """
    RowTable { overflow-x: hidden; }
    RowTable:focus { background-tint: $foreground 0%; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(cursor_type="row", id=id)

    def on_mount(self) -> None:
        """Columns first."""
        for name, width in self.WIDTHS.items():
            label = Text(name, justify="right" if name in self.RIGHT else "left")
            self.add_column(label, key=name, width=width or _LEAST)

    def on_resize(self, event: Resize) -> None:
        """The last column takes what the others leave."""
        taken = sum(width + 2 * self.cell_padding for width in self.WIDTHS.values())
        room = max(_LEAST, event.size.width - 1 - taken)
        last = self.ordered_columns[-1]
        if room != last.width:
            last.width = room
            self._clear_caches()
            self._require_update_dimensions = True
            self.refresh()

    @property
    def current_id(self) -> str:
        """The id of the row under the cursor; "" if there is none."""
        if not self.is_valid_row_index(self.cursor_row):
            return ""
        return str(self.coordinate_to_cell_key(Coordinate(self.cursor_row, 0)).row_key.value)

    def put(self, row_id: str, values: Sequence[str]) -> None:
        """Add a row, or show it anew; one value for each column."""
        cells = [self._cell(name, value) for name, value in zip(self.WIDTHS, values, strict=True)]
        if row_id not in self.rows:
            self.add_row(*cells, key=row_id)
            return
        for name, cell in zip(self.WIDTHS, cells, strict=True):
            self.update_cell(row_id, name, cell)

    def go_to(self, row_id: str) -> None:
        """Put the cursor on a row, if it is there."""
        if row_id in self.rows:
            self.move_cursor(row=self.get_row_index(row_id), animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Enter is the screen's."""
        return False if action == "select_cursor" else super().check_action(action, parameters)

    def action_scroll_home(self) -> None:
        """To the first row; a row has no first column to go to."""
        self.action_scroll_top()

    def action_scroll_end(self) -> None:
        """To the last row."""
        self.action_scroll_bottom()

    def _cell(self, name: str, value: str) -> Text:
        cell = Text(value, no_wrap=True, overflow="ellipsis", end="")
        cell.style = "dim" if name in self.QUIET else "bold" if value.startswith("▸") else ""
        cell.justify = "right" if name in self.RIGHT else "left"
        return cell


def when(moment: datetime) -> str:
    """The day and the time of this year, only the day of another; 11 columns."""
    told = local(moment)
    return f"{told:%m-%d %H:%M}" if told.year == local(now()).year else f"{told:%Y-%m-%d}"
