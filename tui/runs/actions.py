"""Rating a run, correcting its plan, deleting a run or a session; and what is said of each.

Checkpoints are beside the store and are deleted with their run. A run that is in progress is not deleted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from agent import checkpoints, plans
from traces.errors import DeepthinkError
from traces.runs import (
    CorrectedPlans,
    Rating,
    Ratings,
    Run,
    Runs,
    RunSummary,
    Session,
    Sessions,
    UnknownRun,
)
from traces.store import Store
from tui.terminal import clean, counted


def check_stopped(store: Store, run_id: str) -> None:
    """Raise `GoingOn` if another process is working on the run, or `UnusableRunId`."""
    if checkpoints.in_use(store, run_id):
        raise checkpoints.GoingOn.of(run_id)


RunState = Literal["", "resumable", "going on"]


def run_state(store: Store, run: Run) -> RunState:
    """Whether a run can be resumed, or a process is working on it."""
    has_ended = run.finished is not None and run.status not in {"failed", "cancelled"}
    if has_ended or not checkpoints.exists(store, run.id):
        return ""
    return "going on" if checkpoints.in_use(store, run.id) else "resumable"


def as_of_now(store: Store, runs: Sequence[RunSummary]) -> list[RunSummary]:
    """The runs, with the status ``going on`` where a process is working on one."""
    return [replace(run, status="going on") if run_state(store, run) == "going on" else run for run in runs]


def find(store: Store, reference: str) -> Run:
    """The run with this id or prefix; ``last`` is the newest that is not going on.

    Raises `UnknownRun`.
    """
    runs = Runs(store)
    recent = runs.recent() if reference == "last" else []
    return newest_stopped(store, recent) if recent else runs.find(reference)


def newest_stopped(store: Store, runs: Iterable[Run]) -> Run:
    """The first of the runs that is not going on. Raises `UnknownRun`."""
    for run in runs:
        if run_state(store, run) != "going on":
            return run
    raise UnknownRun("No run has ended yet: one is still going on.", "`deepthink runs list` shows its id.")


def delete_run(store: Store, run_id: str) -> str:
    """Delete a run and everything stored for it, and say so. Raises `GoingOn`, `UnusableRunId`."""
    check_stopped(store, run_id)
    Runs(store).delete(run_id)
    checkpoints.discard(store, run_id)
    return f"Deleted run {run_id}."


class NoAnswer(DeepthinkError, title="No answer", kind="usage"):
    """Raised when a run without an answer is rated."""


def rate(store: Store, run_id: str, rating: Rating | None, note: str = "") -> Rating | None:
    """Rate a run, and return the rating; None removes it. Raises `UnknownRun`, `NoAnswer`."""
    if rating is None:
        Ratings(store).withdraw(run_id)
    else:
        run = Runs(store).find(run_id)
        if not run.answer and "imported_from" not in run.request:
            raise NoAnswer(
                f"Run {run_id} has no answer to rate.", f"`deepthink runs show {run_id}` shows what it has."
            )
        Ratings(store).rate(run_id, rating, note)
    return rating


def rating_text(run_id: str, rating: Rating | None) -> str:
    return f"Run {run_id} is rated {rating}." if rating else f"Run {run_id} has no rating now."


def export_text(run_id: str, path: Path) -> str:
    return f"Wrote run {run_id} to {path}."


def correct_plan(store: Store, run: Run, lookups: Sequence[str]) -> str:
    """Store what a run should have looked up, and say so; without look-ups, remove its correction."""
    if not lookups:
        CorrectedPlans(store).withdraw(run.id)
        return f"The plan of run {run.id} is not corrected now."
    count = plans.correct(store, run, lookups)
    goal = (
        f"the planner can learn from {plans.FEWEST}"
        if count < plans.FEWEST
        else "`deepthink train-planner` learns from them"
    )
    return f"The plan of run {run.id} is corrected; {counted(count, 'plan')} so far, {goal}."


def check_idle(store: Store, session: Session) -> list[Run]:
    """The runs of a session. Raises `GoingOn` if another process is working on one of them."""
    runs = Runs(store).of_session(session.id)
    for run in runs:
        if run.finished is None and checkpoints.in_use(store, run.id):
            raise checkpoints.GoingOn(
                f"Run {run.id} of session {session_title(session)} is still going on.",
                "Wait for it, or stop it with Ctrl-C where it runs.",
            )
    return runs


def delete_session(store: Store, session: Session) -> str:
    """Delete a session with its runs and their checkpoints, and say so. Raises `GoingOn`."""
    runs = check_idle(store, session)
    count = Sessions(store).delete(session.id)
    for run in runs:
        checkpoints.discard(store, run.id)
    return f"Deleted session {session_title(session)} with {counted(count, 'run')}."


def name_session(store: Store, session_id: str, name: str) -> str:
    """Call a session by a name from now on, and say so."""
    Sessions(store).rename(session_id, name)
    return f"Session {session_id} is called “{name}” now."


def session_title(session: Session) -> str:
    return f"{session.id} “{clean(session.name)}”" if session.name else session.id
