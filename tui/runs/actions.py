"""Deleting a run, a session, or the checkpoints of a run.

Checkpoints lie beside the store and go with their run. What another process works on stays.
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
    """Delete a run with all that is stored of it. Raises `GoingOn`, `UnusableRunId`."""
    check_stopped(store, run_id)
    Runs(store).delete(run_id)
    checkpoints.discard(store, run_id)


def check_idle(store: Store, session: Session) -> list[Run]:
    """The runs of a session, none of which is running. Raises `GoingOn` if another process works on one."""
    runs = Runs(store).of_session(session.id)
    for run in runs:
        if run.finished is None and checkpoints.held(store, run.id):
            raise checkpoints.GoingOn(
                f"Run {run.id} of session {called(session)} is still going on.",
                "Wait for it, or stop it with Ctrl-C where it runs.",
            )
    return runs


def delete_session(store: Store, session: Session) -> int:
    """Delete a session with its runs and their checkpoints; how many runs. Raises `GoingOn`."""
    runs = check_idle(store, session)
    gone = Sessions(store).delete(session.id)
    for run in runs:
        checkpoints.discard(store, run.id)
    return gone


def forget(store: Store, run: Run) -> None:
    """Discard a run's checkpoints; a run without an end gets one, as cancelled. Raises `GoingOn`."""
    check_stopped(store, run.id)
    if run.finished is None:
        runs = Runs(store)
        stored = runs.events(run.id)
        calls = [entry.payload for entry in stored if entry.kind == ev.ModelCalled.kind]
        read, again, generated = (sum(c[n] for c in calls) for n in ("evaluated", "reused", "generated"))
        finished = ev.RunFinished(
            "cancelled", "given up", stored[-1].elapsed, len(calls), read, again, generated
        )
        runs.record(
            run.id,
            [StoredEvent(stored[-1].seq + 1, finished.seconds, finished.kind, finished.payload())],
            end=RunEnd(
                finished.status,
                finished.stopped_because,
                run.answer,
                len(calls),
                read,
                again,
                generated,
                run.standalone,
            ),
        )
    checkpoints.discard(store, run.id)


def called(session: Session) -> str:
    """A session's id, with its name where it has one."""
    return f"{session.id} “{clean(session.name)}”" if session.name else session.id
