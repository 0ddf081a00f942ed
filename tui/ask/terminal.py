"""A run on the command line, and its questions. Light to import, as a warm server's answer waits for it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass
from typing import Literal, TextIO

from agent import events as ev
from agent.steering import Steering
from traces.records import ALL_COLLECTIONS
from traces.runs import Runs
from traces.store import Store
from tui import failures
from tui.interrupts import ctrl_c, ctrl_c_raises
from tui.run.fold import RunFold, fold_of, stored_events
from tui.run.keyboard import Keyboard, Wheel
from tui.run.render import LABEL_WIDTH, AnimatedRun, PipedRun, PlainRun, Renderer, as_grid
from tui.run.words import CHOICES, Block, doubts, places, preview
from tui.terminal import console, is_live, one_line, print_json, shell_word

Form = Literal["auto", "plain", "quiet", "json"]

_EXCERPT_LENGTH = 160  # characters of a passage
_LETTERS: Mapping[str, str] = {"accept": "a", "rewrite": "r", "search": "s", "stop": "t"}


@dataclass(frozen=True, slots=True)
class AskOptions:
    """A question with its options, as typed; see `tui.ask.command.ask`."""

    question: str
    collections: Sequence[str] = ()  # without any, those of the session's last question
    session: str | None = None
    go_on: bool = False
    filters: Sequence[tuple[str, str]] = ()  # names and values


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
    """
    live = form == "auto" and is_live()
    warming: threading.Thread | None = None
    try:
        with ctrl_c() as cancel:
            steering = make_steering(cancel)
            wheel = Wheel(steering) if live and sys.stdin.isatty() else None
            keyboard = Keyboard(wheel.press, sys.stdin.fileno(), sys.stdout.fileno()) if wheel else None
            with (
                _renderer(form, wheel, live=live) as screen,
                keyboard or nullcontext(),
                # If the pipe is closed, the run must end before its model is closed.
                closing(begin(steering=steering)) as events,
            ):
                for event in events:
                    if warm_up is not None and isinstance(event, ev.RunStarted | ev.Resumed):
                        warming = warm_up()
                    if isinstance(event, ev.Resumed):
                        for seconds, past_event in stored_events(store, Runs(store).find(event.run_id)):
                            screen.recall(past_event)
                            screen.fold.elapsed = seconds
                    screen.take(event)
                    if isinstance(event, ev.Asked):
                        with screen.aside(), keyboard.aside() if keyboard else nullcontext():
                            ask_user(event, steering, live=live)
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


def conclude(fold: RunFold, store: Store, form: Form) -> int:
    """Print a run's JSON object, or tell what came nearest if it found nothing; returns the exit code."""
    if form == "json":  # the store also has the events before a resume
        print_json(fold_of(store, Runs(store).find(fold.run_id), urls=True).to_json())
    elif form != "quiet" and fold.status in {"not_found", "stopped"}:
        _tell_nearest(fold, store)
    return fold.exit_code


def _tell_nearest(fold: RunFold, store: Store) -> None:
    """Show the passages nearest to an answer, and how to search more widely, or by hand."""
    nearest = fold.nearest()
    for hit, where in zip(nearest, places(nearest), strict=True):
        failures.warn(f"Nearest: {where}: {preview(hit['text'], fold.question, _EXCERPT_LENGTH)}")
    if narrowed := Runs(store).find(fold.run_id).request.get("collections"):
        names = ", ".join(map(one_line, narrowed))
        failures.warn(f"Searched only in {names}; --collection {ALL_COLLECTIONS} searches all of yours.")
    failures.warn(f"To look yourself: deepthink library search {shell_word(fold.question)}")


def ask_user(event: ev.Asked, steering: Steering, *, live: bool) -> None:
    """Show a question, read the reply, and hand it to the run.

    An invalid reply is asked for again. Ctrl-C, or the end of the input, cancels the run. Without ``live``
    the question is plain lines, on stderr if stdout is not a terminal.
    """
    letters = {_LETTERS.get(option, option): option for option in event.options}
    _show(event, letters, live=live)
    prompt = (" " * LABEL_WIDTH if live else "") + (f"{', '.join(letters)}: " if letters else "> ")
    reply = None
    while reply is None:
        try:
            with ctrl_c_raises():
                line = _read(prompt)
        except (EOFError, KeyboardInterrupt):
            _out().write("\n")
            steering.cancel()
            return
        reply = match_choice(line, letters)
    steering.reply(reply)


def match_choice(line: str, letters: Mapping[str, str]) -> str | None:
    """The option for a typed letter or word, None if there is none; any text if there are no options."""
    if not letters:
        return " ".join(line.split())
    reply = line.strip().casefold()
    return letters.get(reply) or (reply if reply in letters.values() else None)


def _show(event: ev.Asked, letters: Mapping[str, str], *, live: bool) -> None:
    """Show the question, the sentences of the answer it is about, and the possible replies."""
    question = one_line(event.question)
    sentences = [(doubts([claim]) or [one_line(claim["text"])])[0] for claim in event.claims]
    replies = [f"{key}  {CHOICES.get(option, option)}" for key, option in letters.items()]
    replies = replies or ["Enter alone: answer as best it can"]
    if live:
        out = console()
        out.print(as_grid(Block(event.about, question, tone="part")))
        for lines in filter(None, (sentences, replies)):
            out.print(as_grid(Block("", "", tuple(lines), "part")))
        return
    _out().write(f"{event.about}: {question}\n")
    _out().writelines(f"    {line}\n" for line in (*sentences, *replies))
    _out().flush()


def _read(prompt: str) -> str:
    """Read a line, without its end. Raises EOFError at the end of the input."""
    if sys.stdout.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - so that the arrow keys edit the line
        return input(prompt)
    sys.stderr.write(prompt)
    sys.stderr.flush()
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line.rstrip("\n")


def _out() -> TextIO:
    """The stream that the user sees: stderr if stdout is not a terminal."""
    return sys.stdout if sys.stdout.isatty() else sys.stderr
