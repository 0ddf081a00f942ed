"""Traces to a file and from files, with a sentence about what went and what came."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import typer

from agent.decisions.decider import STATE_VERSION
from traces.exchange import Imported, export, take_in
from traces.typed_path import expanded_path
from tui.failures import WrongUsage
from tui.terminal import counted
from tui.traces_view import found, the_store


def export_to(
    path: Path | None,
    file: Path,
    since: datetime | None,
    runs: Sequence[str],
    *,
    shadows: bool,
) -> None:
    """Write decisions to ``file``. Raises `WrongUsage`, `UnknownRun`, `NoTraces`, `OSError`."""
    target = expanded_path(file)
    if target.suffix.lower() != ".parquet":
        raise WrongUsage(
            f"{file} does not end in .parquet: traces are exported as Parquet.", "Name FILE.parquet."
        )
    store = the_store(path)
    done = export(
        store,
        target,
        since=since.astimezone(UTC).replace(tzinfo=None) if since else None,  # a day of this machine's
        runs=[found(store, wanted).id for wanted in runs],
        shadows=shadows,
    )
    beside = f", {counted(done.shadows, 'second opinion')} among them" if done.shadows else ""
    typer.echo(f"{counted(done.decisions, 'decision')} of {counted(done.runs, 'run')}{beside}: {file}.")


def import_from(path: Path | None, files: Sequence[Path]) -> None:
    """Take in ``files``. Raises `BadTraces`, `OSError`."""
    done = take_in(the_store(path), [expanded_path(file) for file in files], STATE_VERSION)
    for line in _told(done):
        typer.echo(line)


def _told(done: Imported) -> list[str]:
    lines = [f"{counted(done.decisions, 'decision')} of {counted(done.runs, 'new run')} imported."]
    said = [
        counted(count, noun)
        for count, noun in ((done.labels, "label"), (done.ratings, "rating"), (done.outcomes, "outcome"))
        if count
    ]
    if said:
        lines.append(f"New or newer: {', '.join(said)}.")
    if done.known:
        lines.append(f"There already: {counted(done.known, 'decision')}.")
    if done.older:
        lines.append(
            f"Of an older state version than {STATE_VERSION}: {counted(done.older, 'decision')}. "
            "They are kept, but no policy learns from them."
        )
    return lines
