"""Progress of countable work: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from tui.terminal import console, duration, is_live, size

_LINE_SECONDS = 10.0  # between two lines if no bar can be drawn


class Counted(Protocol):
    """A progress report: how many of how many, and the estimated seconds left once known."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def seconds_left(self) -> float | None: ...


C = TypeVar("C", bound=Counted)


class Bar:
    """A bar, or without ``bars`` the current task as a line now and then; see `bar`."""

    def __init__(self, out: Console, bars: Progress | None = None, *, in_bytes: bool = False) -> None:
        self._out = out
        self._bars = bars
        self._number = size if in_bytes else "{:,}".format
        self._task: TaskID | None = None
        self._name, self._done = "", 0
        self._last_print = 0.0

    def show(self, name: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Show the task, in a few clean words, and how much of it is done; ``total`` may be unknown."""
        if self._bars is not None:
            if self._task is None or total is None or done < self._done:  # something else is counted
                self.clear()
                self._task = self._bars.add_task(name, total=None, note="")
            self._bars.update(self._task, description=name, completed=done, total=total, note=note)
        elif total is None:
            if name != self._name:
                self._out.print(Text(name))
        elif time.monotonic() - self._last_print >= _LINE_SECONDS:
            self._last_print = time.monotonic()
            self._out.print(Text(f"{name} {self._number(done)} of {self._number(total)} {note}".rstrip()))
        self._name, self._done = name, done

    def clear(self) -> None:
        if self._bars is not None and self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None


@contextmanager
def bar(out: Console, *, plain: bool = False, in_bytes: bool = False) -> Iterator[Bar]:
    """A bar that disappears at the end; lines if none can be drawn, or if ``plain``.

    What is counted ``in_bytes`` has its speed and the time left beside it.
    """
    if not is_live(plain=plain):
        yield Bar(out, in_bytes=in_bytes)
        return
    counts: list[ProgressColumn] = [MofNCompleteColumn()]
    if in_bytes:
        counts = [DownloadColumn(), TransferSpeedColumn(), TimeRemainingColumn(compact=True)]
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        *counts,
        TextColumn("{task.fields[note]}", style="dim", markup=False),
        console=out,
        transient=True,
    ) as bars:
        yield Bar(out, bars)


def show_progress(events: Iterable[C], describe: Callable[[C], str], *, quiet: bool = False) -> C | None:
    """Show the progress that ``events`` report unless ``quiet``, and return the last of them.

    ``describe`` names the current task of a report, in a few clean words.
    """
    last: C | None = None
    out = console()
    out.quiet = quiet
    with bar(out) as display:
        for last in events:
            time_left = f"{duration(last.seconds_left)} left" if last.seconds_left is not None else ""
            display.show(describe(last), last.done, last.total, time_left)
    return last
