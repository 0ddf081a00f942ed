"""The list of stored runs: its table, and a preview of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from textwrap import wrap
from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.coordinate import Coordinate
from textual.events import Resize
from textual.widgets import DataTable, Static

from traces.runs import Run, Runs, RunSummary
from traces.store import Store, now
from tui.app.keys import ACTIONS_BY_ID
from tui.app.lists import Drawn
from tui.app.reach import deepthink
from tui.run.fold import RunFold, fold_of
from tui.run.words import ENDINGS, ending, local, local_time, reason, status, withheld
from tui.runs.actions import RunState, run_state
from tui.terminal import counted, duration, one_line

_MIN_WIDTH = 14  # of the flexible column; all columns then fit into 60 with a scrollbar


class RowTable(DataTable[Text]):
    """Rows with ids, cut where they are too long. The screen handles Enter and a second click."""

    WIDTHS: ClassVar[Mapping[str, int]]  # of the columns by name; 0 for the one that fills the row
    RIGHT: ClassVar[frozenset[str]] = frozenset()  # names of the right-aligned columns
    QUIET: ClassVar[frozenset[str]] = frozenset()  # names of the dimmed columns
    DEFAULT_CSS = "RowTable { overflow-x: hidden; }"

    def __init__(self) -> None:
        super().__init__(cursor_type="row")

    def on_mount(self) -> None:
        for name, width in self.WIDTHS.items():
            label = Text(name, justify="right" if name in self.RIGHT else "left")
            self.add_column(label, key=name, width=width or _MIN_WIDTH)

    def on_resize(self, event: Resize) -> None:
        used_width = sum(width + 2 * self.cell_padding for width in self.WIDTHS.values())
        room = max(_MIN_WIDTH, event.size.width - 1 - used_width)
        flexible = next(column for column in self.ordered_columns if not self.WIDTHS[str(column.key.value)])
        if room != flexible.width:
            flexible.width = room
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
        """Add or update a row; one value for each column."""
        cells = [self._cell(name, value) for name, value in zip(self.WIDTHS, values, strict=True)]
        if row_id not in self.rows:
            self.add_row(*cells, key=row_id)
            return
        for name, cell in zip(self.WIDTHS, cells, strict=True):
            self.update_cell(row_id, name, cell)

    def go_to(self, row_id: str) -> None:
        if row_id in self.rows:
            self.move_cursor(row=self.get_row_index(row_id), animate=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action == "select_cursor" else super().check_action(action, parameters)

    def action_scroll_home(self) -> None:
        """Go to the first row; there is no first column to go to."""
        self.action_scroll_top()

    def action_scroll_end(self) -> None:
        self.action_scroll_bottom()

    def _cell(self, name: str, value: str) -> Text:
        cell = Text(value, no_wrap=True, overflow="ellipsis", end="")
        cell.style = "dim" if name in self.QUIET else "bold" if value.startswith("▸") else ""
        cell.justify = "right" if name in self.RIGHT else "left"
        return cell


def short_time(moment: datetime) -> str:
    """Day and time in this year, else only the day; at most 11 columns."""
    moment = local(moment)
    return f"{moment:%m-%d %H:%M}" if moment.year == local(now()).year else f"{moment:%Y-%m-%d}"


_LOOK_AHEAD_ROWS = 40  # the next page is loaded this many rows before the last
_MAX_QUESTION = 200  # characters; no row is wider
_BESIDES = tuple(f"runs.{name}" for name in ("status", "plan", "mark", "again", "delete", "unfinished"))
"""Actions that do not fit in the footer in 80 columns; the preview names their keys."""
_UNBROKEN = "\u00a0"
_RATINGS = {"good": "✓ good", "partly": "~ partly", "wrong": "✗ wrong"}


class RunList(RowTable):
    """Stored runs, newest first; a marked run begins with ``▸``."""

    WIDTHS: ClassVar[Mapping[str, int]] = {"question": 0, "status": 10, "rating": 8, "when": 11}
    QUIET = frozenset({"when"})

    def __init__(self) -> None:
        super().__init__()
        self.marked = ""
        self._runs: dict[str, RunSummary] = {}

    @property
    def current(self) -> RunSummary | None:
        return self._runs.get(self.current_id)

    @property
    def near_end(self) -> bool:
        row = max(self.cursor_row, round(self.scroll_y) + self.size.height)
        return row >= self.row_count - _LOOK_AHEAD_ROWS

    def of(self, run_id: str) -> RunSummary | None:
        return self._runs.get(run_id)

    def begins_with(self, runs: Sequence[RunSummary]) -> bool:
        return [self._runs[str(row.key.value)] for row in self.ordered_rows[: len(runs)]] == list(runs)

    def show_page(self, page: Sequence[RunSummary], *, first: bool) -> None:
        """Add a page; the ``first`` replaces all rows, and the cursor stays on its run."""
        current_id = self.current_id
        if first:
            self.clear()
            self._runs.clear()
        for run in page:
            self.show(run)
        if first:
            self.go_to(current_id)

    def show(self, run: RunSummary) -> None:
        self._runs[run.id] = run
        values = (
            ("▸ " if run.id == self.marked else "") + one_line(run.question, _MAX_QUESTION),
            status(run, doubtful=run.doubtful).removeprefix("answered with "),
            _RATINGS.get(run.rating, ""),
            short_time(run.started),
        )
        self.put(run.id, values)

    def take_out(self, run_id: str) -> None:
        if run_id == self.marked:
            self.marked = ""
        if self._runs.pop(run_id, None) is not None:
            self.remove_row(run_id)

    def mark(self, run_id: str) -> None:
        """Mark a run instead of the previous one; "" for none."""
        previous, self.marked = self.marked, run_id
        for row_id in (previous, run_id):
            if row_id in self._runs:
                self.show(self._runs[row_id])


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run, its fold, and whether it can be resumed or is in progress."""

    run: Run
    fold: RunFold
    state: RunState


