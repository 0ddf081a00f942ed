"""Single keys at the terminal: reading them, and what they do to a run.

While keys are read the terminal neither echoes nor waits for Enter; Ctrl-C and Ctrl-Z still do what they
do everywhere. It is put back when the reading ends, when a question is asked, when the program is stopped
or ended by a signal, and taken again when it goes on in the foreground.

`tui.run.keyboard` reads the keys; `tui.run.render` shows what is said here.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import FrameType
from typing import Any, Self

from agent.state import Action
from agent.steering import Steering
from tui.terminal import one_line

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\x1b])")  # arrows and the like: no key of ours
_SHOW_CURSOR, _HIDE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"
_AWAY_SECONDS = 0.3  # how often a program in the background looks whether it is in front again


class NoKeys:
    """Reads nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it; the terminal is as it was."""

    def aside(self) -> AbstractContextManager[object]:
        """Leave the terminal to someone who reads lines from it."""
        return nullcontext()


def keys(press: Callable[[str], None] | None) -> NoKeys:
    """Keys of the terminal, each given to ``press`` in a thread; none without a terminal or a ``press``."""
    if press is None or os.name != "posix" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return NoKeys()
    return Keyboard(press, sys.stdin.fileno(), sys.stdout.fileno())


class Keyboard(NoKeys):
    """Reads keys from a terminal.

    Args:
        press: Takes each key, in a thread of its own.
        source: File descriptor of the terminal that is read.
        screen: The same terminal for output: its cursor shows while the program is stopped.
    """

    def __init__(self, press: Callable[[str], None], source: int, screen: int) -> None:
        self._press = press
        self._source = source
        self._screen = screen
        self._before: list[Any] = []  # the terminal's attributes as they were
        self._reader: threading.Thread | None = None
        self._taken = False  # whether the reader begins with the terminal as it needs it
        self._wake = (-1, -1)
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        import termios

        self._before = termios.tcgetattr(self._source)
        self._catch_signals()
        self._start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Leave the terminal to code that reads lines; discard what was typed before."""
        self._stop()
        try:
            yield
        finally:
            self._start()

    def _start(self) -> None:
        self._wake = os.pipe()
        self._reader = threading.Thread(target=self._read, name="deepthink-keys", daemon=True)
        self._taken = self._take_terminal()
        self._reader.start()

    def _stop(self) -> None:
        if self._reader is None:
            return
        os.write(self._wake[1], b".")
        self._reader.join()
        self._reader = None
        self._give_terminal_back()
        for end in self._wake:
            os.close(end)

    def _read(self) -> None:
        # Handlers run in the main thread only: a signal that this one took would not wake it from a wait.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._handlers)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        woken, ours = self._wake[0], self._taken
        while True:
            # A program in the background that reads is stopped for it.
            before, ours = ours, self._in_front()
            if ours and not before:
                self._take_terminal()  # shells do not tell a program that was going on in the background
            ready, _, _ = select.select(
                [self._source, woken] if ours else [woken], [], [], None if ours else _AWAY_SECONDS
            )
            if woken in ready:
                return
            if not ready or not self._in_front():
                continue
            try:
                read = os.read(self._source, 1024)
            except OSError:  # the terminal is gone
                return
            if not read:
                return
            for key in _SEQUENCE.sub("", decoder.decode(read)):
                self._press(key)

    def _take_terminal(self) -> bool:
        import tty

        if self._reader is None or not self._in_front():
            return False
        tty.setcbreak(self._source)
        return True

    def _give_terminal_back(self) -> None:
        import termios

        if self._in_front():
            # What was typed and not yet read was meant for the run, not for a question or the shell.
            termios.tcsetattr(self._source, termios.TCSAFLUSH, self._before)

    def _in_front(self) -> bool:
        """Whether the terminal is ours to change: a program in the background is stopped for it."""
        try:
            return os.tcgetpgrp(self._source) == os.getpgrp()
        except OSError:  # not the terminal that controls this program: nobody else's either
            return True

    def _catch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTSTP, signal.SIGTERM, signal.SIGQUIT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._leave)
        self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._return)

    def _leave(self, number: int, _frame: FrameType | None) -> None:
        """Put the terminal back, then let the signal do what it does."""
        if self._reader is not None:
            self._give_terminal_back()
            os.write(self._screen, _SHOW_CURSOR)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._leave)  # reached after a stop only

    def _return(self, _number: int, _frame: FrameType | None) -> None:
        """The program continues, perhaps in the foreground again."""
        if self._reader is not None:
            self._take_terminal()
            os.write(self._screen, _HIDE_CURSOR)


KEYS: Mapping[str, str] = {
    "p": "pause or resume",
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
_HINTS_PAUSED = ("p resume · f answer now · ? keys", "p resume", "")
_ENTER, _ESCAPE, _BACKSPACE, _ERASE = "\r\n", "\x1b", "\x7f\b", "\x15\x17"
_SAID_SECONDS = 6.0


class Wheel:
    """Key presses become steering; may be pressed from any thread."""

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
                self._say("resumed")
            case "p":
                self._steering.pause()
                self._say("pausing after this step")
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
