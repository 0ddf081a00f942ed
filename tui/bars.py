"""Bars of what takes long and can be counted: a description, the bar, how many of how many, a word more."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from tui.terminal import console, duration, is_live

_LINE_SECONDS = 10.0  # between two lines where nothing can be drawn over


class Counted(Protocol):
    """How far something is: how many of how many, and an estimate of the time left once there is one."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def seconds_left(self) -> float | None: ...


C = TypeVar("C", bound=Counted)


def bars(out: Console) -> Progress:
    """Bars that are gone when all is done; each task has a field ``said``, dim behind its count."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[said]}", style="dim"),
        console=out,
        transient=True,
    )


def watched(events: Iterable[C], described: Callable[[C], str]) -> C | None:
    """Show how far something is while it goes on: a bar, or a line now and then where none can be drawn.

    Args:
        events: What it tells; used up.
        described: What it is at, in a few clean words.

    Returns:
        The last that it told; None if nothing.
    """
    last: C | None = None
    if not is_live():
        told = 0.0
        for last in events:
            if time.monotonic() - told >= _LINE_SECONDS:
                told = time.monotonic()
                line = f"{described(last)} {last.done:,} of {last.total:,} {_left(last)}"
                console().print(Text(line.rstrip()))
        return last
    with bars(console()) as shown:
        task = shown.add_task("", total=None, said="")
        for last in events:
            shown.update(
                task,
                description=described(last),
                completed=last.done,
                total=last.total,
                said=_left(last),
            )
    return last


def _left(event: Counted) -> str:
    return f"{duration(event.seconds_left)} left" if event.seconds_left is not None else ""
