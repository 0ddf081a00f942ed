"""The first start: a model, documents, and a first question that works."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.app.base import KeyLine
from tui.app.failure import way_out
from tui.app.keys import bindings
from tui.app.reach import deepthink
from tui.app.work import Failed, Job, in_background
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.models.jobs import PullJob, PullView
from tui.run.live import load_anew
from tui.terminal import size

if TYPE_CHECKING:
    from models.catalogue import ModelEntry
    from tui.app.engine import Engine
    from tui.library.actions import Intake


@dataclass(frozen=True, slots=True)
class Inventory:
    """What is on this machine at the first start."""

    model: str  # the language model in the settings
    missing: Sequence[ModelEntry]  # the models to fetch
    begun: int  # bytes of them that an interrupted fetch left
    smaller: str  # a smaller language model to choose instead; "" if there is a language model
    missing_with_smaller: Sequence[ModelEntry]  # the models to fetch then
    documents: int  # in the library
    has_own: bool  # whether they are more than the sample library
    question: str  # that the sample library answers


def look(engine: Engine) -> Inventory:
    """Look for models and documents. Raises `BadSetting`, `StoreError`."""
    from agent.documents import sample_library
    from models.catalogue import QWEN_CODER_0_5B as SMALLER
    from models.fetch.pull import begun
    from traces.library import Library
    from tui.assemble import default_entries

    settings = engine.settings()
    model = settings.model.lower()
    missing = [entry for entry in default_entries(settings) if not is_here(entry)]
    offers_smaller = model != SMALLER.name and any(entry.name == model for entry in missing)
    others = [entry for entry in missing if entry.name not in {model, SMALLER.name}]
    collections = Library(engine.store).collections()
    return Inventory(
        settings.model,
        missing,
        sum(begun(entry) for entry in missing),
        SMALLER.name if offers_smaller else "",
        others if is_here(SMALLER) else [SMALLER, *others],
        sum(collection.documents for collection in collections),
        any(one.documents and not sample_library.is_sample(one) for one in collections),
        sample_library.demo_question(),
    )


def is_here(entry: ModelEntry) -> bool:
    """Whether a model is on this machine, as published."""
    from models.fetch.files import ChecksumMismatch
    from models.fetch.pull import checked

    try:
        return checked(entry) is not None
    except ChecksumMismatch:  # fetching solves that
        return False


_STEPS = ("A language model", "Documents", "A first question")
_INTRO = "Answers from your own documents, on this machine alone. Three steps:"


class WelcomeScreen(ModalScreen[str]):
    """Three steps; returns the question to ask, or "" if there is none."""

    CSS_PATH = "welcome.tcss"
    BINDINGS = bindings("welcome")
    PLACES = ("welcome",)
    AUTO_FOCUS = ""  # the panel of the reading would get it, and with it the help
    HELP = """\
### The first start

