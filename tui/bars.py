"""Progress of long work that can be counted: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.text import Text

from tui.terminal import console, duration, is_live

_LINE_SECONDS = 10.0  # between two lines where no bar can be drawn


class Counted(Protocol):
    """How far something is: how many of how many, and the estimated seconds left once known."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def seconds_left(self) -> float | None: ...


C = TypeVar("C", bound=Counted)


class Bar:
    """The task under way, as a line now and then; see `bar`."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._name = ""
        self._told = 0.0

    def show(self, name: str, done: int = 0, total: int | None = None, said: str = "") -> None:
        """Show how far it is.

        Args:
            name: The task, in a few clean words.
            done: How much of ``total`` is done.
            total: None while it is not known.
            said: A few more words.
        """
        if total is None:
            if name != self._name:
                self._out.print(Text(name))
        elif time.monotonic() - self._told >= _LINE_SECONDS:
            self._told = time.monotonic()
            self._out.print(Text(f"{name} {done:,} of {total:,} {said}".rstrip()))
        self._name = name

    def clear(self) -> None:
        """Take the bar away."""


class _DrawnBar(Bar):
    def __init__(self, bars: Progress) -> None:
        super().__init__(bars.console)
        self._bars = bars
        self._task: TaskID | None = None

    def show(self, name: str, done: int = 0, total: int | None = None, said: str = "") -> None:
        if self._task is None or total is None:
            self.clear()
            self._task = self._bars.add_task(name, total=None, said="")
        self._bars.update(self._task, description=name, completed=done, total=total, said=said)

    def clear(self) -> None:
        if self._task is not None:
            self._bars.remove_task(self._task)
            self._task = None


@contextmanager
def bar(out: Console, *, plain: bool = False) -> Iterator[Bar]:
    """A bar, gone when all is done; lines where none can be drawn, or if ``plain``."""
    if not is_live(plain=plain):
        yield Bar(out)
        return
    with Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}", style="dim", markup=False),
        console=out,
        transient=True,
    ) as bars:
        yield _DrawnBar(bars)


def watched(events: Iterable[C], described: Callable[[C], str]) -> C | None:
    """Show the progress that ``events`` report, and use them up.

    Args:
        events: Reports, in order.
        described: The current task of a report, in a few clean words.

    Returns:
        The last report; None if there was none.
    """
    last: C | None = None
    with bar(console()) as shown:
        for last in events:
            left = f"{duration(last.seconds_left)} left" if last.seconds_left is not None else ""
            shown.show(described(last), last.done, last.total, left)
    return last
