"""The lines under the conversation: how the answer is made, and the actions on the run."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from textual.content import Content
from textual.widgets import Static

from tui.app.keys import ACTIONS, Action
from tui.app.offers import deepthink
from tui.terminal import duration, one_line

if TYPE_CHECKING:
    from tui.run.fold import Part, RunFold

_PARTS = {"meters", "status", "question"}
_GAP = "  ·  "
_MAX_NAMED = 3  # collections


class Meters(Static):
    """How the answer is made: model, collections, web, teaching, time."""

    DEFAULT_CSS = """
    Meters { height: 1; background: $panel; color: $foreground 85%; padding: 0 1; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.model = ""
        self.collections: Collection[str] = ()  # of the whole library
        self.offline = True
        self.teaching = False
        self._fold: RunFold | None = None

    def on_mount(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    def show(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """Draw what changed."""
        self._fold = fold
        if changed & _PARTS:
            self.redraw()

    def clear_away(self) -> None:
        """Show the settings only, without a run."""
        self._fold = None
        self.redraw()

    def redraw(self) -> None:
        """Draw the line; if it is too long, the least important parts are left out."""
        started = self._fold.started if self._fold else None
        model = (started.chat_model if started else self.model).removeprefix("llama.cpp:")
        parts = [
            one_line(model, 40),
            scope(started.collections if started else (), self.collections),
            "web off" if self.offline else "web on",
            "teaching" if self.teaching else "",
            duration(self._fold.elapsed) if self._fold else "",
        ]
        parts = [part for part in parts if part]
        while len(_GAP.join(parts)) > max(self.size.width - 2, 1) and len(parts) > 1:
            del parts[0]
        self.update(Content(_GAP.join(parts)))


def scope(searched: Collection[str], library: Collection[str]) -> str:
    """The collections that a run searches, in words; "" if nothing is known about them."""
    if not searched or set(library) <= set(searched):
        return "all collections" if library or searched else ""
    names = list(searched)
    more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
    return f"only {one_line(', '.join(names[:_MAX_NAMED]), 60)}{more}"


class RunBar(Static):
    """The actions on a run with their keys; a click performs one."""

    DEFAULT_CSS = """
    RunBar { height: 1; padding: 0 1; background: $surface; color: $foreground 85%; display: none; }
    RunBar.-on { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.auto_links = False
        self._paused = False

    def on_mount(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    def show_paused(self, paused: bool) -> None:
        """Label the first action Pause or Resume."""
        if paused != self._paused:
            self._paused = paused
            self.redraw()

    def redraw(self) -> None:
        """Draw the line."""
        for short in (False, True):
            line = Content("  ").join([self._piece(action, short=short) for action in ACTIONS["run"]])
            if line.cell_length <= self.size.width - 2:
                break
        self.update(line)

    def _piece(self, action: Action, *, short: bool) -> Content:
        key = deepthink(self).key_for(action.id)
        label = "Resume" if action.does == "pause" and self._paused else action.label
        label = label.split()[0] if short and label != "Resume" else label
        piece = Content(f"{key} {label.lower()}").stylize("bold $accent", 0, len(key))
        return piece.stylize(f"@click=screen.{action.does}")
