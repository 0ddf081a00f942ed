"""Stored sessions: listed, read as the conversations they are, named, deleted."""

from __future__ import annotations

import sys

import typer
from rich.text import Text

from agent import checkpoints
from traces.runs import Run, Runs
from traces.sessions import Session, Sessions
from tui.assemble import open_store
from tui.failures import WrongUsage
from tui.runs_view import local, status
from tui.terminal import cells, clean, columns, console, one_line


def show_list(limit: int) -> None:
    """One line per session, the one used last first."""
    found = Sessions(open_store()).recent(limit)
    out = console()
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
    )
    for session in found:
        used = f"{local(session.latest):%Y-%m-%d %H:%M}"
        began = one_line(session.first, 120) or "(nothing asked yet)"
        table.add_row(*cells(session.id, session.name, session.runs, used, began))
    out.print(table)


def show(wanted: str) -> None:
    """A session as a conversation: each question with its answer and its run. Raises `UnknownSession`."""
    store = open_store()
    session = Sessions(store).find(wanted)
    runs = Runs(store).of_session(session.id)
    out = console()
    out.print(Text(f"session {_called(session)}", style="bold"))
    for run in runs:
        out.print()
        out.print(Text(f"› {one_line(run.question)}", style="bold"))
        if run.standalone and run.standalone != run.question:
            out.print(Text(f"  taken to ask: {one_line(run.standalone)}", style="dim"))
        out.print(Text(clean(run.answer).strip() or _unanswered(run)))
        out.print(Text(f"run {run.id} · {local(run.started):%Y-%m-%d %H:%M} · {status(run)}", style="dim"))
    if not runs:
        out.print(f'Nothing was asked in it yet: deepthink ask --session {session.name or session.id} "…"')


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
    sessions = Sessions(store)
    session = sessions.find(wanted)
    runs = Runs(store).of_session(session.id)
    for run in runs:
        if run.finished is None and checkpoints.held(store, run.id):
            raise checkpoints.GoingOn(
                f"Run {run.id} of session {_called(session)} is still going on.",
                "Wait for it, or stop it with Ctrl-C where it runs.",
            )
    if ask:
        if not sys.stdin.isatty():
            raise WrongUsage(f"Deleting session {_called(session)} needs a yes.", "Add --yes.")
        typer.confirm(f"Delete session {_called(session)} with {_counted(len(runs))}?", abort=True)
    gone = sessions.delete(session.id)
    for run in runs:
        checkpoints.discard(store, run.id)
    typer.echo(f"Deleted session {_called(session)} with {_counted(gone)}.")


def _called(session: Session) -> str:
    return f"{session.id} “{clean(session.name)}”" if session.name else session.id


def _counted(runs: int) -> str:
    return "1 run" if runs == 1 else f"{runs} runs"


def _unanswered(run: Run) -> str:
    if run.finished is None or run.status in {"failed", "cancelled"}:
        return "(no answer yet; deepthink runs --unfinished says whether it can be resumed)"
    return "(no answer)"
