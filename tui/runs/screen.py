"""The Runs screen: every question asked on this machine, to find, replay, compare, rate and resume."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, Horizontal
from textual.content import Content
from textual.timer import Timer
from textual.widgets import DataTable, Input, Static

from traces.runs import Rating, Runs, RunSummary
from tui.app.base import DeepScreen
from tui.app.confirm import ConfirmScreen
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.reach import go_to_ask
from tui.app.work import Failed, in_background
from tui.runs.actions import as_of_now, delete_run, rate, rating_text
from tui.runs.compare import CompareScreen
from tui.runs.list import RunList, RunPreview, StoredRun, read_run
from tui.runs.replay import ReplayScreen
from tui.runs.windows import ExportScreen, PlanScreen
from tui.terminal import counted, one_line

PAGE = 100
"""Runs that are read at a time."""
STATUSES: Sequence[tuple[str, tuple[str, ...]]] = (
    ("any", ()),
    ("answered", ("answered",)),
    ("not found", ("not_found", "stopped")),
    ("unfinished", ("running", "waiting", "failed", "cancelled")),
    ("cancelled", ("cancelled",)),
    ("failed", ("failed",)),
    ("withheld", ("rejected",)),
)
"""The choices of the filter, with the stored statuses of each."""
_PREVIEW_DELAY = 0.08  # seconds the cursor rests before a run is previewed
_TYPING_PAUSE = 0.15  # seconds without a key before the search begins


class RunsScreen(DeepScreen):
    MODE = "runs"
    AUTO_FOCUS = "RunList"
    PLACES = ("runs",)
    CSS_PATH = "runs.tcss"
    BINDINGS = bindings("runs")
    HELP = """\
### Runs

