"""Stored runs: listed, replayed through the same code as a live one, rated, deleted, exported."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from traces.ratings import RATINGS, Rating, Ratings
from traces.runs import Run, Runs
from traces.typed_path import expanded_path
from tui.assemble import open_store
from tui.export import Form, written
from tui.failures import WrongUsage
from tui.imported import stored_or_told
from tui.outcome import events_of
from tui.removal import check_stopped, delete_run
from tui.render import LiveRun, PlainRun, Renderer
from tui.run_status import WHY, local, status
from tui.terminal import cells, clean, columns, console, duration, is_live, one_line, print_json


def show_list(limit: int, *, as_json: bool = False) -> None:
    """One line per run, newest first."""
    found = Runs(open_store()).recent(limit)
    out = console()
    if as_json:
        print_json([_row(run) for run in found])
        return
    if not found:
        out.print('No run is stored yet. Ask something: deepthink ask "…"')
        return
    headers = ("run", "when", "status", "time", "question")
    table = columns(*headers, right=("time",), whole=("run", "when"), spare=("when", "time"))
    for run in found:
        took = duration(run.seconds) if run.seconds is not None else ""
        when = f"{local(run.started):%Y-%m-%d %H:%M}"
        table.add_row(*cells(run.id, when, status(run), took, one_line(run.question, 120)))
    out.print(table)


def _row(run: Run) -> dict[str, object]:
    return {
        "run_id": run.id,
        "question": run.question,
        "status": run.status,
        "answer": run.answer,
        "started": run.started,
        "seconds": run.seconds,
        "session": run.session,
        "model": run.chat_model,
        "collections": run.collections,
    }


def show_unfinished(*, as_json: bool = False) -> None:
    """One line per run that can go on: why it stopped, and what to type."""
    from agent.run import resumable
    from tui.resuming import NOTHING

    found = resumable(open_store())
    out = console()
    if as_json:
        print_json([{**_row(entry.run), "why": entry.why} for entry in found])
        return
    if not found:
        out.print(NOTHING)
        return
    headers = ("run", "when", "why", "to go on", "question")
    table = columns(*headers, whole=("run", "when", "to go on"), spare=("run", "when", "why"))
    for entry in found:
        run = entry.run
        command = "" if entry.why == "going on" else f"deepthink resume {run.id}"
        when = f"{local(run.started):%Y-%m-%d %H:%M}"
        table.add_row(*cells(run.id, when, WHY[entry.why], command, one_line(run.question, 120)))
    out.print(table)


def replay(wanted: str, *, plain: bool) -> None:
    """Show a run as it was shown when it ran. Raises `UnknownRun`."""
    from agent.checkpoints import exists

    store = open_store()
    runs = Runs(store)
    run = runs.find(wanted)
    stored = stored_or_told(runs, run)
    live = is_live(plain=plain)
    screen: Renderer = LiveRun(console(), replay=True) if live else PlainRun(replay=True)
    with screen:
        for event in events_of(stored):
            screen.take(event)
    if imported := run.request.get("imported_from"):
        console().print(
            f"Run {run.id} was imported from {clean(str(imported))}: of what went on in it only the "
            f"decisions are known. deepthink traces show {run.id} shows them."
        )
    elif run.status == "waiting":
        console().print(f"Run {run.id} waits for your answer: deepthink resume {run.id}")
    elif run.finished is None and exists(store, run.id):
        console().print(
            f"Run {run.id} has no end: it is still going on, or was killed. "
            "What can be resumed: deepthink runs --unfinished"
        )
    elif run.finished is None:
        console().print(f"Run {run.id} has no end, and nothing is kept from which it could go on.")


def rate(wanted: str, rating: Rating | None, note: str, *, drop: bool) -> None:
    """Rate a run, or take its rating back.

    Raises:
        WrongUsage: it is not said which of the two.
        UnknownRun: it is not there.
    """
    if drop == (rating is not None):
        raise WrongUsage("Say how good the answer is, or --drop.", f"Ratings: {', '.join(RATINGS)}.")
    store = open_store()
    run = Runs(store).find(wanted)
    if rating is None:
        Ratings(store).withdraw(run.id)
        sys.stdout.write(f"Run {run.id} has no rating now.\n")
        return
    Ratings(store).rate(run.id, rating, note)
    sys.stdout.write(f"Run {run.id} is rated {rating}.\n")


def delete(wanted: str, *, ask: bool) -> None:
    """Delete a run with all that is stored of it, having asked if ``ask``.

    Raises:
        UnknownRun: it is not there.
        GoingOn: another process is working on it.
        WrongUsage: nobody is there to be asked.
    """
    store = open_store()
    run = Runs(store).find(wanted)
    check_stopped(store, run.id)
    if ask:
        if not sys.stdin.isatty():
            raise WrongUsage(f"Deleting run {run.id} needs a yes.", "Add --yes.")
        typer.confirm(f"Delete run {run.id} “{one_line(run.question, 80)}”?", abort=True)
    delete_run(store, run.id)
    typer.echo(f"Deleted run {run.id}.")


def export(wanted: str, form: Form, output: Path | None) -> None:
    """Write a run to ``output``, or to stdout. Raises `UnknownRun`, `OSError`."""
    runs = Runs(open_store())
    run = runs.find(wanted)
    text = written(run, stored_or_told(runs, run), form)
    if output is None:
        sys.stdout.write(text)
        return
    expanded_path(output).write_text(text, encoding="utf-8")
    sys.stdout.write(f"Run {run.id} is in {output}.\n")
