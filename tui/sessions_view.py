"""Stored sessions: listed, read as the conversations they are, named, deleted."""

from __future__ import annotations

import shlex
import sys

import typer
from rich.text import Text

from traces.runs import Run, Runs
from traces.sessions import Sessions
from tui.assemble import open_store
from tui.failures import WrongUsage
from tui.removal import called, check_idle, delete_session
from tui.run_status import local, status
from tui.terminal import cells, clean, columns, console, counted, one_line, print_json


def show_list(limit: int, *, as_json: bool = False) -> None:
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


def delete(wanted: str, *, ask: bool) -> None:
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