Every run that is stored, newest first. After `/` each word that you type must occur in the question or in
the answer; `f` shows runs of one status, **Escape** every run. **Enter** opens a run, `c` on two compares
them. `g`, `p` and `w` rate the answer as good, partly good or wrong; press again to remove the rating.
`l` corrects what was looked up.
"""

    def __init__(self) -> None:
        super().__init__()
        self._total = -1  # until the list is read
        self._loading = False
        self._words = ""  # to search for
        self._status = 0  # index into `STATUSES`
        self._shown = ("", 0)  # words and status that the list was searched for
        self._opens_next = False  # whether Enter was pressed while it was being searched
        self._to_show = ""  # id of the run that gets the cursor with the next list
        self._shows_all_later = False  # whether the filter is dropped when the user leaves or comes anew
        self._search_timer: Timer | None = None
        self._preview: StoredRun | None = None
        self._preview_timer: Timer | None = None

    def body(self) -> ComposeResult:
        with Horizontal(id="run-filter"):
            yield Static(id="run-status")
            yield Input(placeholder="search (/)", id="run-search", compact=True)
            yield Static("…", id="run-count")
        with Container(id="runs"):
            yield RunList()
            yield RunPreview()
            yield Static(id="runs-none", classes="empty")

    def on_mount(self) -> None:
        self._show_status()
        for attribute in ("cursor_coordinate", "scroll_y"):
            self.watch(self.query_one(RunList), attribute, self._load_more, init=False)
        self.follow_store(self._look_for_changes)

    def entered(self) -> None:
        self._preview_soon()  # its keys may have been remapped

    def on_screen_suspend(self) -> None:
        """Drop the filter of the offer if another screen is shown, not for a window over this one."""
        if self.app.current_mode != self.MODE:
            self.focus_input()

    def focus_input(self) -> None:
        if self._shows_all_later:
            self._show_all()

    # The list and its filter

    def _show_page(
        self, first: bool, searched_for: tuple[str, int], page: tuple[list[RunSummary], int]
    ) -> None:
        """Show a page of the matching runs and their number; the ``first`` page replaces the list.

        A list that shows it already, and the preview, stay as they are scrolled.
        """
        found, total = page
        runs = self.query_one(RunList)
        was_shown = (searched_for, total) == (self._shown, self._total) and runs.begins_with(found)
        is_new = not (first and was_shown)
        self._total, self._shown = total, searched_for
        self._loading = True  # whatever a page before it left: showing a page moves the cursor
        if is_new:
            runs.show_page(found, first=first)
        if self._to_show and not self._is_searching:
            runs.go_to(self._to_show)
            self._to_show = ""
        self._loading = False
        self.query_one("#runs").set_class(not runs.row_count, "-none")
        count = f"{counted(self._total, 'run')}{' found' * self._is_filtered}"
        self.query_one("#run-count", Static).update(count)
        if not runs.row_count:
            self._show_preview(None)
            self.query_one("#runs-none", Static).update(self._empty_text())
        elif first and is_new:
            self._preview_soon()
            if self.focused is None:  # the list could not take the focus before
                self.call_after_refresh(runs.focus)
        if self._opens_next and self.is_current:
            self.action_open()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self._loading = False
        if self._total < 0:  # with a list on the screen, the app's message is enough
            self.query_one("#runs").add_class("-none")
            self.query_one("#run-count", Static).update("✗")
            text = failure_text(self, message.error, "runs.refresh")
            self.query_one("#runs-none", Static).update(text)

    def _load_more(self) -> None:
        runs = self.query_one(RunList)
        if runs.near_end and not self._loading and runs.row_count < self._total:
            self._load(runs.row_count)

    @property
    def _is_filtered(self) -> bool:
        return bool(self._status or self._words.strip())

    @property
    def _is_searching(self) -> bool:
        """Whether the list is still that of an earlier search."""
        return self._total >= 0 and self._shown != (self._words, self._status)

    def action_search(self) -> None:
        self._opens_next = False
        self.set_focus(self.query_one(Input))  # at once: the next keys belong there

    @on(Input.Changed)
    def _search_soon(self, event: Input.Changed) -> None:
        if event.value.split() == self._words.split():
            return
        self._words = event.value
        if self._search_timer is not None:
            self._search_timer.stop()
        self._search_timer = self.set_timer(_TYPING_PAUSE, self._filter)

    @on(Input.Submitted)
    def action_results(self) -> None:
        self.set_focus(self.query_one(RunList))

    def action_status(self, by: int) -> None:
        self._status = (self._status + by) % len(STATUSES)
        self._filter()

    def action_unfinished(self) -> None:
        search = self.query_one(Input)
        self._words = search.value = ""
        self._status = [name for name, _ in STATUSES].index("unfinished")
        self._filter()

    def show_interrupted(self, run_id: str) -> None:
        """Show unfinished runs alone until the user goes elsewhere, with the cursor on this one."""
        self._to_show = run_id
        self._shows_all_later = True
        self.action_unfinished()

    def action_clear(self) -> None:
        runs, search = self.query_one(RunList), self.query_one(Input)
        if search.has_focus:
            self.set_focus(runs if runs.row_count else None)
        runs.mark("")
        self._show_all()

    def _show_all(self) -> None:
        self._shows_all_later = False
        if self._is_filtered:
            self._status, self._words, self.query_one(Input).value = 0, "", ""
            self._filter()

    def _filter(self) -> None:
        self._show_status()
        self.query_one(RunList).move_cursor(row=0)
        self.action_refresh()

    def _show_status(self) -> None:
        style = "bold $primary" if self._status else ""
        text = Content.assemble("status ", (f"‹{STATUSES[self._status][0]}›", style))
        self.query_one("#run-status", Static).update(text.stylize("@click=screen.status(1)"))

    def action_refresh(self) -> None:
        self._load(0)
        self._preview_soon()

    @on(events.ScreenResume)
    def _look_for_changes(self) -> None:
        if not self._loading:
            self._load(0)

    def _load(self, offset: int) -> None:
        self._loading = True
        limit = PAGE if offset else max(PAGE, self.query_one(RunList).cursor_row + PAGE)
        words, statuses = self._words, STATUSES[self._status][1]
        store = self.deepthink.engine.store

        def read() -> tuple[list[RunSummary], int]:
            runs = Runs(store)
            with store.connect():  # open the store once for both queries
                page = runs.search(words, statuses, limit=limit, offset=offset)
                return as_of_now(store, page), runs.count(words, statuses)

        then = partial(self._show_page, not offset, (words, self._status))
        in_background(self, read, then, group="runs", exclusive=True)

    def _empty_text(self) -> Content:
        clear, ask = self.deepthink.key_for("runs.clear"), self.deepthink.key_for("app.ask")
        if self._is_filtered:
            return Content(f"No run matches.\n\n{clear} shows every run.")
        return Content(f"No run is stored yet.\n\nAsk something: {ask} goes to the prompt.")

    # The run under the cursor

    @on(DataTable.RowHighlighted)
    def _preview_soon(self) -> None:
        if self._preview_timer is not None:
            self._preview_timer.stop()
        self._preview_timer = self.set_timer(_PREVIEW_DELAY, self._load_preview)

    def _load_preview(self) -> None:
        if (current := self._current) is not None:
            if self._preview is not None and self._preview.run.id != current.id:
                self._show_preview(None)  # until this one is read
            work = partial(read_run, self.deepthink.engine.store, current.id)
            in_background(self, work, self._show_if_current, group="preview", exclusive=True)

    def _show_if_current(self, preview: StoredRun) -> None:
        if self._current is not None and self._current.id == preview.run.id:
            self._show_preview(preview)

    def _show_preview(self, preview: StoredRun | None) -> None:
        previous, self._preview = self._preview, preview
        self.query_one(RunPreview).show(preview)
        if (previous and previous.state) != (preview and preview.state):  # so the footer changes
            self.refresh_bindings()

    @property
    def _current(self) -> RunSummary | None:
        return self.query_one(RunList).current if self._total > 0 and not self._is_searching else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Actions on a run need one under the cursor; only some runs can be resumed."""
        if action == "results":
            return isinstance(self.focused, Input)
        if action == "open" and self._is_searching:
            return True
        if action in {"open", "mark", "rate", "plan", "export", "again", "delete"}:
            return self._current is not None
        if action == "resume":
            previewed, current = self._preview, self._current
            return bool(
                previewed and current and (previewed.run.id, previewed.state) == (current.id, "resumable")
            )
        return True

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        """Open the run under the cursor; while a search is going on, the first that it finds."""
        self._opens_next = self._is_searching
        if self._current is not None:
            self.app.push_screen(ReplayScreen(self._current.id))

    def action_mark(self) -> None:
        """Mark the run; if another one is marked, compare the two."""
        runs, current = self.query_one(RunList), self._current
        if current is None:
            return
        if runs.marked in {"", current.id}:
            runs.mark("" if runs.marked else current.id)
            if runs.marked:
                self.notify(
                    f"Marked. {self.deepthink.key_for('runs.mark')} on another run compares the two."
                )
            return
        self.app.push_screen(CompareScreen(runs.marked, current.id))
        runs.mark("")

    def action_rate(self, rating: Rating) -> None:
        current = self._current
        if current is not None:
            new_rating = None if current.rating == rating else rating
            work = partial(rate, self.deepthink.engine.store, current.id, new_rating)
            in_background(self, work, partial(self._show_rating, current.id), group="rate")

    def _show_rating(self, run_id: str, rating: Rating | None) -> None:
        runs = self.query_one(RunList)
        if (run := runs.of(run_id)) is not None:
            runs.show(replace(run, rating=rating or ""))
        self.notify(rating_text(run_id, rating))

    def action_export(self) -> None:
        if self._current is not None:
            self.app.push_screen(ExportScreen(self._current.id, self._current.question))

    def action_plan(self) -> None:
        if self._current is not None:
            self.app.push_screen(PlanScreen(self._current.id, self._current.question))

    def action_delete(self) -> None:
        current = self._current
        if current is None:
            return
        detail = f"“{one_line(current.question, 160)}”, with its answer, its events and its decisions."
        work = partial(delete_run, self.deepthink.engine.store, current.id)
        then = partial(self._remove_deleted, current.id)
        deleting = partial(in_background, self, work, then, group="delete")
        ConfirmScreen.ask(self, "Delete this run?", detail, "Delete", deleting)

    def _remove_deleted(self, run_id: str, message: str) -> None:
        self.query_one(RunList).take_out(run_id)
        self.notify(message)
        self.action_refresh()

    # On the Ask screen

    async def action_resume(self) -> None:
        if self._preview is not None:
            (await go_to_ask(self)).resume(self._preview.run.id)

    async def action_again(self) -> None:
        current = self._current
        if current is not None:
            (await go_to_ask(self)).put_question(current.question)
