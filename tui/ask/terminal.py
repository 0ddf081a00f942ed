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
from tui.run.fold import RunFold, stored_events
from tui.run.keyboard import Wheel, keys
from tui.run.render import AnimatedRun, PipedRun, PlainRun, Renderer
from tui.run.words import place
from tui.terminal import console, is_live, one_line

Form = Literal["auto", "plain", "quiet", "json"]
Route = Literal["", "single", "deep"]

_EXCERPT_LENGTH = 160  # characters of a passage


def is_interactive(form: Form) -> bool:
    """Whether the user can be asked: stdin is a terminal, and so is stdout or stderr."""
    return form != "json" and sys.stdin.isatty() and (sys.stdout.isatty() or sys.stderr.isatty())


def follow(
    store: Store,
    form: Form,
    begin: Callable[..., Generator[ev.Event]],
    make_steering: Callable[[threading.Event], Steering] = Steering,
    warm_up: Callable[[], threading.Thread] | None = None,
) -> RunFold:
    """Follow a run on the terminal until it ends: show it, steer it by keys, and ask its questions.

    Args:
        store: Where its earlier events are, if it is resumed.
        form: How it is shown.
        begin: Starts it with the given ``steering``.
        make_steering: Creates the steering, with an event that Ctrl-C sets.
        warm_up: Called once the run has begun.

    Raises:
        DeepthinkError: what the run raises.
    """
    live = form == "auto" and is_live()
    warming: threading.Thread | None = None
    try:
        with ctrl_c() as cancel:
            steering = make_steering(cancel)
            wheel = Wheel(steering) if live and sys.stdin.isatty() else None
            with (
                _renderer(form, wheel, live=live) as screen,
                keys(wheel.press if wheel else None) as keyboard,
                # If the pipe is closed, the run must end before its model is closed.
                closing(begin(steering=steering)) as events,
            ):
                for event in events:
                    if warm_up is not None and isinstance(event, ev.RunStarted | ev.Resumed):
                        warming = warm_up()
                    if isinstance(event, ev.Resumed):
                        for _, past_event in stored_events(store, Runs(store).find(event.run_id)):
                            screen.recall(past_event)
                    screen.take(event)
                    if isinstance(event, ev.Asked):
                        with screen.aside(), keyboard.aside():
                            questions.put(event, steering, live=live)
                return screen.fold
    finally:
        if warming is not None:
            warming.join()  # Python may crash if it exits during an import


def _renderer(form: Form, wheel: Wheel | None, *, live: bool) -> Renderer:
    if form == "json":
        return Renderer()
    if form == "quiet" or (form == "auto" and not sys.stdout.isatty()):
        return PipedRun(quiet=form == "quiet")
    return AnimatedRun(console(), wheel=wheel) if live else PlainRun()


def tell_nearest(fold: RunFold) -> None:
    """If nothing was found, show the nearest passages and how to search by hand."""
    if fold.status not in {"not_found", "stopped"}:
        return
    for hit in fold.nearest():
        failures.warn(f"Nearest: {place(hit)}: {one_line(hit['text'], _EXCERPT_LENGTH)}")
    failures.warn(f"To look yourself: deepthink library search {shlex.quote(fold.question)}")
