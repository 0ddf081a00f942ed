"""Single keys at the terminal: reading them, and what they do to a run.

While keys are read, the terminal neither echoes nor waits for Enter; Ctrl-C and Ctrl-Z work as usual. The
terminal is restored when the reading ends, when a question is asked, and when a signal stops or ends the
program; it is taken again when the program continues in the foreground.
"""

from __future__ import annotations

import codecs
import os
import re
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Any, Self

from agent.state import ACTIONS, Action
from agent.steering import Steering
from tui.terminal import one_line

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|O.|[^\x1b])")  # arrow keys and the like: ignored
_SHOW_CURSOR, _HIDE_CURSOR = b"\x1b[?25h", b"\x1b[?25l"
_BACKGROUND_POLL_SECONDS = 0.3  # how often a background program checks whether it is in the foreground


class Keyboard:
    """Reads keys from a terminal while it is entered; ``press`` takes each, in a separate thread."""

    def __init__(self, press: Callable[[str], None], source: int, screen: int) -> None:
        self._press = press
        self._source = source  # file descriptor of the terminal
        self._screen = screen  # the same terminal, for output: to show its cursor while stopped
        self._saved_attributes: list[Any] = []  # of the terminal, to restore
        self._reader: threading.Thread | None = None
        self._has_terminal = False  # whether the reader starts with the terminal in cbreak mode
        self._wake = (-1, -1)
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        import termios

        self._saved_attributes = termios.tcgetattr(self._source)
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
        self._has_terminal = self._take_terminal()
        self._reader.start()

    def _stop(self) -> None:
        if self._reader is None:
            return
        os.write(self._wake[1], b".")
        self._reader.join()
        self._reader = None
        self._restore_terminal()
        for end in self._wake:
            os.close(end)

    def _read(self) -> None:
        # Handlers run in the main thread only: a signal delivered to this thread would not wake that one.
        signal.pthread_sigmask(signal.SIG_BLOCK, self._handlers)
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        wake_end, foreground = self._wake[0], self._has_terminal
        while True:
            # The system stops a background program that reads.
            was_foreground, foreground = foreground, self._in_foreground()
            if foreground and not was_foreground:
                self._take_terminal()  # shells do not signal a program that kept running
            sources = [self._source, wake_end] if foreground else [wake_end]
            timeout = None if foreground else _BACKGROUND_POLL_SECONDS
            ready, _, _ = select.select(sources, [], [], timeout)
            if wake_end in ready:
                return
            if not ready or not self._in_foreground():
                continue
            try:
                data = os.read(self._source, 1024)
            except OSError:  # the terminal is gone
                return
            if not data:
                return
            for key in _SEQUENCE.sub("", decoder.decode(data)):
                self._press(key)

    def _take_terminal(self) -> bool:
        import termios
        import tty

        if self._reader is None or not self._in_foreground():
            return False
        tty.setcbreak(self._source)
        attributes = termios.tcgetattr(self._source)
        attributes[3] &= ~termios.IEXTEN  # some systems keep Ctrl-O for themselves
        termios.tcsetattr(self._source, termios.TCSANOW, attributes)
        return True

    def _restore_terminal(self) -> None:
        import termios

        if self._in_foreground():
            # Unread keys were meant for the run, not for a question or the shell.
            termios.tcsetattr(self._source, termios.TCSAFLUSH, self._saved_attributes)

    def _in_foreground(self) -> bool:
        """Whether we may change the terminal: the system stops a background program that does."""
        try:
            return os.tcgetpgrp(self._source) == os.getpgrp()
        except OSError:  # not the controlling terminal, so nobody else uses it
            return True

    def _catch_signals(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        for number in (signal.SIGTSTP, signal.SIGTERM, signal.SIGQUIT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._handle_stop)
        self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._handle_continue)

    def _handle_stop(self, number: int, _frame: FrameType | None) -> None:
        """Restore the terminal, then let the signal take effect."""
        if self._reader is not None:
            self._restore_terminal()
            os.write(self._screen, _SHOW_CURSOR)
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.signal(number, self._handle_stop)  # reached only after a stop

    def _handle_continue(self, _number: int, _frame: FrameType | None) -> None:
        if self._reader is not None:
            self._take_terminal()
            os.write(self._screen, _HIDE_CURSOR)


