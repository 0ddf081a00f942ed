"""A training with something to look at: data sheet, a bar with loss and held-out value, the verdict."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.text import Text

from policy.training import progress as told
from tui import failures
from tui.bars import bars
from tui.terminal import cells, clean, columns, console, duration, is_live

_EVERY = 20  # steps between two lines where nothing moves


def show_training(events: Iterable[told.TrainingEvent], *, plain: bool = False) -> int:
    """Show a training until its end; the exit code."""
    out = console()
    with _watching(out, plain) as watcher:
        for event in events:
            match event:
                case told.DataSheet():
                    watcher.rest()
                    _sheet(out, event)
                case told.Warned():
                    watcher.rest()
                    failures.warn(clean(event.message))
                case told.HeldOut():
                    watcher.take(event)
                    out.print(Text(_held_out(event)))
                case told.Verdict():
                    watcher.rest()
                    _verdict(out, event)
                case told.Finished():
                    watcher.rest()
                    _finished(out, event)
                case _:
                    watcher.take(event)
    return failures.DONE


class _Watcher(Protocol):
    def take(self, event: told.TrainingEvent) -> None: ...

    def rest(self) -> None: ...


@contextmanager
def _watching(out: Console, plain: bool) -> Iterator[_Watcher]:
    if not is_live(plain=plain):
        yield _Lines(out)
        return
    with bars(out) as shown:
        yield _Bars(shown)


class _Bars:
    """One bar for the phase under way."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._phase: TaskID | None = None

    def take(self, event: told.TrainingEvent) -> None:
        match event:
            case told.Began():
                self.rest()
                self._phase = self._bars.add_task(clean(event.message), total=None, said="")
            case told.Trained() if self._phase is not None:
                self._bars.update(self._phase, completed=event.step, total=event.steps, said=_step(event))
            case _:
                pass

    def rest(self) -> None:
        if self._phase is not None:
            self._bars.remove_task(self._phase)
            self._phase = None


class _Lines:
    """One line for each phase, and one for some steps."""

    def __init__(self, out: Console) -> None:
        self._out = out

    def take(self, event: told.TrainingEvent) -> None:
        match event:
            case told.Began():
                self._out.print(clean(event.message))
            case told.Trained() if event.step % _EVERY == 0 or event.step in {1, event.steps}:
                self._out.print(f"  step {event.step} of {event.steps}: {_step(event)}".rstrip(": "))
            case _:
                pass

    def rest(self) -> None:
        """Nothing moves here."""


def _step(event: told.Trained) -> str:
    said = [] if math.isnan(event.loss) else [f"loss {event.loss:.3f}"]
    if not math.isnan(event.seconds_left) and event.step < event.steps:
        said.append(f"about {duration(event.seconds_left)} left")
    return ", ".join(said)


def _held_out(event: told.HeldOut) -> str:
    line = (
        f"  held-out questions after step {event.step}: value {event.utility:.3f} with {event.steps:.2f} "
        f"steps, default schedule {event.default:.3f}"
    )
    return line if math.isnan(event.loss) else f"{line}, Brier {event.loss:.3f}"


def _sheet(out: Console, event: told.DataSheet) -> None:
    table = columns("learned from", "")
    for name, figures in event.rows.items():
        table.add_row(*cells(name, figures))
    out.print()
    out.print(table)
    out.print()


def _verdict(out: Console, event: told.Verdict) -> None:
    out.print()
    passed = Text("The gate: passed. " if event.passed else "The gate: not passed. ", style="bold")
    out.print(passed + Text(clean(event.reason), style="not bold"))


def _finished(out: Console, event: told.Finished) -> None:
    name = clean(event.name)
    out.print(Text(f"{name} is in {event.folder}"))
    if event.active:
        out.print(Text("It is active now; `deepthink policy rollback` goes back to the one before."))
    else:
        out.print(Text(f"It is not active. `deepthink policy show {name}` tells more of it."))
