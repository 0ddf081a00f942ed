"""A run on the command line. Light to import: a warm server's answer does not wait for it."""

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

_NEAREST = 160  # characters of a passage


def is_interactive(form: Form) -> bool:
    """Whether a person can be asked: stdin is a terminal, and so is stdout or stderr."""
    return form != "json" and sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


class Watch:
    """A run on the terminal: shown, steered by keys, its questions asked.

    ``steers`` makes the run's steering, with an event that Ctrl-C sets.

    Attributes:
        run_id: The run's id, "" until it has begun.
        outcome: What is known of it.
    """

    def __init__(
        self, store: Store, form: Form, steers: Callable[[threading.Event], Steering] = Steering
    ) -> None:
        self._store = store
        self._form = form
        self._steers = steers
        self._live = form == "auto" and is_live()
        self.run_id = ""
        self.outcome = Outcome()

    def follow(
        self,
        begin: Callable[..., Generator[ev.Event]],
        warm_up: Callable[[], threading.Thread] | None = None,
    ) -> None:
        """Watch the run to its end; ``warm_up`` is called once it has begun. Raises what the run raises."""
        warming: threading.Thread | None = None
        try:
            with ctrl_c() as cancel:
                steering = self._steers(cancel)
                wheel = Wheel(steering) if self._live and sys.stdin.isatty() else None
                with (
                    self._screen(wheel) as screen,
                    keys(wheel.press if wheel else None) as keyboard,
                    # A closed pipe must end the run before the model is closed under it.
                    closing(begin(steering=steering)) as events,
                ):
                    for event in events:
                        if isinstance(event, ev.RunStarted | ev.Resumed):
                            self.run_id = event.run_id
                            warming = warm_up() if warm_up is not None else None
                        if isinstance(event, ev.Resumed):
                            before = events_of(Runs(self._store).events(event.run_id))
                            screen.recall(before)
                            for earlier in before:
                                self.outcome.take(earlier)
                        self.outcome.take(event)
                        screen.take(event)
                        if isinstance(event, ev.Asked):
                            with screen.aside(), keyboard.aside():
                                questions.put(event, steering, live=self._live)
        finally:
            if warming is not None:
                warming.join()  # an interpreter that ends in the middle of an import may crash

    def _screen(self, wheel: Wheel | None) -> Renderer:
        if self._form == "json":
            return Renderer()
        if self._form == "quiet" or (self._form == "auto" and not sys.stdout.isatty()):
            return PipedRun(quiet=self._form == "quiet")
        return LiveRun(console(), wheel=wheel) if self._live else PlainRun()

    def tell_nearest(self) -> None:
        """Where nothing was found, show the nearest passages and how to search by hand."""
        if self.outcome.status not in {"not_found", "stopped"}:
            return
        for hit in self.outcome.nearest():
            failures.warn(f"Nearest: {place(hit)}: {one_line(hit['text'], _NEAREST)}")
        failures.warn(f"To look yourself: deepthink library search {shlex.quote(self.outcome.question)}")