def read_run(store: Store, run_id: str) -> StoredRun:
    """Read a stored run, for a worker. Raises `UnknownRun`."""
    with store.connect():
        run = Runs(store).find(run_id)
        return StoredRun(run, fold_of(store, run), run_state(store, run))


class RunPreview(VerticalScroll):
    HELP = "The chosen run: its answer, what it rests on, and why it stopped."
    DEFAULT_CSS = """
    RunPreview { padding: 0 1; }
    RunPreview #preview-keys { dock: bottom; color: $foreground 65%; background: $background; }
    """

    def compose(self) -> ComposeResult:
        yield Static(id="preview")
        yield Static(id="preview-keys", markup=False)

    def show(self, preview: StoredRun | None) -> None:
        self.scroll_home(animate=False)
        text, keys = Content(""), list[str]()
        if preview is not None:
            key_for = deepthink(self).key_for
            question = Content(one_line(preview.run.question)).stylize("bold")
            answer = Content(preview.fold.answer or _no_answer_text(preview, key_for("runs.resume")))
            facts = Content("\n".join(_facts(preview))).stylize("$foreground 65%")
            kept_back = Content("\n".join(withheld(preview.fold))).stylize("$warning")
            text = Content("\n\n").join(filter(None, [question, answer, kept_back, facts]))
            keys = [f"{key_for(name)} {ACTIONS_BY_ID[name].label.lower()}" for name in _BESIDES]
        self.query_one("#preview", Static).update(text)
        self.query_one("#preview-keys", Static).update(Drawn(partial(_draw_keys, keys)))


def _draw_keys(keys: Sequence[str], width: int) -> Content:
    """The keys with what they do, none of them on two lines."""
    whole = "  ".join(key.replace(" ", _UNBROKEN) for key in keys)
    return Content("\n".join(wrap(whole, width)).replace(_UNBROKEN, " "))


def _facts(preview: StoredRun) -> list[str]:
    run = preview.run
    duration_text = f", {duration(run.seconds)}" if run.seconds is not None else ""
    ended = ENDINGS["interrupted"] if run.status == "running" else ending(preview.fold)
    if preview.state == "going on":
        ended = "… a process is working on it"
    answered = preview.fold.answered
    sources = [counted(len(answered.sources), "source")] if answered else []
    setup = [one_line(run.chat_model), run.profile, f"decisions by {run.decider}"]
    return [
        " · ".join([local_time(run.started), f"{ended}{duration_text}", *sources]),
        *([f"because {reason(run)}"] if reason(run) else []),
        " · ".join([*setup, f"in {one_line(', '.join(run.collections))}", f"run {run.id}"]),
    ]


def _no_answer_text(preview: StoredRun, resume: str) -> str:
    if preview.state == "resumable":
        return f"No answer yet: {resume} resumes it."
    return "It is still going on." if preview.state == "going on" else "No answer."
