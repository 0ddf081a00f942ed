"""Deleting a run, a session, or the checkpoints of a run.

Checkpoints are beside the store and are deleted with their run. A run that is in progress is not deleted.
"""

from __future__ import annotations

from agent import checkpoints
from agent import events as ev
from traces.runs import Run, RunEnd, Runs, StoredEvent
from traces.sessions import Session, Sessions
from traces.store import Store
from tui.terminal import clean


def check_stopped(store: Store, run_id: str) -> None:
    """Raise `GoingOn` if another process is working on the run, or `UnusableRunId`."""
    if checkpoints.held(store, run_id):
        raise checkpoints.GoingOn.of(run_id)


def delete_run(store: Store, run_id: str) -> None:
    """Delete a run and everything stored for it. Raises `GoingOn`, `UnusableRunId`."""
    check_stopped(store, run_id)
    Runs(store).delete(run_id)
    checkpoints.discard(store, run_id)


def check_idle(store: Store, session: Session) -> list[Run]:
    """The runs of a session. Raises `GoingOn` if another process is working on one of them."""
    runs = Runs(store).of_session(session.id)
    for run in runs:
        if run.finished is None and checkpoints.held(store, run.id):
            raise checkpoints.GoingOn(
                f"Run {run.id} of session {session_title(session)} is still going on.",
                "Wait for it, or stop it with Ctrl-C where it runs.",
            )
    return runs


def delete_session(store: Store, session: Session) -> int:
    """Delete a session with its runs and their checkpoints; return the number of runs. Raises `GoingOn`."""
    runs = check_idle(store, session)
    count = Sessions(store).delete(session.id)
    for run in runs:
        checkpoints.discard(store, run.id)
    return count


def forget(store: Store, run: Run) -> None:
    """Discard a run's checkpoints; an unfinished run is ended as cancelled. Raises `GoingOn`."""
    check_stopped(store, run.id)
    if run.finished is None:
        runs = Runs(store)
        stored_events = runs.events(run.id)
        calls = [entry.payload for entry in stored_events if entry.kind == ev.ModelCalled.kind]
        evaluated, reused, generated = (
            sum(call[name] for call in calls) for name in ("evaluated", "reused", "generated")
        )
        finished = ev.RunFinished(
            "cancelled", "given up", stored_events[-1].elapsed, len(calls), evaluated, reused, generated
        )
        runs.record(
            run.id,
            [StoredEvent(stored_events[-1].seq + 1, finished.seconds, finished.kind, finished.payload())],
            end=RunEnd(
                finished.status,
                finished.stopped_because,
                run.answer,
                len(calls),
                evaluated,
                reused,
                generated,
                run.standalone,
            ),
        )
    checkpoints.discard(store, run.id)


def session_title(session: Session) -> str:
    """A session's id, with its name if it has one."""
    return f"{session.id} “{clean(session.name)}”" if session.name else session.id
