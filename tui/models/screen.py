"""Models: listing, fetching, measuring, verifying and choosing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static

from tui.app.base import DeepScreen
from tui.app.confirm import ConfirmScreen
from tui.app.failure import way_out
from tui.app.keys import bindings
from tui.app.lists import Drawn, DrawnText, Line, Notice, ScreenRows, facts, heading
from tui.app.work import Failed, Job, in_background
from tui.models.jobs import ProbeJob, PullJob, PullView, Unconfirmed, use
from tui.run.live import a_run_goes_on, load_anew
from tui.terminal import clean, padded, size

if TYPE_CHECKING:
    from models.catalogue import CatalogueRole
    from tui.models.actions import ModelRow

_TITLES: Final[Mapping[CatalogueRole, str]] = {
    "chat": "Language models",
    "embedder": "Embedders, which turn text into vectors",
    "reranker": "Rerankers, which order the passages",
}


class ModelList(ScreenRows):
    def __init__(self) -> None:
        super().__init__(id="rows")
        self._rows: Mapping[str, ModelRow] = {}

    @property
    def row(self) -> ModelRow | None:
        return self._rows.get(self.chosen)

    def fill(self, rows: Sequence[ModelRow]) -> None:
        """Draw them and keep the cursor, which begins on the language model in use."""
        self._rows = {_id(row): row for row in rows}
        lines: list[Line] = []
        for role, title in _TITLES.items():
            group = [
                Line(name, partial(_line, row)) for name, row in self._rows.items() if row.role == role
            ]
            if group:
                lines += [heading(title, first=not lines), *group]
        self.show(lines, next((name for name, row in self._rows.items() if row.used), ""))


def _detail(row: ModelRow, width: int) -> Content:
    lines = [
        Content.assemble((row.label, "bold $primary"), "  ", _state(row)),
        Content(clean(row.about)),
        *facts(list(row.probe.items()), max(width, 38)),
    ]
    if row.role == "chat" and not row.probe:
        lines.append(Content.styled("Not measured yet.", "$foreground 65%"))
    return Content("\n").join(lines)


def _line(row: ModelRow, width: int) -> Content:
    room = width - 26
    name = padded(row.label, room)
    sign, style = ("✓", "$success") if row.here else ("–", "$foreground 55%")
    weight = size(row.size) if row.size else ""
    state = "not here" if not row.here else "● in use" if row.used else ""
    return Content.assemble(
        (f"{sign} ", style),
        (name, "bold" if row.used else "" if row.here else "$foreground 65%"),
        f"{weight:>9}  ",
        (state, "bold $primary" if row.used else "$foreground 55%"),
    )


def _state(row: ModelRow) -> str:
    if not row.here:
        return "the settings name it, and it is not on this machine" if row.used else "not on this machine"
    return "here, in use" if row.used else "here"


def _id(row: ModelRow) -> str:
    return f"{row.role} {row.name}"


class ModelsScreen(DeepScreen):
    MODE = "models"
    PLACES = ("models",)
    BINDINGS = bindings("models")
    CSS_PATH = "models.tcss"
    AUTO_FOCUS = "ModelList"
    HELP = """\
### Models

✓ is on this machine, – can be fetched. The **language model** writes the answers, the **embedder** makes
vectors of text and must be the one that made the library's, the **reranker** puts the best passages first.