A language model, some documents, a question. **Enter** takes the next step, **Escape** leaves at any time,
and so does typing a question: Models (F7) and Library (F3) have all of this too. What was fetched or read
stays.
"""

    def __init__(self) -> None:
        super().__init__()
        self._inventory: Inventory | None = None
        self._busy = ""
        self._cancel = threading.Event()
        self._trouble = ""
        self._model = ""  # a language model to use once it is fetched, instead of that of the settings

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="welcome", can_focus=False):
            yield Static("deepthink", classes="title")
            yield Static(_INTRO, classes="quiet", id="intro")
            for step in (1, 2, 3):
                yield Static(id=f"head{step}", classes="head")
                yield Static(id=f"body{step}", classes="body", markup=False)
                if step == 1:
                    yield PullView()
                elif step == 2:
                    yield IngestPanel()
            yield Static(id="trouble", classes="error", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        self._redraw()
        self._look()

    def on_key(self, event: events.Key) -> None:
        """Give way to a question: its first letter closes this, and is typed where the rest will be."""
        is_bound = event.key in self.active_bindings
        if event.is_printable and not (is_bound or self._busy):
            event.stop()
            self.dismiss("")
            if self.app.focused is not None:
                self.app.focused.post_message(event)

    def on_unmount(self) -> None:
        """Stop the work, or the app could not end."""
        self._cancel.set()

    # --- actions ---------------------------------------------------------------------------------

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """One thing at a time; the smaller model only if there is no model yet."""
        is_ready = not self._busy and self._inventory is not None
        possible = {
            "next": is_ready,
            "small": is_ready and bool(self._inventory and self._inventory.smaller),
            "files": is_ready and self._step() > 1,
            "stop": self._busy in {"fetching", "sampling", "reading"},
        }
        return possible.get(action, True)

    def action_next(self) -> None:
        inventory = self._inventory
        if inventory is None:
            return
        match self._step():
            case 1:
                self._pull(inventory.missing, "")
            case 2:
                self._read("sampling", IngestJob.of_samples(deepthink(self).engine))
            case _:
                self.dismiss("" if inventory.has_own else inventory.question)

    def action_small(self) -> None:
        if self._inventory is not None:
            self._pull(self._inventory.missing_with_smaller, self._inventory.smaller)

    def action_files(self) -> None:
        from tui.library.files import FilesScreen

        self.app.push_screen(FilesScreen(Path.home()), self._read_chosen)

    def _read_chosen(self, intake: Intake | None) -> None:
        if intake is not None:
            self._read("reading", IngestJob.of(deepthink(self).engine, intake))

    def action_stop(self) -> None:
        self._cancel.set()

    def action_skip(self) -> None:
        self.action_stop()
        self.dismiss("")

    # --- messages of workers -----------------------------------------------------------------------

    def _show_inventory(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._redraw()

    @on(Job.Progressed)
    def _show_pull(self, message: Job.Progressed) -> None:
        """Show the progress of a pull; that of reading is the panel's."""
        self.query_one(PullView).take(message.job.drain())

    @on(Job.Ended)
    def _use_pulled(self, message: Job.Ended) -> None:
        self.query_one(PullView).clear()
        if message.failure is not None:
            self.post_message(message.failure)
        if message.job.cancel.is_set() or message.failure is not None:
            self._finish_work()
            return
        engine, model = deepthink(self).engine, self._model

        def use_models() -> None:
            from tui.settings.settings import put

            if model:
                put("model", model)
            engine.reload()

        self._set_busy("taking")
        in_background(self, use_models, self._reload_models, group="welcome")

    def _reload_models(self, _: None) -> None:
        load_anew(self)  # during the remaining steps
        self._finish_work()

    @on(IngestPanel.Changed)
    def _finish_reading(self, message: IngestPanel.Changed) -> None:
        if message.ended:
            self.query_one(IngestPanel).redraw()
            self._finish_work()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        """Show the failure here as well, unless the panel shows it; the app shows it too."""
        if message.is_shown:
            return
        self._busy = ""
        error = message.error
        self._trouble = f"✗ {error.title}: {error.message}\n  {way_out(self, error)}".rstrip()
        self._redraw()

    # --- work ------------------------------------------------------------------------------------

    def _step(self) -> int:
        """The number of the next step; 0 while it is unknown."""
        inventory = self._inventory
        if inventory is None:
            return 0
        return 1 if inventory.missing else 3 if inventory.documents else 2

    def _look(self) -> None:
        work = partial(look, deepthink(self).engine)
        in_background(self, work, self._show_inventory, group="look", exclusive=True)

    def _pull(self, entries: Sequence[ModelEntry], model: str) -> None:
        job = PullJob([entry.name for entry in entries])
        self._model, self._cancel = model, job.cancel
        self._set_busy("fetching")
        job.start(self)

    def _read(self, busy: str, job: IngestJob) -> None:
        self._cancel = job.cancel
        self._set_busy(busy)
        self.query_one(IngestPanel).begin(job)

    def _set_busy(self, busy: str) -> None:
        self._busy, self._trouble = busy, ""
        self._redraw()

    def _finish_work(self) -> None:
        self._busy = ""
        if self._cancel.is_set():
            self._trouble = "Stopped; what was done so far is kept."
        self._look()
        self._redraw()

    # --- drawing ---------------------------------------------------------------------------------

    def _redraw(self) -> None:
        step = self._step()
        bodies = (self._model_step(), self._documents_step(), self._question_step())
        for number, (title, body) in enumerate(zip(_STEPS, bodies, strict=True), 1):
            done = step > number
            sign = "✓" if done else "▸" if number == step else "·"
            head = Content(f"{sign} {number}  {title}")
            style = "$success" if done else "bold $primary" if number == step else "$foreground 65%"
            self.query_one(f"#head{number}", Static).update(head.stylize(style))
            self.query_one(f"#body{number}", Static).update(body)
        trouble = self.query_one("#trouble", Static)
        trouble.update(self._trouble)
        trouble.display = bool(self._trouble)
        self.refresh_bindings()

    def _key(self, action: str) -> str:
        return deepthink(self).key_of(f"welcome.{action}") or "–"

    def _model_step(self) -> str:
        inventory = self._inventory
        if inventory is None:
            return "Looking for models and documents …"
        if self._busy == "fetching":
            return f"Fetching; {self._key('stop')} stops it, and what was fetched is kept."
        if self._busy == "taking":
            return "Here."
        if not inventory.missing:
            return f"{inventory.model} is here."
        text = f"{self._key('next')} fetches {_weight(inventory.missing)}, once."
        if inventory.begun:
            text += f" {size(inventory.begun)} of it is here already."
        width = max(len(entry.name) for entry in inventory.missing)
        for entry in inventory.missing:
            text += f"\n  {entry.name:{width}}  {size(entry.size):>6}  {entry.licence}"
        if inventory.smaller:
            weight = _weight(inventory.missing_with_smaller)
            smaller = f"{inventory.smaller} instead: {weight}, faster and weaker."
            text += f"\n{self._key('small')} takes {smaller}"
        return text

    def _documents_step(self) -> str:
        inventory = self._inventory
        if self._busy in {"sampling", "reading"}:
            return f"{self._key('stop')} stops the reading, and what was read is kept."
        if inventory is None or self._step() < 2:
            return "Samples about a company that does not exist, or your own."
        if self._step() == 2:
            samples = "the sample library: twelve documents about a company that does not exist."
            own_documents = f"{self._key('files')} chooses documents of your own."
            return f"{self._key('next')} reads {samples}\n{own_documents}"
        samples = "" if inventory.has_own else ", all of them samples"
        return f"{inventory.documents} in the library{samples}."

    def _question_step(self) -> str:
        inventory = self._inventory
        if self._busy == "reading":
            return "What you want to know of your documents."
        if inventory is not None and inventory.has_own:
            return f"{self._key('next')} goes to the prompt: ask what you want to know of your documents."
        quoted = f"“{inventory.question}”" if inventory is not None else ""
        if self._step() == 3:
            return f"{quoted}\n{self._key('next')} asks it."
        return quoted


def _weight(entries: Sequence[ModelEntry]) -> str:
    return size(sum(entry.size for entry in entries))
