"""Stored runs and sessions: listed, shown, rated, named, deleted, exported."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import typer
from rich.text import Text

from traces.ratings import RATINGS, Rating, Ratings
from traces.runs import Run, Runs
from traces.sessions import Sessions
from traces.typed_path import expanded_path
from tui.assemble import open_store
from tui.failures import WrongUsage
from tui.run.export import Form, written
from tui.run.fold import events_of, stored_or_told
from tui.run.render import LiveRun, PlainRun, Renderer
from tui.run.words import WHY, local, status
from tui.runs.actions import called, check_idle, check_stopped, delete_run, delete_session
from tui.terminal import cells, clean, columns, console, counted, duration, is_live, one_line, print_json


def show_runs(limit: int, *, as_json: bool = False) -> None:
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
    from tui.ask.asking import NOTHING

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


def remove_run(wanted: str, *, ask: bool) -> None:
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


def show_sessions(limit: int, *, as_json: bool = False) -> None:
    """One line per session, the one used last first."""
    found = Sessions(open_store()).recent(limit)
    out = console()
    if as_json:
        print_json(found)
        return
    if not found:
        out.print('No session is stored yet. Ask something: deepthink ask "…"')
        return
    table = columns(
        "session",
        "name",
        "runs",
        "last used",
        "began with",
        right=("runs",),
        whole=("session", "last used"),
        spare=("last used",),
    )
    for session in found:
        used = f"{local(session.latest):%Y-%m-%d %H:%M}"
        began = one_line(session.first, 120) or "(nothing asked yet)"
        table.add_row(*cells(session.id, session.name, session.runs, used, began))
    out.print(table)


def show(wanted: str, *, as_json: bool = False) -> None:
    """A session as a conversation: each question with its answer and its run. Raises `UnknownSession`."""
    store = open_store()
    session = Sessions(store).find(wanted)
    runs = Runs(store).of_session(session.id)
    out = console()
    if as_json:
        turns = [
            {"run_id": run.id, "question": run.question, "status": run.status, "answer": run.answer}
            for run in runs
        ]
        print_json({"session": session, "turns": turns})
        return
    out.print(Text(f"session {called(session)}", style="bold"))
    for run in runs:
        out.print()
        out.print(Text(f"› {one_line(run.question)}", style="bold"))
        if run.standalone and run.standalone != run.question:
            out.print(Text(f"  taken to ask: {one_line(run.standalone)}", style="dim"))
        out.print(Text(clean(run.answer).strip() or _unanswered(run)))
        out.print(Text(f"run {run.id} · {local(run.started):%Y-%m-%d %H:%M} · {status(run)}", style="dim"))
    if not runs:
        wanted = shlex.quote(clean(session.name) or session.id)
        out.print(f'Nothing was asked in it yet: deepthink ask --session {wanted} "…"')


def rename(wanted: str, name: str) -> None:
    """Give a session a name. Raises `UnknownSession`, `NameTaken`."""
    sessions = Sessions(open_store())
    session = sessions.find(wanted)
    name = one_line(name)
    sessions.rename(session.id, name)
    typer.echo(f"Session {session.id} is called “{name}” now.")


def remove_session(wanted: str, *, ask: bool) -> None:
    """Delete a session with its runs and their checkpoints, having asked if ``ask``.

    Raises:
        UnknownSession: it is not there.
        GoingOn: another process is working on one of its runs.
        WrongUsage: nobody is there to be asked.
    """
    store = open_store()
    session = Sessions(store).find(wanted)
    runs = check_idle(store, session)
    if ask:
        if not sys.stdin.isatty():
            raise WrongUsage(f"Deleting session {called(session)} needs a yes.", "Add --yes.")
        typer.confirm(f"Delete session {called(session)} with {counted(len(runs), 'run')}?", abort=True)
    gone = delete_session(store, session)
    typer.echo(f"Deleted session {called(session)} with {counted(gone, 'run')}.")


def _unanswered(run: Run) -> str:
    if run.finished is None or run.status in {"failed", "cancelled"}:
        return "(no answer yet; deepthink runs --unfinished says whether it can be resumed)"
    return "(no answer)"
