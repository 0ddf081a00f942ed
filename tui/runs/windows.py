"""Windows over the app: sessions to open, the export of a run, and the correction of its plan."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import DataTable, Input, Static, TextArea

from agent import plans
from agent.steps.plan_text import COLLECTION
from traces.paths import existing_path, expanded_path
from traces.runs import Runs, Session, Sessions
from traces.store import Store
from tui.app.base import KeyLine
from tui.app.confirm import ConfirmScreen
from tui.app.failure import failure_text, way_out
from tui.app.keys import bindings
from tui.app.lists import Line, MarkedList, hanging
from tui.app.reach import deepthink
from tui.app.work import Failed, in_background
from tui.run.export import Form, file_name, to_document
from tui.runs.actions import correct_plan, delete_session, export_text, name_session
from tui.runs.list import RowTable, short_time
from tui.terminal import one_line

_MAX_SESSIONS = 2000  # nobody scrolls through more
_MAX_QUESTION = 200


class SessionList(RowTable):
    HELP = "A session by its name, or by the question that it began with; the one used last is first."
    WIDTHS: ClassVar[Mapping[str, int]] = {"last used": 11, "runs": 5, "session": 0}
    RIGHT = frozenset({"runs"})
    QUIET = frozenset({"last used", "runs"})


class SessionsScreen(ModalScreen[str | None]):
    """Returns the id of the session to continue, "" for a new one, None to stay."""

    CSS_PATH = "windows.tcss"
    AUTO_FOCUS = "SessionList"
    BINDINGS = bindings("sessions")
    HELP = """\
### Sessions

A session is a conversation: a question may refer to earlier ones. **Enter** opens one, `n` starts one, `r`
gives it a name, which the command line knows too, `d` deletes it with its runs.
"""

    def __init__(self) -> None:
        super().__init__()
        self.deleted: set[str] = set()  # ids of the sessions that were deleted here
        self._sessions: dict[str, Session] = {}
        self._is_read = False

    def compose(self) -> ComposeResult:
        with Vertical(id="sessions"):
            yield Static("Sessions", classes="title")
            yield SessionList()
            yield Static(id="sessions-none", classes="empty", markup=False)
            yield Input(placeholder="a name, then Enter", id="session-name", compact=True)
            yield KeyLine()

    def on_mount(self) -> None:
        self._load()

    def _load(self) -> None:
        work = partial(Sessions(self._store).recent, _MAX_SESSIONS)
        in_background(self, work, self._show, group="sessions", exclusive=True)

    def _show(self, sessions: list[Session]) -> None:
        self._is_read = True
        self._sessions = {session.id: session for session in sessions}
        table = self.query_one(SessionList)
        current_id = table.current_id
        table.clear()
        for session in sessions:
            text = one_line(session.first, _MAX_QUESTION)
            name = f"{one_line(session.name)} · " if session.name else ""
            table.put(session.id, (short_time(session.latest), f"{session.runs:,}", name + text))
        table.go_to(current_id)
        if table.row_count:
            self.query_one("#sessions").remove_class("-none")
        else:
            key = deepthink(self).key_for("sessions.new")
            self._show_none(f"No session yet: {key} begins one.")
        self.refresh_bindings()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if not self._is_read:
            self._show_none(failure_text(self, message.error))

    def _show_none(self, text: str | Content) -> None:
        self.query_one("#sessions").add_class("-none")
        self.query_one("#sessions-none", Static).update(text)

    @property
    def _store(self) -> Store:
        return deepthink(self).engine.store

    @property
    def _current(self) -> Session | None:
        return self._sessions.get(self.query_one(SessionList).current_id)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self._current is not None if action in {"open", "rename", "delete"} else True

    @on(DataTable.RowSelected)
    def action_open(self) -> None:
        if self._current is not None:
            self.dismiss(self._current.id)

    def action_close(self) -> None:
        """Go back to the list from the name; else close and stay in the session."""
        if isinstance(self.focused, Input):
            self._back_to_list()
        else:
            self.dismiss(None)

    def _back_to_list(self) -> None:
        self.query_one("#sessions").remove_class("-naming")
        self.set_focus(self.query_one(SessionList))

    def action_rename(self) -> None:
        if self._current is not None:
            self.query_one("#sessions").add_class("-naming")
            name = self.query_one("#session-name", Input)
            name.value = one_line(self._current.name)
            self.set_focus(name)  # at once: the next keys belong there

    @on(Input.Submitted)
    def _rename_current(self, event: Input.Submitted) -> None:
        if self._current is not None:
            work = partial(name_session, self._store, self._current.id, one_line(event.value))
            in_background(self, work, self._announce, group="change")
        self._back_to_list()

    def action_delete(self) -> None:
        current = self._current
        if current is None:
            return
        work = partial(delete_session, self._store, current)
        then = partial(self._announce_deleted, current.id)
        runs = "its run" if current.runs == 1 else f"its {current.runs:,} runs"
        title = one_line(current.name or current.first, 160) or current.id
        detail = f"“{title}” with {runs}, their answers, events and decisions."
        delete = partial(in_background, self, work, then, group="change")
        ConfirmScreen.ask(self, "Delete this session?", detail, "Delete", delete)

    def _announce_deleted(self, session_id: str, message: str) -> None:
        self.deleted.add(session_id)
        self._announce(message)

    def _announce(self, message: str) -> None:
        self.notify(message, markup=False)
        self._load()


_FORMS: dict[Form, str] = {
    "md": "Markdown, to read, send or paste",
    "html": "one HTML page, with links to its sources",
    "json": "one JSON object, for programs",
}


class _RunWindow(ModalScreen[None]):
    """A window about a run: its question, what is asked about it, and a note."""

    CSS_PATH = "windows.tcss"
    ABOUT: ClassVar[str]

    def __init__(self, run_id: str, question: str) -> None:
        super().__init__()
        self._run_id = run_id
        self._question = question

    def compose(self) -> ComposeResult:
        with Vertical(classes="run-window"):
            yield Static(self.ABOUT, classes="title")
            yield Static(one_line(self._question), classes="question", markup=False)
            yield from self.body()
            yield Static(classes="note", markup=False)
            yield KeyLine()

    def body(self) -> ComposeResult:
        raise NotImplementedError

    def tell(self, note: str) -> None:
        self.query_one(".note", Static).update(note)

    @property
    def _store(self) -> Store:
        return deepthink(self).engine.store

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        self.tell(f"✗ {message.error.message} {way_out(self, message.error)}".rstrip())


class ExportScreen(_RunWindow):
    """Asks for form and file and writes the run; the default file name comes from the question."""

    ABOUT = "Export"
    BINDINGS = bindings("export")
    HELP = """\
