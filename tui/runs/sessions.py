"""The window of sessions: conversations to open, begin, name and delete."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, Static

from traces.sessions import Session, Sessions
from traces.store import Store
from tui.app.key_line import KeyLine
from tui.app.keys import bindings
from tui.app.offers import deepthink
from tui.app.work import Failed, in_background
from tui.runs.list import RowTable, short_time
from tui.terminal import counted, one_line

_MAX_SESSIONS = 2000  # nobody scrolls through more
_MAX_QUESTION = 200


class SessionList(RowTable):
    """One line per session."""

    HELP = "A session by its name, or by the question that it began with; the one used last is first."
    WIDTHS: ClassVar[Mapping[str, int]] = {"last used": 11, "runs": 5, "session": 0}
    RIGHT = frozenset({"runs"})
    QUIET = frozenset({"last used", "runs"})


class SessionsScreen(ModalScreen[str | None]):
    """Returns the id of the session to continue, "" for a new one, None to stay.

    `deleted` has the ids of the sessions that were deleted here.
    """

    CSS_PATH = "sessions.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("sessions")
    HELP = """\
### Sessions

A session is a conversation: a question may refer to earlier ones. **Enter** opens one, `n` starts one, `r`
gives it a name, which the command line knows too, `d` deletes it with its runs.
"""

    def __init__(self) -> None:
        super().__init__()
        self.deleted: set[str] = set()
        self._sessions: dict[str, Session] = {}
        self._is_read = False
        self._filter_words: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="sessions"):
            yield Static("Sessions", classes="title")
            yield Input(placeholder="filter (/)", id="session-filter", compact=True)
            yield SessionList()
            yield Static(id="sessions-none", classes="empty")
            yield Input(placeholder="a name, then Enter", id="session-name", compact=True)
            yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(SessionList).focus()
        self._load()

    def _load(self) -> None:
        work = partial(Sessions(self._store).recent, _MAX_SESSIONS)
        in_background(self, work, self._show_loaded, group="sessions", exclusive=True)

    def _show_loaded(self, sessions: list[Session]) -> None:
        self._is_read = True
        self._sessions = {session.id: session for session in sessions}
        self._show()
        if not self._sessions:
            self.set_focus(None)  # not the filter, which would take the key for a new session

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if not self._is_read:
            text = f"✗ The sessions cannot be read.\n\n{message.error.message}\n{message.error.way_out}"
            self._show_none(text)
            self.set_focus(None)

    def _show(self) -> None:
        table = self.query_one(SessionList)
        current_id = table.current_id
        table.clear()
        for session in self._sessions.values():
            if all(word in f"{session.name} {session.first}".casefold() for word in self._filter_words):
                text = one_line(session.first, _MAX_QUESTION) or "(nothing asked yet)"
                name = f"{one_line(session.name)} · " if session.name else ""
                table.put(session.id, (short_time(session.latest), f"{session.runs:,}", name + text))
        table.go_to(current_id)
        if table.row_count:
            self.query_one("#sessions").remove_class("-none")
        else:
            key = deepthink(self).key_of("sessions.new") or "n"
            self._show_none(
                "No session matches." if self._filter_words else f"No session yet: {key} begins one."
            )
        self.refresh_bindings()

    def _show_none(self, text: str) -> None:
        self.query_one("#sessions").add_class("-none")
        self.query_one("#sessions-none", Static).update(Content(text))

    @property
    def _store(self) -> Store:
        return deepthink(self).engine.store

    @property
    def _current(self) -> Session | None:
        return self._sessions.get(self.query_one(SessionList).current_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return (
            self._is_read and self._current is not None if action in {"open", "rename", "delete"} else True
        )

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        if self._current is not None:
            self.dismiss(self._current.id)

    def action_new(self) -> None:
        self.dismiss("")

    def action_close(self) -> None:
        """Go back to the list from an input; else close and stay in the session."""
        if isinstance(self.focused, Input):
            self._back_to_list()
        else:
            self.dismiss(None)

    def _back_to_list(self) -> None:
        self.query_one("#sessions").remove_class("-naming")
        self.query_one(SessionList).focus()

    def action_filter(self) -> None:
        self.set_focus(self.query_one("#session-filter"))  # at once: the next keys belong there

    @on(Input.Changed, "#session-filter")
    def _apply_filter(self, event: Input.Changed) -> None:
        self._filter_words = event.value.casefold().split()
        if self._is_read:
            self._show()

    @on(Input.Submitted, "#session-filter")
    def _leave_filter(self) -> None:
        self._back_to_list()

    def action_rename(self) -> None:
        if self._current is not None:
            self.query_one("#sessions").add_class("-naming")
            name = self.query_one("#session-name", Input)
            name.value = one_line(self._current.name)
            self.set_focus(name)  # at once: the next keys belong there

    @on(Input.Submitted, "#session-name")
    def _rename_current(self, event: Input.Submitted) -> None:
        if self._current is not None:
            name = one_line(event.value)
            work = partial(Sessions(self._store).rename, self._current.id, name)
            then = partial(self._announce, f"It is called “{name}” now.")
            in_background(self, work, then, group="change")
        self._back_to_list()

    def action_delete(self) -> None:
        current = self._current
        if current is None:
            return
        from tui.app.confirm import ConfirmScreen
        from tui.runs.actions import delete_session

        work = partial(delete_session, self._store, current)
        then = partial(self._announce_deleted, current.id)
        runs = "its run" if current.runs == 1 else f"its {current.runs:,} runs"
        title = one_line(current.name or current.first, 160) or current.id
        detail = f"“{title}” with {runs}, their answers, events and decisions."
        delete = partial(in_background, self, work, then, group="change")
        ConfirmScreen.ask(self, "Delete this session?", detail, "Delete", delete)

    def _announce_deleted(self, session_id: str, runs: int) -> None:
        self.deleted.add(session_id)
        self._announce(f"Deleted, with {counted(runs, 'run')}.", None)

    def _announce(self, text: str, _: None) -> None:
        self.notify(text, markup=False)
        self._load()
