"""Stored runs: listed, replayed through the same code as a live one, exported."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from traces.runs import Run, Runs, StoredEvent
from tui.assemble import open_store
from tui.outcome import events_of, outcome_of
from tui.render import LiveRun, PlainRun, Renderer
from tui.terminal import cells, columns, console, duration, is_live, one_line

Form = Literal["md", "html", "json", "otlp"]

_WHY = {
    "waiting": "waits for you",
    "interrupted": "was interrupted",
    "failed": "failed",
    "cancelled": "was cancelled",
    "going on": "is going on",
}


def show_list(limit: int) -> None:
    """One line per run, newest first."""
    found = Runs(open_store()).recent(limit)
    out = console()
    if not found:
        out.print('No run is stored yet. Ask something: deepthink ask "…"')
        return
    table = columns("run", "when", "status", "time", "question", right=("time",), whole=("run", "when"))
    for run in found:
        took = duration(run.seconds) if run.seconds is not None else ""
        when = f"{local(run.started):%Y-%m-%d %H:%M}"
        table.add_row(*cells(run.id, when, status(run), took, one_line(run.question, 120)))
    out.print(table)


def show_unfinished() -> None:
    """One line per run that can go on: why it stopped, and what to type."""
    from agent.run import resumable

    found = resumable(open_store())
    out = console()
    if not found:
        out.print("Every run came to its end: there is nothing to resume.")
        return
    table = columns("run", "when", "why", "to go on", "question", whole=("run", "when", "to go on"))
    for entry in found:
        run = entry.run
        command = "" if entry.why == "going on" else f"deepthink resume {run.id}"
        when = f"{local(run.started):%Y-%m-%d %H:%M}"
        table.add_row(*cells(run.id, when, _WHY[entry.why], command, one_line(run.question, 120)))
    out.print(table)


def replay(wanted: str, *, plain: bool) -> None:
    """Show a run as it was shown when it ran. Raises `UnknownRun`."""
    runs = Runs(open_store())
    run = runs.find(wanted)
    live = is_live(plain=plain)
    screen: Renderer = LiveRun(console(), replay=True) if live else PlainRun(replay=True)
    with screen:
        for event in events_of(runs.events(run.id)):
            screen.take(event)
    if run.status == "waiting":
        console().print(f"Run {run.id} waits for your answer: deepthink resume {run.id}")
    elif run.finished is None:
        console().print(
            f"Run {run.id} has no end: it is still going on, or was killed. "
            "What can be resumed: deepthink runs --unfinished"
        )


def export(wanted: str, form: Form, output: Path | None) -> None:
    """Write a run to ``output``, or to stdout. Raises `UnknownRun`, `OSError`."""
    runs = Runs(open_store())
    run = runs.find(wanted)
    text = _written(run, runs.events(run.id), form)
    if output is None:
        sys.stdout.write(text)
        return
    output.expanduser().write_text(text, encoding="utf-8")
    sys.stdout.write(f"Run {run.id} is in {output}.\n")


def local(moment: datetime) -> datetime:
    """A moment of the store, which has them in UTC, by this machine's clock."""
    return moment.replace(tzinfo=UTC).astimezone()


def status(run: Run) -> str:
    """How a run ended, or that it has not, in a word or two."""
    if run.finished is None:
        return "waiting" if run.status == "waiting" else "unfinished"
    return run.status.replace("_", " ")


def _written(run: Run, stored: list[StoredEvent], form: Form) -> str:
    if form == "otlp":
        from tui.telemetry import to_otlp

        return to_otlp(run, stored)
    outcome = outcome_of(run, stored)
    if form == "json":
        return json.dumps(outcome.to_json(), ensure_ascii=False, indent=2) + "\n"
    if form == "html":
        from tui.html_page import to_html

        return to_html(outcome, local(run.started))
    from tui.markdown import to_markdown

    return to_markdown(outcome, local(run.started))
