"""A run on the command line. Light to import, so that a warm server's answer does not wait for it."""

from __future__ import annotations

import shlex
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import closing
from typing import Literal

from agent import events as ev
from agent.steering import Steering
from traces.runs import Runs
from traces.store import Store
from tui import failures
from tui.interrupts import ctrl_c
from tui.run import questions
from tui.run.fold import Outcome, events_of
from tui.run.keyboard import Wheel, keys
from tui.run.render import LiveRun, PipedRun, PlainRun, Renderer
from tui.run.words import place
from tui.terminal import console, is_live, one_line

Form = Literal["auto", "plain", "quiet", "json"]
Route = Literal["", "single", "deep"]

_EXCERPT_LENGTH = 160  # characters of a passage


def is_interactive(form: Form) -> bool:
    """Whether the user can be asked: stdin is a terminal, and so is stdout or stderr."""
    return form != "json" and sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


class Watch:
    """Follows a run on the terminal: shows it, steers it by keys, and asks its questions.

    ``make_steering`` creates the run's steering, with an event that Ctrl-C sets.

    Attributes:
        run_id: The run's id, "" until it has begun.
        outcome: The outcome so far.
    """

    def __init__(
        self, store: Store, form: Form, make_steering: Callable[[threading.Event], Steering] = Steering
    ) -> None:
        self._store = store
        self._form = form
        self._make_steering = make_steering
        self._live = form == "auto" and is_live()
        self.run_id = ""
        self.outcome = Outcome()

    def follow(
        self,
        begin: Callable[..., Generator[ev.Event]],
        warm_up: Callable[[], threading.Thread] | None = None,
    ) -> None:
        """Follow the run until it ends; call ``warm_up`` once it has begun. Raises what the run raises."""
        warming: threading.Thread | None = None
        try:
            with ctrl_c() as cancel:
                steering = self._make_steering(cancel)
                wheel = Wheel(steering) if self._live and sys.stdin.isatty() else None
                with (
                    self._screen(wheel) as screen,
                    keys(wheel.press if wheel else None) as keyboard,
                    # If the pipe is closed, the run must end before its model is closed.
                    closing(begin(steering=steering)) as events,
                ):
                    for event in events:
                        if isinstance(event, ev.RunStarted | ev.Resumed):
                            self.run_id = event.run_id
                            warming = warm_up() if warm_up is not None else None
                        if isinstance(event, ev.Resumed):
                            past_events = events_of(Runs(self._store).events(event.run_id))
                            screen.recall(past_events)
                            for past_event in past_events:
                                self.outcome.take(past_event)
                        self.outcome.take(event)
                        screen.take(event)
                        if isinstance(event, ev.Asked):
                            with screen.aside(), keyboard.aside():
                                questions.put(event, steering, live=self._live)
        finally:
            if warming is not None:
                warming.join()  # Python may crash if it exits during an import

    def _screen(self, wheel: Wheel | None) -> Renderer:
        if self._form == "json":
            return Renderer()
        if self._form == "quiet" or (self._form == "auto" and not sys.stdout.isatty()):
            return PipedRun(quiet=self._form == "quiet")
        return LiveRun(console(), wheel=wheel) if self._live else PlainRun()

    def tell_nearest(self) -> None:
        """If nothing was found, show the nearest passages and how to search by hand."""
        if self.outcome.status not in {"not_found", "stopped"}:
            return
        for hit in self.outcome.nearest():
            failures.warn(f"Nearest: {place(hit)}: {one_line(hit['text'], _EXCERPT_LENGTH)}")
        failures.warn(f"To look yourself: deepthink library search {shlex.quote(self.outcome.question)}")
