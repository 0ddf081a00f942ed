"""The window of unfinished runs: resume one, or give it up."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen, Screen, ScreenResultCallbackType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from traces.runs import Run
from traces.store import Store
from tui.app.key_line import KeyLine
from tui.app.keys import bindings
from tui.app.offers import deepthink
from tui.app.work import in_background
from tui.run.words import UNFINISHED_REASONS, local
from tui.terminal import one_line

if TYPE_CHECKING:
    from agent.run import Resumable

_MAX_QUESTION = 200


def find_unfinished(store: Store) -> list[Resumable]:
    """The runs that can be resumed now, newest first; for a worker, since it imports much."""
    from agent.run import resumable

    return [entry for entry in resumable(store) if entry.why != "going on"]


def offer_unfinished(screen: Screen[None], then: ScreenResultCallbackType[Run | None]) -> None:
    """Open the window of unfinished runs over a screen; ``then`` takes the run to resume, if any."""

    def show(entries: list[Resumable]) -> None:
        if entries and screen.is_current:
            screen.app.push_screen(UnfinishedScreen(entries), then)
        elif not entries:
            screen.notify("There is nothing to resume.")

    find = partial(find_unfinished, deepthink(screen).engine.store)
    in_background(screen, find, show, group="unfinished")


class UnfinishedList(OptionList):
    """The runs, with why each stopped; the screen handles Enter."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action == "select" else super().check_action(action, parameters)


class UnfinishedScreen(ModalScreen[Run | None]):
    """Returns the run to resume; None if the user leaves it for later."""

    CSS_PATH = "unfinished.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("unfinished")
    HELP = """\
### Unfinished runs

These runs were interrupted, failed, were cancelled, or wait for your answer. **Enter** resumes one where it
stopped; no answered model call is repeated. `d` gives one up: it stays among the runs.
"""

    def __init__(self, unfinished: Sequence[Resumable]) -> None:
        super().__init__()
        self._entries = {entry.run.id: entry for entry in unfinished}

    def compose(self) -> ComposeResult:
        with Vertical(id="unfinished"):
            count = len(self._entries)
            title = "One run can be resumed" if count == 1 else f"{count} runs can be resumed"
            yield Static(title, classes="title")
            options = [Option(_row(entry), id=run_id) for run_id, entry in self._entries.items()]
            yield UnfinishedList(*options, markup=False)
            yield KeyLine()

    @property
    def _current(self) -> Resumable | None:
        option = self.query_one(OptionList).highlighted_option
        return self._entries.get(option.id or "") if option is not None else None

    @on(OptionList.OptionSelected)
    def action_resume(self) -> None:
        if self._current is not None:
            self.dismiss(self._current.run)

    def action_forget(self) -> None:
        current = self._current
        if current is None:
            return
        from tui.app.confirm import ConfirmScreen
        from tui.runs.actions import forget

        run = current.run
        work = partial(forget, deepthink(self).engine.store, run)
        give_up = partial(in_background, self, work, partial(self._remove, run.id), group="forget")
        detail = f"“{one_line(run.question, 160)}” cannot be resumed then. It stays among the runs."
        ConfirmScreen.ask(self, "Give this run up?", detail, "Give up", give_up)

    def _remove(self, run_id: str, _: None) -> None:
        if self._entries.pop(run_id, None) is not None:
            self.query_one(OptionList).remove_option(run_id)
        if not self._entries:
            self.dismiss(None)

    def action_later(self) -> None:
        self.dismiss(None)


def _row(entry: Resumable) -> Content:
    run = entry.run
    why, started = UNFINISHED_REASONS[entry.why], f"{local(run.started):%Y-%m-%d %H:%M}"
    facts = f"  {why} · {started} · {one_line(run.chat_model)}"
    return Content.assemble(one_line(run.question, _MAX_QUESTION), "\n", (facts, "$foreground 65%"))
