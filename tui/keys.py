"""What single keys do to a run while it goes on, and what a person is told about them.

`tui.keyboard` reads the keys; `tui.render` shows what is said here.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from agent.state import Action
from agent.steering import Steering
from tui.terminal import one_line

KEYS: Mapping[str, str] = {
    "p": "pause, or go on",
    "f": "answer now, from what was found",
    "s": "skip this step",
    "a": "add a step",
    "d": "decide what comes next",
    "q": "cancel",
    "?": "show or hide the keys",
}
"""Each key with what it does."""

_DECISIONS: Mapping[str, Action] = {"c": "CONTINUE", "r": "REVISE", "f": "FINISH"}
_HINTS = ("p pause · f answer now · ? keys", "? keys", "")
_HINTS_PAUSED = ("p go on · f answer now · ? keys", "p go on", "")
_ENTER, _ESCAPE, _BACKSPACE, _ERASE = "\r\n", "\x1b", "\x7f\b", "\x15\x17"
_SAID_SECONDS = 6.0


class Wheel:
    """Key presses become steering; may be pressed from any thread.

    Args:
        steering: The run's.
    """

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._typed: str | None = None  # the step that is being added
        self._deciding = False
        self._said = ""
        self._said_at = 0.0
        self.helping = False

    def press(self, key: str) -> None:
        """Take one character, as the terminal sends it."""
        if self._typed is not None:
            self._typed = self._type(key, self._typed)
        elif self._deciding:
            self._decide(key.casefold())
        else:
            self._steer(key.casefold())

    @property
    def prompt(self) -> str:
        """What is awaited of the person, and what they have typed of it; "" if nothing is."""
        if self._typed is not None:
            return f"add a step, then Enter (Esc: none): {one_line(self._typed)}▏"
        if self._deciding:
            return "decide: c continue · r revise · f finish · Esc leave it"
        return ""

    @property
    def said(self) -> str:
        """What the last key did, for a few seconds."""
        return self._said if time.monotonic() - self._said_at < _SAID_SECONDS else ""

    @property
    def hints(self) -> tuple[str, ...]:
        """What to press, from the longest way of saying it to none."""
        return _HINTS_PAUSED if self._steering.paused else _HINTS

    def heard(self) -> None:
        """The run took notice: what the key did need not be said any more."""
        self._said = ""

    def _steer(self, key: str) -> None:
        match key:
            case "p" if self._steering.paused:
                self._steering.resume()
                self._say("going on")
            case "p":
                self._steering.pause()
                self._say("pausing when this is done")
            case "f":
                self._steering.finish()
                self._say("answering now")
            case "s":
                self._steering.skip()
                self._say("skipping this step")
            case "a":
                self._typed = ""
            case "d":
                self._deciding = True
            case "q":
                self._steering.cancel()
                self._say("cancelling")
            case "?":
                self.helping = not self.helping
            case _:
                pass

    def _decide(self, key: str) -> None:
        self._deciding = False
        if key in _DECISIONS:
            self._steering.override(_DECISIONS[key])
            self._say(f"the next decision is {_DECISIONS[key]}")

    def _type(self, key: str, typed: str) -> str | None:
        if key in _ENTER:
            if typed.strip():
                self._steering.add(typed)
                self._say("added to the plan")
            return None
        if key == _ESCAPE:
            return None
        if key in _BACKSPACE:
            return typed[:-1]
        if key in _ERASE:
            return ""
        return typed + key if key.isprintable() else typed

    def _say(self, what: str) -> None:
        self._said, self._said_at = what, time.monotonic()
