"""Models: what is here, what is in use; fetching, measuring, verifying and choosing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.message import Message
from textual.widgets import Input, OptionList, Static

from tui.app.actions import bindings
from tui.app.loading import a_run_goes_on, load_anew
from tui.app.model_rows import (
    JobEnded,
    ModelRow,
    ModelsListed,
    ModelUsed,
    OllamaListed,
    ProbeStep,
    Role,
    list_models,
    list_ollama,
    probe,
    use,
    verify,
)
from tui.app.screens.base import DeepScreen
from tui.app.ways_out import in_the_app
from tui.app.widgets.model_list import ModelDetail, ModelList
from tui.app.widgets.model_pull import PullEnded, PullTold, PullView, pull_models
from tui.app.work import Failed, in_background


class ModelsScreen(DeepScreen):
    """Language models, embedders and rerankers; one job at a time."""

    MODE: ClassVar[str] = "models"
    PLACES: ClassVar[Sequence[str]] = ("models",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("models")
    CSS_PATH = "models.tcss"
    HELP = """\
### Models

✓ is on this machine, – can be fetched. The **language model** plans and answers, the **embedder** makes
vectors of text and must be the one that made the library's, the **reranker** puts the best passages first.

A fetched file is kept only if its sha256 is its publisher's; a fetch that was stopped goes on where it was.
*Measure* tries what a model really does: the context it is granted, JSON by schema, its speed here.
"""

    def __init__(self) -> None:
        super().__init__()
        self._listed: Sequence[ModelRow] = ()
        self._ollama: Sequence[ModelRow] = ()
        self._told_of_ollama = ""
        self._busy = ""
        self._cancel = threading.Event()

    def body(self) -> ComposeResult:
        """The list, and under or beside it the model under the cursor and what goes on."""
        with Container(id="sides"):
            yield ModelList()
            with VerticalScroll(id="right", can_focus=False):
                yield ModelDetail()
                yield PullView(id="pull")
                yield Static(id="told", markup=False)
                yield Input(
                    placeholder="Path of a .gguf file or a model folder, or ollama:NAME",
                    id="path",
                    compact=True,
                )
                yield Static(id="ollama", classes="quiet", markup=False)

    def on_mount(self) -> None:
        """The list has the keys."""
        self.query_one("#path").display = False
        self._tell("")
        self.query_one(ModelList).focus()

    def on_screen_resume(self) -> None:
        """Models may have come or gone."""
        self.action_refresh()

    def on_unmount(self) -> None:
        """Nothing goes on behind a screen that is gone: the app could not end."""
        self._cancel.set()

    # --- what is possible ------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One job at a time, and only what the model under the cursor allows."""
        row = self.query_one(ModelList).row
        typing = self.query_one("#path").has_focus
        free = not self._busy and not typing
        possible: dict[str, Callable[[], bool]] = {
            "use": lambda: free and row is not None and row.here and not row.used,
            "pull": lambda: free and row is not None and row.known and not row.here,
            "probe": lambda: free and row is not None and row.role == "chat" and row.here,
            "verify": lambda: free and row is not None and row.known and row.here,
            "file": lambda: free,
            "stop": lambda: self._busy in {"fetching", "measuring", "verifying"},
            "leave": lambda: typing,
            "refresh": lambda: free,
        }
        return possible[action]() if action in possible else True

    def action_use(self) -> None:
        """Use the model under the cursor."""
        row = self.query_one(ModelList).row
        if row is not None:
            self._use(row.name, row.role)

    def action_pull(self) -> None:
        """Fetch the model under the cursor."""
        self._on_row("fetching", lambda row, cancel: pull_models(self, [row.name], cancel))

    def action_probe(self) -> None:
        """Measure the language model under the cursor."""
        if a_run_goes_on(self.deepthink):  # two models might not fit, and neither would be as fast as it is
            self._tell("! A run goes on. Measure it when the run has ended.")
            return
        engine = self.deepthink.engine
        self._on_row("measuring", lambda row, cancel: probe(self, engine, row, cancel))

    def action_verify(self) -> None:
        """Compare the model under the cursor with its publisher's sha256."""
        self._on_row("verifying", lambda row, cancel: verify(self, row, cancel))

    def action_file(self) -> None:
        """Name a file, a folder or a model of Ollama's."""
        path = self.query_one("#path", Input)
        path.display = True
        self.set_focus(path)  # at once: what is typed next belongs there

    def action_stop(self) -> None:
        """Stop what is going on."""
        self._cancel.set()

    def action_leave(self) -> None:
        """Back to the list."""
        path = self.query_one("#path", Input)
        path.value = ""
        path.display = False
        self.query_one(ModelList).focus()

    def action_refresh(self) -> None:
        """Look again what there is; nobody waits for Ollama."""
        engine = self.deepthink.engine
        in_background(self, partial(list_models, engine), group="list", exclusive=True)
        in_background(self, partial(list_ollama, engine), group="ollama", exclusive=True)

    # --- what a person does ----------------------------------------------------------------------

    @on(OptionList.OptionHighlighted)
    def _moved(self) -> None:
        self.query_one(ModelDetail).show(self.query_one(ModelList).row)
        self.refresh_bindings()

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        if self.check_action("use", ()):
            self.action_use()

    @on(Input.Submitted)
    def _named(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._use(event.value.strip(), None)

    # --- what workers tell -----------------------------------------------------------------------

    @on(ModelsListed)
    def _take(self, message: ModelsListed) -> None:
        self._listed = message.rows
        self._redraw()

    @on(OllamaListed)
    def _take_ollama(self, message: OllamaListed) -> None:
        self._ollama, self._told_of_ollama = message.rows, message.told
        self._redraw()

    @on(ModelUsed)
    def _used(self, message: ModelUsed) -> None:
        self._busy = ""
        if self.query_one("#path").display:
            self.action_leave()
        loading = message.role == "reranker" or load_anew(self.deepthink)
        when = "from now on" if loading else "once the run that goes on has ended; it keeps its own"
        self._tell(f"✓ In use {when}." + (f"\n! {message.note}" if message.note else ""))
        self.action_refresh()

    @on(PullTold)
    def _pull_told(self, message: PullTold) -> None:
        if self._busy:
            self.query_one(PullView).show(message)

    @on(PullEnded)
    def _pulled(self, message: PullEnded) -> None:
        told = "Stopped; what was fetched is kept." if message.stopped else f"✓ {message.names[0]} is here."
        self._end(told, message.failure)
        row = next((row for row in self._listed if row.name == message.names[0]), None)
        if message.stopped or message.failure is not None or row is None or row.used:
            return
        if self.app.screen is self:
            self._offer(row)
        else:  # a question would take the keys from who types there
            key = self.deepthink.key_of("app.models") or "f7"
            self.notify(f"{row.label} is here; {key} uses it.", title="Models", markup=False)

    @on(ProbeStep)
    def _step(self, message: ProbeStep) -> None:
        if self._busy == "measuring":
            self._tell(f"… measuring: {message.step}")

    @on(JobEnded)
    def _done(self, message: JobEnded) -> None:
        self._end(message.told, message.failure)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        """The app tells it too."""
        self._busy = ""
        way_out = in_the_app(message.error, self.deepthink.keys)
        self._tell(f"✗ {message.error.title}: {message.error.message}\n{way_out}".rstrip())
        self.refresh_bindings()

    # --- doing -----------------------------------------------------------------------------------

    def _on_row(self, busy: str, work: Callable[[ModelRow, threading.Event], Message]) -> None:
        row = self.query_one(ModelList).row
        if row is not None:
            self._cancel = threading.Event()
            self._begin(
                busy,
                f"… measuring {row.label}" if busy == "measuring" else "",
                partial(work, row, self._cancel),
            )

    def _use(self, name: str, role: Role | None) -> None:
        self._begin("choosing", "", partial(use, self.deepthink.engine, name, role))

    def _begin(self, busy: str, told: str, work: Callable[[], Message]) -> None:
        self._busy = busy
        self._tell(told)
        self.refresh_bindings()
        in_background(self, work, group="job")

    def _end(self, told: str, failure: Failed | None) -> None:
        self._busy = ""
        self.query_one(PullView).clear()
        self._tell(told)
        if failure is not None:
            self.post_message(failure)
        self.action_refresh()

    def _offer(self, row: ModelRow) -> None:
        from tui.app.screens.confirm import ConfirmScreen

        def answered(yes: bool | None) -> None:
            if yes:
                self._use(row.name, row.role)

        self.app.push_screen(ConfirmScreen(f"Use {row.label} from now on?", row.about, yes="Use"), answered)

    # --- drawing ---------------------------------------------------------------------------------

    def _redraw(self) -> None:
        self.query_one(ModelList).show([*self._listed, *self._ollama])
        self.query_one(ModelDetail).show(self.query_one(ModelList).row)
        self.query_one("#ollama", Static).update(self._told_of_ollama)
        self.refresh_bindings()

    def _tell(self, told: str) -> None:
        line = self.query_one("#told", Static)
        line.update(told)
        line.set_class(told.startswith("✗"), "error")
        line.display = bool(told)
