"""Fetching models and showing progress: bars on a terminal, elsewhere a line for each tenth."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from models.catalogue import ModelEntry
from models.fetch.files import ChecksumMismatch, PullProgress
from models.fetch.pull import checked, pull, shared_sources
from tui.interrupts import ctrl_c
from tui.terminal import clean, console, is_live, size

PHASES = {
    "waiting": "another process is fetching it",
    "fetching": "fetching",
    "checking": "checking the sha256",
    "done": "in place",
}
_ShowProgress = Callable[[PullProgress], None]


def pull_models(entries: Sequence[ModelEntry], *, recheck: bool = False) -> None:
    """Fetch each of ``entries`` that is missing or not the published file; report those already here.

    Raises what `models.fetch.pull.pull` raises; Ctrl-C keeps what was fetched and raises `PullCancelled`.
    """
    out = console()
    with ctrl_c() as cancel, shared_sources() as sources:
        for entry in entries:
            with suppress(ChecksumMismatch):  # then it is fetched, as if it were missing
                if not recheck and checked(entry, cancel=cancel) is not None:
                    out.print(f"{entry.name} is already here.")
                    continue
            with _progress_display(out, entry) as show_progress:
                pull(entry, progress=show_progress, cancel=cancel, recheck=recheck, sources=sources)
            out.print(f"{entry.name}: {size(entry.size)} in place, sha256 as the catalogue lists it.")


@contextmanager
def _progress_display(out: Console, entry: ModelEntry) -> Iterator[_ShowProgress]:
    if not is_live():
        yield _lines(entry)
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.fields[source]}", style="dim"),
        console=out,
        transient=True,
    ) as bars:
        yield _bar(bars, entry)


def _bar(bars: Progress, entry: ModelEntry) -> _ShowProgress:
    task = bars.add_task(entry.name, total=entry.size, source="")
    phase = ""

    def show(progress: PullProgress) -> None:
        nonlocal phase
        if progress.phase != phase:
            phase = progress.phase
            # Fetched and checked bytes run at different speeds; an average over both says nothing.
            bars.reset(task, total=progress.total, start=True)
        note = progress.source or "" if phase == "fetching" else PHASES[phase]
        bars.update(task, completed=progress.done, source=note)
        if progress.given_up:
            bars.console.print(clean(progress.given_up), style="dim")

    return show


def _lines(entry: ModelEntry) -> _ShowProgress:
    tenth, has_waited = -1, False

    def show(progress: PullProgress) -> None:
        nonlocal tenth, has_waited
        if progress.given_up:
            typer.echo(f"{entry.name}: {clean(progress.given_up)}")
        if progress.phase == "waiting" and not has_waited:
            has_waited = True
            typer.echo(f"{entry.name}: {PHASES[progress.phase]}")
        reached = 10 * progress.done // max(1, progress.total)
        if progress.phase == "fetching" and progress.source and reached > tenth:
            tenth = reached
            typer.echo(f"{entry.name}: {10 * tenth} % of {size(progress.total)} from {progress.source}")

    return show
