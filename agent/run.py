"""The public entry point: `run` answers a question, `resume` continues an interrupted run.

Both yield typed events while the graph works in its own thread.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Literal

from agent import checkpoints
from agent import events as ev
from agent.cognition import Length
from agent.decisions.learned import Policy
from agent.deps import Approve
from agent.execution import Execution
from agent.request import EmptyLibrary, Request, UnusableQuestion, checked_question
from agent.state import Turn, new_state
from agent.steering import Steering
from models.protocols import Chat, Completer, Embedder, Reader
from traces.errors import DeepthinkError
from traces.runs import NewRun, Run, Runs, new_run_id
from traces.sessions import Sessions
from traces.store import Store

if TYPE_CHECKING:
    from agent.web.gather import Web

__all__ = [
    "Approve",
    "EmptyLibrary",
    "Length",
    "NotResumable",
    "Request",
    "Resumable",
    "UnusableQuestion",
    "resumable",
    "resume",
    "run",
    "stopped",
]


class NotResumable(DeepthinkError):
    """Raised when a run to resume has ended, or has no checkpoint."""

    title = "This run cannot be resumed"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Resumable:
    """A run that can be resumed or is still running, and why it did not end."""

    run: Run
    why: Literal["waiting", "interrupted", "failed", "cancelled", "going on"]


def run(
    request: Request,
    *,
    chat: Chat,
    embedder: Embedder,
    reader: Reader,
    store: Store,
    steering: Steering | None = None,
    web: Web | None = None,
    learned: Policy | None = None,
    planner: Completer | None = None,
) -> Generator[ev.Event, None, None]:
    """Answer a question. The run is stored as it proceeds, and can be resumed if it is interrupted.

    The graph runs in its own thread, so that events, and a heartbeat at least every second, arrive while a
    model is busy. Closing the iterator early cancels the run.

    Args:
        request: The question and how to answer it.
        chat: The language model.
        embedder: The model that made the library's vectors.
        reader: Ranks and grades the passages, proposes answers, and checks the answer.
        store: Library and traces.
        steering: The user's control of the run.
        web: Searched when the library does not answer; None if that is not allowed.
        learned: The learned policy, which decides if the profile prefers one or the request names it;
            loaded at its first decision. The rules decide if it is None or fails.
        planner: The model that was taught to plan; None if ``chat`` plans.

    Yields:
        In any case, `RunStarted` first and `RunFinished` last.

    Raises:
        UnusableQuestion, EmptyLibrary, UnknownCollection, UnknownProfile, UnknownSession, NameTaken: Before
            the first event.
        DeepthinkError: After `RunFinished`, if the run failed or was cancelled.
    """
    question = checked_question(request.question, chat)
    sessions = Sessions(store)
    session_id = sessions.find(request.session).id if request.session else ""
    execution = Execution(
        request, chat, embedder, reader, store, steering or Steering(), web, learned, planner
    )
    session_id = session_id or sessions.begin(request.session_name)
    request = replace(request, session=session_id, web=web is not None)
    turns = [Turn(question=q, answer=a) for q, a in sessions.exchanges(session_id)]

    run_id = new_run_id()

    def begin() -> None:
        new_run = NewRun(
            question=question,
            profile=request.profile,
            chat_model=chat.name,
            embedder=embedder.name,
            reranker=reader.name,
            decider=execution.decides,
            collections=tuple(execution.deps.tools),
            session=session_id,
            request=asdict(request),
        )
        started = ev.RunStarted(
            run_id=run_id,
            question=question,
            profile=new_run.profile,
            chat_model=new_run.chat_model,
            embedder=new_run.embedder,
            reranker=new_run.reranker,
            decider=new_run.decider,
            collections=list(new_run.collections),
            session=session_id,
        )
        execution.recorder.begin(started, new_run)

    yield from execution.events(run_id, begin, new_state(question, turns))


def resume(
    run_id: str,
    *,
    chat: Chat,
    embedder: Embedder,
    reader: Reader,
    store: Store,
    steering: Steering | None = None,
    web: Web | None = None,
    learned: Policy | None = None,
    planner: Completer | None = None,
    interactive: bool = False,
    approve: Approve | None = None,
) -> Generator[ev.Event, None, None]:
    """Continue a run from its last checkpoint; no answered model call is repeated.

    Args:
        run_id: The run's id, the beginning of it, or ``last``.
        chat, embedder, reader, store, steering, web, planner: As in `run`; the model may differ from the
            one that the run began with.
        learned: As in `run`; if it is not the policy that the run began with, the user is notified.
        interactive: Whether a user is there to answer.
        approve: As in `Request`; None keeps the run's own setting.

    Yields:
        `Resumed` first and `RunFinished` last.

    Raises:
        UnknownRun, NotResumable, GoingOn: Before the first event.
        DeepthinkError: As `run`.
    """
    stored_run = stopped(store, run_id)
    request = replace(Request.from_stored(stored_run.request), interactive=interactive)
    request = replace(request, approve=approve or request.approve)
    execution = Execution(
        request,
        chat,
        embedder,
        reader,
        store,
        steering or Steering(),
        web,
        learned,
        planner,
        stored_run.decider,
    )
    turns = [Turn(question=q, answer=a) for q, a in Sessions(store).exchanges(request.session)]

    def begin() -> None:
        _find_unended(store, stored_run.id)  # it may have ended in the meantime
        execution.recorder.resume(stored_run.id, execution.deps.session.ledger)

    resumed = ev.Resumed(stored_run.id, stored_run.question, "", chat.name)
    yield from execution.events(stored_run.id, begin, new_state(stored_run.question, turns), resumed)


def stopped(store: Store, run_id: str) -> Run:
    """The run, if it can be resumed. Raises `UnknownRun`, `NotResumable`, `GoingOn`."""
    stored_run = _find_unended(store, run_id)
    if not checkpoints.exists(store, stored_run.id):
        raise NotResumable(
            f"Run {stored_run.id} has no checkpoint to resume from.", "Ask its question again."
        )
    if checkpoints.held(store, stored_run.id):
        raise checkpoints.GoingOn.of(stored_run.id)
    return stored_run


def _find_unended(store: Store, run_id: str) -> Run:
    """The run, if it did not end with an answer. Raises `UnknownRun`, `NotResumable`."""
    stored_run = Runs(store).find(run_id)
    if stored_run.finished is not None and stored_run.status not in {"failed", "cancelled"}:
        raise NotResumable(
            f"Run {stored_run.id} has ended.", f"`deepthink runs show {stored_run.id}` shows it."
        )
    return stored_run


def resumable(store: Store) -> list[Resumable]:
    """The unfinished runs that have a checkpoint, newest first."""
    runs: list[Resumable] = []
    unfinished = Runs(store).unfinished()
    # A run that was killed right after its end was stored has left its file behind.
    checkpoints.sweep(store, {stored_run.id for stored_run in unfinished})
    for stored_run in unfinished:
        if not checkpoints.exists(store, stored_run.id):
            continue
        if checkpoints.held(store, stored_run.id):
            runs.append(Resumable(stored_run, "going on"))
        elif stored_run.status in {"failed", "cancelled", "waiting"}:
            runs.append(Resumable(stored_run, stored_run.status))  # type: ignore[arg-type] # checked above
        else:
            runs.append(Resumable(stored_run, "interrupted"))
    return runs
