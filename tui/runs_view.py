"""Stored runs: listed, replayed through the same code as a live one, exported."""

from __future__ import annotations

import json
import sys
from datetime import UTC
from pathlib import Path
from typing import Literal

from agent.events import Event, from_stored
from traces.runs import Run, Runs
from tui.assemble import open_store
from tui.markdown import to_markdown
from tui.outcome import Outcome
from tui.render import LiveRun, PlainRun, Renderer
from tui.terminal import cells, columns, console, duration, is_live, one_line


def show_list(limit: int) -> None:
    """One line per run, newest first."""
    found = Runs(open_store()).recent(limit)
    out = console()
    if not found:
        out.print('No run is stored yet. Ask something: deepthink ask "…"')
        return
    table = columns("run", "when", "status", "time", "question", right=("time",), whole=("run", "when"))
    for run in found:
        when = f"{run.started.replace(tzinfo=UTC).astimezone():%Y-%m-%d %H:%M}"
        took = duration(run.seconds) if run.seconds is not None else ""
        table.add_row(*cells(run.id, when, _status(run), took, one_line(run.question, 120)))
    out.print(table)


def replay(wanted: str, *, plain: bool) -> None:
    """Show a run as it was shown when it ran. Raises `UnknownRun`."""
    runs = Runs(open_store())
    run = runs.find(wanted)
    live = is_live(plain=plain)
    screen: Renderer = LiveRun(console(), replay=True) if live else PlainRun(replay=True)
    with screen:
        for event in _events(runs, run):
            screen.take(event)
    if run.finished is None:
        console().print(f"Run {run.id} has no end: it is still going on, or was killed.")


def export(wanted: str, form: Literal["md", "json"], output: Path | None) -> None:
    """Write a run to ``output``, or to stdout. Raises `UnknownRun`, `OSError`."""
    runs = Runs(open_store())
    run = runs.find(wanted)
    outcome = Outcome()
    for event in _events(runs, run):
        outcome.take(event)
    if form == "json":
        text = json.dumps(outcome.to_json(), ensure_ascii=False, indent=2) + "\n"
    else:
        text = to_markdown(outcome, run.started.replace(tzinfo=UTC).astimezone())
    if output is None:
        sys.stdout.write(text)
        return
    output.expanduser().write_text(text, encoding="utf-8")
    sys.stdout.write(f"Run {run.id} is in {output}.\n")


def _events(runs: Runs, run: Run) -> list[Event]:
    return [from_stored(stored.kind, stored.payload) for stored in runs.events(run.id)]


def _status(run: Run) -> str:
    if run.finished is None:
        return "unfinished"
    return run.status.replace("_", " ")