A fetched file is kept only if its sha256 is its publisher's; a fetch that was stopped is resumed.
*Measure* tries what a model really does: the context it is granted, JSON by schema, its speed here.
"""

    def __init__(self) -> None:
        super().__init__()
        self._local_rows: Sequence[ModelRow] = ()
        self._server_rows: Sequence[ModelRow] = ()
        self._servers_message = ""
        self._busy = ""  # "fetching", "measuring" or "choosing"
        self._job: PullJob | ProbeJob | None = None  # the current or the last one

    def body(self) -> ComposeResult:
        with Container(id="sides"):
            yield ModelList()
            with VerticalScroll(id="right", can_focus=False):
                yield DrawnText(id="detail")
                yield PullView()
                yield Notice("message")
                yield Input(
                    placeholder="Path of a .gguf file or a model folder, ollama:NAME or openai:NAME",
                    id="path",
                    compact=True,
                )
                yield Static(id="servers", classes="quiet", markup=False)

    def on_mount(self) -> None:
        self.query_one("#path").display = False

    def on_unmount(self) -> None:
        """Stop the work of this screen, or the app could not end."""
        self.action_stop()

    # --- what is possible ------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if not self.is_mounted:  # the key line of the screen before may ask
            return True
        row = self.query_one(ModelList).row
        is_typing = self.query_one("#path").has_focus
        is_idle = not self._busy and not is_typing
        possible = {
            "use": is_idle and row is not None and row.here and not row.used,
            "pull": is_idle and row is not None and row.known and not row.here,
            "probe": is_idle and row is not None and row.role == "chat" and row.here,
            "file": is_idle,
            "stop": self._busy in {"fetching", "measuring"},
            "leave": is_typing,
            "refresh": is_idle,
        }
        return possible.get(action, True)

    def action_use(self) -> None:
        row = self.query_one(ModelList).row
        if row is not None:
            self._use(row.name, row.role)

    def action_pull(self) -> None:
        row = self.query_one(ModelList).row
        if row is not None:
            self._start_job("fetching", "", PullJob([row.name]))

    def action_probe(self) -> None:
        if a_run_goes_on(self):  # two models might not fit in memory, and each would be slower
            self._tell("! A run is in progress. Measure it when the run has ended.")
            return
        row = self.query_one(ModelList).row
        if row is not None:
            self._start_job("measuring", f"… measuring {row.label}", ProbeJob(self.deepthink.engine, row))

    def _start_job(self, busy: str, message: str, job: PullJob | ProbeJob) -> None:
        self._set_busy(busy, message)
        self._job = job
        job.start(self)

    def action_file(self) -> None:
        path = self.query_one("#path", Input)
        path.display = True
        self.set_focus(path)  # at once: it gets the next key

    def action_stop(self) -> None:
        if self._job is not None:
            self._job.cancel.set()

    def action_leave(self) -> None:
        path = self.query_one("#path", Input)
        path.value = ""
        path.display = False
        self.set_focus(self.query_one(ModelList))

    @on(events.ScreenResume)
    def action_refresh(self) -> None:
        engine = self.deepthink.engine

        def list_local() -> Sequence[ModelRow]:
            from tui.models.actions import local_rows

            return local_rows(engine.settings())

        def list_served() -> tuple[Sequence[ModelRow], str]:
            from tui.models.actions import find_servers, served_rows

            servers = find_servers(engine.settings())
            rows = served_rows(servers, engine.settings())
            return rows, "\n".join(server.message for server in servers)

        in_background(self, list_local, self._show_local, group="list", exclusive=True)
        in_background(self, list_served, self._show_served, group="servers", exclusive=True)

    # --- events of widgets -----------------------------------------------------------------------

    @on(OptionList.OptionHighlighted)
    def _show_highlighted(self) -> None:
        self._draw_detail()
        self.refresh_bindings()

    @on(OptionList.OptionSelected)
    def _use_clicked(self) -> None:
        if self.check_action("use", ()):
            self.action_use()

    @on(Input.Submitted)
    def _use_named(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._use(event.value.strip(), None)

    # --- results of workers ------------------------------------------------------------------------

    def _show_local(self, rows: Sequence[ModelRow]) -> None:
        self._local_rows = rows
        self._redraw()

    def _show_served(self, served: tuple[Sequence[ModelRow], str]) -> None:
        self._server_rows, self._servers_message = served
        self._redraw()

    def _report_use(self, name: str, result: str | Unconfirmed) -> None:
        self._busy = ""
        if isinstance(result, Unconfirmed):
            self.refresh_bindings()
            detail = "It is on another machine: questions and passages of your documents will go to "
            send = partial(self._use, name, "chat", confirmed=True)
            ConfirmScreen.ask(self, f"Use {name}?", f"{detail}{result.url}.", "Send", send)
            return
        if self.query_one("#path").display:
            self.action_leave()
        when = "from now on" if load_anew(self) else "after the current run, which keeps its own"
        self._tell(f"✓ In use {when}." + (f"\n! {result}" if result else ""))
        self.action_refresh()

    @on(Job.Progressed)
    def _show_progress(self, message: Job.Progressed) -> None:
        job, events = message.job, message.job.drain()
        if isinstance(job, PullJob):
            self.query_one(PullView).take(events)
        else:
            self._tell(f"… measuring: {events[-1]}")

    @on(Job.Ended)
    def _end_job(self, message: Job.Ended) -> None:
        job, stopped = message.job, message.job.cancel.is_set()
        self.query_one(PullView).clear()
        self._set_busy("", "")
        self.action_refresh()
        if message.failure is not None:
            self.post_message(message.failure)
        elif isinstance(job, PullJob) and stopped:
            self._tell("Stopped; what was fetched is kept.")
        elif isinstance(job, PullJob):
            self._tell(f"✓ {job.names[0]} is here.")
            if self.app.screen is not self:
                self.notify(f"{job.names[0]} is here.", title="Models", markup=False)
        elif isinstance(job, ProbeJob):
            self._tell("Stopped." if stopped else f"{job.row.label} is measured.")

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        """Show the failure here; the app shows it too."""
        error = message.error
        self._set_busy("", f"✗ {error.title}: {error.message}\n{way_out(self, error)}".rstrip())

    # --- doing -----------------------------------------------------------------------------------

    def _use(self, name: str, role: CatalogueRole | None, *, confirmed: bool = False) -> None:
        self._set_busy("choosing", "")
        work = partial(use, self.deepthink.engine, name, role, confirmed=confirmed)
        in_background(self, work, partial(self._report_use, name), group="job")

    def _set_busy(self, busy: str, message: str) -> None:
        self._busy = busy
        self._tell(message)
        self.refresh_bindings()

    # --- drawing ---------------------------------------------------------------------------------

    def _redraw(self) -> None:
        server_ids = {_id(row) for row in self._server_rows}  # the model in use is in both lists
        local_rows = [row for row in self._local_rows if _id(row) not in server_ids]
        self.query_one(ModelList).fill([*local_rows, *self._server_rows])
        self._draw_detail()
        self.query_one("#servers", Static).update(self._servers_message)
        self.refresh_bindings()

    def _draw_detail(self) -> None:
        row = self.query_one(ModelList).row
        detail = Drawn(partial(_detail, row)) if row is not None else ""
        self.query_one("#detail", DrawnText).update(detail)

    def _tell(self, message: str) -> None:
        self.query_one(Notice).tell(message)
