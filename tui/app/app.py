"""The app: its screens as modes, its theme and keys, and how failures are shown.

At the start, only the ``[app]`` settings are read, without validation; a worker loads and validates all
settings once the first frame is drawn.
"""

from __future__ import annotations

import logging
import os
import shlex
import tomllib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast

from textual import events, on
from textual.app import App, SystemCommand
from textual.binding import Binding
from textual.command import Provider
from textual.css.query import NoMatches
from textual.message import Message
from textual.notifications import Notify
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import MountError, Widget
from textual.widgets import Input, TextArea
from textual.worker import WorkerFailed

from traces.paths import config_file, existing_path
from tui.app.base import DeepScreen
from tui.app.engine import Engine, EngineChanged, EngineState, Noticed
from tui.app.keys import ACTIONS_BY_ID, bindings, keymap, modes
from tui.app.reach import ask_screen
from tui.app.themes import OURS, TEXTUAL
from tui.app.work import Failed, failed, in_background

if TYPE_CHECKING:
    from tui.library.screen import LibraryScreen


@dataclass(frozen=True, slots=True)
class Appearance:
    """A theme by Textual's name, whether motion is reduced, and the remapped keys as set."""

    theme: str = "dark"
    reduced_motion: bool = False
    keys: str = ""


def appearance() -> Appearance:
    """The appearance set in the environment or the settings file, else the default."""
    try:
        file = tomllib.loads(config_file().read_text(encoding="utf-8")).get("app", {})
    except (OSError, ValueError):  # reported by the worker that loads the settings
        file = {}
    file = file if isinstance(file, dict) else {}

    def value(name: str) -> str:
        return os.environ.get(f"DEEPTHINK_APP_{name.upper()}") or str(file.get(name, ""))

    return Appearance(
        theme=TEXTUAL.get(value("theme"), "dark"),
        reduced_motion=value("reduced_motion").lower() in {"1", "true", "yes", "on"},
        keys=value("keys"),
    )


_log = logging.getLogger("deepthink.app")


def _provider(name: str) -> type[Provider]:
    """A part of the palette, imported when it is first opened."""
    return cast("type[Provider]", getattr(import_module("tui.app.palette"), name))


def _screen(mode: str) -> Screen[Any]:
    """The screen of a mode, imported when it is first opened."""
    kind = getattr(import_module(f"tui.{mode}.screen"), f"{mode.capitalize()}Screen")
    return cast("Screen[Any]", kind())


class KeyHandled(Message):
    """Follows a key from the widget with the focus up to the app, so that its effect comes first."""


def _as_events(typed: str) -> Iterator[events.Key | events.Paste]:
    for line in typed.splitlines(keepends=True):
        yield events.Paste("".join(filter(str.isprintable, line)))
        if line.endswith(("\n", "\r")):
            yield events.Key("enter", "\r")


_KEY_PATIENCE = 5.0  # seconds until a key no longer waits for the one before