_PAUSE, _FINISH, _SKIP, _ADD, _DECIDE = "\x0f\x0e\x07\x02\x04"  # ^O ^N ^G ^B ^D, as in the app
KEYS: Mapping[str, str] = {
    "^O": "pause or resume",
    "^N": "answer now, from what was found",
    "^G": "skip this step",
    "^B": "add a step",
    "^D": "decide what comes next",
    "^C": "cancel",
    "?": "show or hide the keys",
}
"""Each key and what it does; ^ stands for Ctrl."""

_DECISIONS: Mapping[str, Action] = {action[0].lower(): action for action in ACTIONS}
_HINTS = ("^O pause · ^N answer now · ? keys", "? keys", "")
_HINTS_PAUSED = ("^O resume · ^N answer now · ? keys", "^O resume", "")
_ENTER, _ESCAPE, _BACKSPACE, _ERASE = "\r\n", "\x1b", "\x7f\b", "\x15\x17"
_NOTICE_SECONDS = 6.0


class Wheel:
    """Turns key presses into steering; safe to call from any thread."""

    def __init__(self, steering: Steering) -> None:
        self._steering = steering
        self._draft: str | None = None  # the text of a step being added
        self._deciding = False
        self._notice = ""
        self._notice_time = 0.0
        self.shows_help = False
        self.answering = False  # whether the answer is being written: nothing is left to cut short

    def press(self, key: str) -> None:
        if self._draft is not None:
            self._draft = self._type(key, self._draft)
        elif self._deciding:
            self._decide(key.casefold())
        else:
            self._steer(key)

    @property
    def prompt(self) -> str:
        """What the user should type, and what they have typed so far; "" if nothing."""
        if self._draft is not None:
            return f"add a step, then Enter (Esc: none): {one_line(self._draft)}▏"
        if self._deciding:
            return (
                "decide: c continue · r revise · f finish · m read more passages · "
                "w search in other words · a ask the model · Esc leave it"
            )
        return ""

    @property
    def notice(self) -> str:
        """What the last key did, for a few seconds."""
        return self._notice if time.monotonic() - self._notice_time < _NOTICE_SECONDS else ""

    @property
    def hints(self) -> tuple[str, ...]:
        return _HINTS_PAUSED if self._steering.paused else _HINTS

    def clear_notice(self) -> None:
        """Drop the notice, because the run has reacted to the key."""
        self._notice = ""

    def _steer(self, key: str) -> None:
        if key == _PAUSE and self._steering.paused:
            self._steering.resume()
            self._set_notice("resumed")
        elif key == _PAUSE:
            self._steering.pause()
            self._set_notice("pausing after this step")
        elif key == _FINISH and self.answering:
            self._set_notice("the answer is on its way already")
        elif key == _FINISH:
            self._steering.finish()
            self._set_notice("answering now")
        elif key == _SKIP:
            self._steering.skip()
            self._set_notice("skipping this step")
        elif key == _ADD:
            self._draft = ""
        elif key == _DECIDE:
            self._deciding = True
        elif key == "?":
            self.shows_help = not self.shows_help

    def _decide(self, key: str) -> None:
        self._deciding = False
        if key in _DECISIONS:
            self._steering.override(_DECISIONS[key])
            self._set_notice(f"the next decision is {_DECISIONS[key]}")

    def _type(self, key: str, draft: str) -> str | None:
        if key in _ENTER:
            if draft.strip():
                self._steering.add(draft)
                self._set_notice("added to the plan")
            return None
        if key == _ESCAPE:
            return None
        if key in _BACKSPACE:
            return draft[:-1]
        if key in _ERASE:
            return ""
        return draft + key if key.isprintable() else draft

    def _set_notice(self, message: str) -> None:
        self._notice, self._notice_time = message, time.monotonic()