### Export

**↑ ↓** choose the form, **Tab** goes to the file, **Enter** (or Ctrl-S) writes. A path without a folder is
in the folder that the app was started in; `~` is your home folder.
"""

    def __init__(self, run_id: str, question: str) -> None:
        super().__init__(run_id, question)
        self._form: Form = "md"
        self._confirmed_path = ""  # an existing file that may be replaced

    def body(self) -> ComposeResult:
        yield MarkedList()
        yield Input(file_name(self._run_id, self._question, self._form), compact=True)

    def on_mount(self) -> None:
        rows = [Line(form, partial(hanging, "", label)) for form, label in _FORMS.items()]
        self.query_one(MarkedList).show(rows)

    @on(MarkedList.OptionHighlighted)
    def _change_form(self, event: MarkedList.OptionHighlighted) -> None:
        path = self.query_one(Input)
        is_default_name = path.value == file_name(self._run_id, self._question, self._form)
        self._form = cast(Form, event.option_id)
        if is_default_name:  # a name that the user typed stays
            path.value = file_name(self._run_id, self._question, self._form)

    @on(Input.Changed)
    def _path_changed(self) -> None:
        self._confirmed_path = ""
        self.tell("")

    def action_write(self) -> None:
        """Write the file; replace an existing one only after a second press."""
        path_text = self.query_one(Input).value.strip()
        if not path_text:
            self.tell("Type a file name.")
            return
        path = expanded_path(path_text)
        existing = existing_path(path)
        if existing is not None and existing.is_dir():
            path /= file_name(self._run_id, self._question, self._form)
        if existing_path(path) is not None and self._confirmed_path != path_text:
            self._confirmed_path = path_text
            self.tell(f"{path} exists. Press the same key again to replace it.")
            return
        store, run_id, form = self._store, self._run_id, self._form

        def write() -> Path:
            text = to_document(store, Runs(store).find(run_id), form)
            path.write_text(text, encoding="utf-8")
            return path.absolute()

        in_background(self, write, self._announce, group="export")

    def _announce(self, path: Path) -> None:
        self.notify(export_text(self._run_id, path), timeout=10, markup=False)
        self.dismiss()


class PlanScreen(_RunWindow):
    """The look-ups of a run, a line each, to correct; without any, a correction is removed."""

    ABOUT = "What should have been looked up: a question on each line"
    BINDINGS = bindings("plan")
    HELP = """\
### Look-ups

What the run should have looked up: a question on each line, which can be understood alone. `#1` stands for
the result of the first, and a collection in brackets before a question is searched first:
`[invoices] What did #1 bill?` The planner learns from corrected plans: `deepthink train-planner`.
"""

    def body(self) -> ComposeResult:
        yield TextArea(id="lookups", compact=True)

    def on_mount(self) -> None:
        in_background(self, partial(plans.wanted, self._store, self._run_id), self._show_plan, group="plan")

    def _show_plan(self, lines: list[str]) -> None:
        self.query_one(TextArea).text = "\n".join(lines)
        if prefix := next(filter(None, map(COLLECTION.match, lines)), None):
            self.tell(f"Before a question, {prefix[0].strip()} has that collection searched first.")

    def action_save(self) -> None:
        store, run_id = self._store, self._run_id
        lines = [line for line in self.query_one(TextArea).text.splitlines() if line.strip()]

        def save() -> str:
            return correct_plan(store, Runs(store).find(run_id), lines)

        in_background(self, save, self._announce, group="plan")

    def _announce(self, message: str) -> None:
        self.notify(message)
        self.dismiss()