class DeepthinkApp(App[int]):
    """The app; one screen is shown at a time.

    Args:
        look: Theme, motion and keys; by default those of the settings.
        prepare: Whether to load the models once the first frame is drawn.
        picture_widget: Draws pictures in this terminal; None if it cannot show them.
        typed: What was typed before the app could read it.
        begin_with: Files and folders to add to the library; any other words are a question for the prompt.
    """

    TITLE = "deepthink"
    NOTIFICATION_TIMEOUT = 3
    CSS_PATH = "app.tcss"
    BINDINGS = bindings("app")
    COMMANDS: ClassVar[set[Any]] = {partial(_provider, "Actions"), partial(_provider, "Stored")}
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - as Textual declares it
    DEFAULT_MODE = "ask"
    SUSPENDED_SCREEN_CLASS = "-beneath"
    MODES: ClassVar[dict[str, str | Callable[[], Screen[Any]]]] = {
        mode: partial(_screen, mode) for mode, _ in modes()
    }

    engine_states: reactive[dict[str, tuple[EngineState, str]]] = reactive(dict)
    """Part of the engine to its state and a detail; widgets watch it."""

    def __init__(
        self,
        look: Appearance | None = None,
        *,
        prepare: bool = True,
        picture_widget: type[Widget] | None = None,
        typed: str = "",
        begin_with: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.picture_widget = picture_widget
        self.engine = Engine(self.post_message)
        self.failures: list[Failed] = []
        self.interrupted_runs: list[str] = []  # ids of runs in progress when the app ended
        self.keys: dict[str, str] = {}
        self._appearance = look or appearance()
        self._prepare = prepare
        are_paths = all(existing_path(word) is not None for word in begin_with)
        self._paths_to_add = shlex.join(begin_with) if are_paths else ""
        question = "" if are_paths else " ".join(" ".join(begin_with).split())
        self._keys_to_come = deque(_as_events(question + typed))
        self._key_waits_until = 0.0
        for theme in OURS:
            self.register_theme(theme)
        self.theme = self._appearance.theme
        if self._appearance.reduced_motion:
            self.animation_level = "none"

    def on_mount(self) -> None:
        """Apply the remapped keys; start the heavy work once the first frame is drawn."""
        self.take_keys(self._appearance.keys)
        self.call_later(self._handle_next_key)
        if self._paths_to_add:
            self.call_after_refresh(self.in_library, lambda library: library.action_add(self._paths_to_add))
        if self._prepare:
            self.call_after_refresh(in_background, self, self.engine.prepare, group="prepare")
            self.call_after_refresh(in_background, self, self.engine.keep_in_step, group="folders")

    async def on_event(self, event: events.Event) -> None:
        """Handle one key after the other, so that the next goes to what this one opens or focuses."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._keys_to_come.append(event)
        if event.time >= self._key_waits_until:
            await self._handle_next_key()

    @on(KeyHandled)
    async def _handle_next_key(self) -> None:
        self._key_waits_until = 0.0
        if not self._keys_to_come:
            return
        follower = KeyHandled()
        self._key_waits_until = follower.time + _KEY_PATIENCE
        if self.screen.is_mounted:  # else the follower comes back once it is
            await super().on_event(self._keys_to_come.popleft())
        if not (self.focused or self.screen).post_message(follower):
            self.post_message(follower)  # what had the focus is being closed

    def on_unmount(self) -> None:
        self.engine.closing.set()

    @on(EngineChanged)
    def _engine_changed(self, message: EngineChanged) -> None:
        before, _ = self.engine_states.get(message.part, ("", ""))
        self.engine_states = {**self.engine_states, message.part: (message.state, message.detail)}
        if message.part == "settings" and before == "missing" and message.state == "ready":
            in_background(self, self.engine.prepare, group="prepare")
            cast(DeepScreen, ask_screen(self)).look_again()

    @on(Noticed)
    def _show_notice(self, message: Noticed) -> None:
        self.notify(message.text, title=message.title, severity="warning", timeout=8, markup=False)

    @on(Notify)
    def _replace_older_news(self, message: Notify) -> None:
        """Keep news to the first line: below it, a second toast would cover what is read."""
        new = message.notification
        for old in list(self._notifications):
            if old.message == new.message or (old.severity == "information" and not old.title):
                self._unnotify(old, refresh=False)

    @on(events.DescendantFocus)
    def _still_cursor(self, event: events.DescendantFocus) -> None:
        if self.animation_level == "none" and isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    @on(Failed)
    def tell_failure(self, message: Failed) -> None:
        """Show a toast; `action_failure` shows the full text."""
        self.failures.append(message)
        if message.is_shown:
            return
        key = self.key_of("app.failure")  # "" in a window over a screen
        self.notify(
            f"{message.error.message}\n{key} shows it in full." if key else message.error.message,
            title=message.error.title,
            severity="error",
            timeout=6,
            markup=False,
        )

    def take_keys(self, text: str) -> None:
        """Apply the keys of the setting ``app.keys``; warn if it is invalid."""
        try:
            self.keys = keymap(text)
        except ValueError as error:
            self.notify(f"app.keys: {error}", title="Settings", severity="warning", markup=False)
        self.set_keymap(self.keys)

    def key_for(self, action_id: str) -> str:
        """The first key that is mapped to an action, for display."""
        key = self.keys.get(action_id, ACTIONS_BY_ID[action_id].key).split(",")[0]
        return self.get_key_display(Binding(key, ""))

    def key_of(self, action_id: str) -> str:
        """The key of an action that is possible now, for display; "" if it has none."""
        if not self.screen.is_mounted:  # a screen that is being opened has no active bindings
            return ""
        for _, binding, enabled, _ in self.screen.active_bindings.values():
            if binding.id == action_id and enabled:
                return self.get_key_display(binding)
        return ""

    def push_screen(self, screen: Any, *args: Any, **kwargs: Any) -> Any:
        """As in Textual, but toasts are cleared first, so that they do not cover the new screen."""
        self.clear_notifications()
        return super().push_screen(screen, *args, **kwargs)

    def action_mode(self, name: str) -> None:
        """Go to a screen; if it is shown already, focus its input."""
        self.clear_notifications()
        while len(self.screen_stack) > 1:  # windows left open over this screen would reappear
            self.pop_screen()
        if name == self.current_mode:
            screen = cast(DeepScreen, self.screen)
            screen.focus_input()
            screen.look_again()
        else:
            self.switch_mode(name)

    def in_library(self, act: Callable[[LibraryScreen], object]) -> None:
        """Go to the library, and act there once it is shown."""
        self.action_mode("library")
        screen = cast("LibraryScreen", self.screen)
        screen.call_after_refresh(act, screen)

    def action_failure(self) -> None:
        if not self.failures:
            self.notify("Nothing has failed since the app was started.")
            return
        from tui.app.failure import FailureScreen

        self.push_screen(FailureScreen(self.failures, self.keys))

    def action_command_palette(self) -> None:
        from tui.app.palette import Palette

        if not isinstance(self.screen, Palette):
            self.push_screen(
                Palette(id="--command-palette", placeholder="Actions, runs, conversations, documents …")
            )

    def action_help(self) -> None:
        from tui.app.help import HelpScreen

        if isinstance(self.screen, HelpScreen):
            self.pop_screen()
            return
        self.push_screen(HelpScreen(self.screen))

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """None of Textual's own: the registry has them all, including themes."""
        return ()

    def _handle_exception(self, error: Exception) -> None:
        """End the app after an unhandled error with a sentence and a log entry, without a traceback."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        is_leaving = self.return_code is not None or not self.is_running
        if is_leaving and isinstance(cause, NoMatches | MountError | KeyError):
            # While the app closes, Textual mounts nothing and computes no styles, but a window that has
            # just opened still needs both.
            _log.info("a window was left while it opened: %s", error)
            return
        if self.is_headless or os.environ.get("DEEPTHINK_DEBUG"):
            super()._handle_exception(error)
            return
        self.failures.append(failed(error))
        self._return_code = 70
        self.exit(70)
