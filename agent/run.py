"""The public entry point: `run` answers a `Request`, `resume` continues an interrupted run.

Both yield typed events while the graph works in its own thread.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NotRequired, TypeAlias, TypedDict, Unpack, cast

from pydantic import TypeAdapter

from agent import checkpoints
from agent import events as ev
from agent.budget import Budget
from agent.checkpoints import Recorder, Stream
from agent.decisions.decider import Decider
from agent.decisions.sources import LEARNED, LearnedOrRules, Policy, source
from agent.deps import Approve, Deps, Length
from agent.documents.sample_library import without_samples
from agent.graph import build_graph, recursion_limit
from agent.profiles import decides, profile
from agent.retrieval.filters import as_written
from agent.retrieval.recall import Recall
from agent.session import MemoReader, Session
from agent.state import RunState, Turn, added_and_open, new_state
from agent.steering import Steering
from models.protocols import Chat, Completer, Embedder, GenerationCancelled, Reader
from models.token_estimate import at_most
from traces.errors import DeepthinkError
from traces.library import Library
from traces.plain_text import plain, squeezed
from traces.records import NO_FILTERS, WEB_COLLECTION, Collection, Filters, Scope
from traces.runs import NewRun, Run, Runs, Sessions, new_run_id
from traces.store import Store

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from agent.web.gather import Web

Why: TypeAlias = Literal["waiting", "interrupted", "failed", "cancelled", "going on"]
_HEARTBEAT_SECONDS = 0.5


class UnusableQuestion(DeepthinkError, title="Not a question", kind="usage"):
    """Raised when the question is empty or too long for the model."""


class EmptyLibrary(DeepthinkError, title="Nothing to search", kind="usage"):
    """Raised when there is nothing to search."""


@dataclass(frozen=True, slots=True)
class Request:
    """A question, and how to answer it."""

    question: str  # in the user's words
    collections: tuple[str, ...] = ()  # to search; all if empty
    profile: str = "lean"  # or ``seed``
    decider: str = ""  # `agent.decisions.sources.SOURCES`; the profile's own if empty
    budget: Budget = field(default_factory=Budget)
    route: str = ""  # ``single`` or ``deep``; the planner decides if empty
    length: Length = "normal"  # of the answer
    approve: Approve = "ask"
    """What to do with an answer that is not grounded: ``ask`` asks the user, and leaves the run waiting if
    there is none; ``always`` accepts it, with its flags; ``never`` rewrites it once from the evidence and
    withholds it if that does not help."""
    interactive: bool = False  # whether a user is there to answer; if not, none is asked back
    session: str = ""  # id of the session that the question may refer to; a new one if empty
    session_name: str = ""  # of a new session
    shadow: str = ""  # a second decider, whose decisions are only recorded; none if empty
    web: bool | None = None
    """Whether the web may be searched; `run` sets it, and a resumed run does the same. None in old runs."""
    filters: Filters = NO_FILTERS  # that every searched document must match; then the web is not searched

    @classmethod
    def from_stored(cls, stored: Any) -> Request:
        """The request of a stored run; unknown fields are ignored."""
        return TypeAdapter(cls).validate_python(dict(stored))


def checked_question(question: str, chat: Chat) -> str:
    """The question in one line. Raises `UnusableQuestion` if it has no words, or too many."""
    text = squeezed(plain(question))
    if not any(c.isalnum() for c in text):
        raise UnusableQuestion(
            "The question has no words." if text else "The question is empty.",
            'Ask something, for example: deepthink ask "Who …?"',
        )
    max_tokens = chat.context_tokens // 8
    # A token is at least one byte, so a huge text is refused without counting.
    if len(text) > 40 * max_tokens or (at_most(text) > max_tokens and chat.count_tokens(text) > max_tokens):
        raise UnusableQuestion(
            f"The question is too long: it has {len(text):,} characters, and there is room for about "
            f"{3 * max_tokens:,} characters in the model's context of {chat.context_tokens:,} tokens.",
            "Put the long text into a file, `deepthink ingest` it, and ask about it.",
        )
    return text


class NothingFits(DeepthinkError, title="No such documents", kind="usage"):
    """Raised when no document matches the filters of a question."""


def searchable(
    library: Library, names: tuple[str, ...], *, web: bool, filters: Filters = NO_FILTERS
) -> tuple[Collection, ...]:
    """The collections that a run searches: the named ones, or all; samples only if there are no others.

    Raises `UnknownCollection` if the library does not have a named collection, `EmptyLibrary` if they are
    empty, and `NothingFits` if no document in them matches ``filters``.
    """
    collections = tuple(
        c
        for c in library.require_collections(names)
        if c.chunks and (names or web or c.name != WEB_COLLECTION)
    )
    if not names:
        collections = without_samples(collections)
    if not collections:
        message = f"Nothing is in {', '.join(names)} yet." if names else "The library is empty."
        raise EmptyLibrary(message, "Add documents: `deepthink ingest PATH`, or try `deepthink demo`.")
    scope = Scope(tuple(collection.name for collection in collections), filters=filters)
    if filters != NO_FILTERS and not len(library.chunk_ids(scope)):
        raise NothingFits(
            "No document in the library has that sender, date, type or folder.",
            "`deepthink library list` shows them for every document.",
        )
    return collections


class NotResumable(DeepthinkError, title="This run cannot be resumed", kind="usage"):
    """Raised when a run to resume has ended, or has no checkpoint."""


@dataclass(frozen=True, slots=True)
class Resumable:
    """A run that can be resumed or is still running, and why it did not end."""

    run: Run
    why: Why


class Parts(TypedDict):
    """What a run needs besides its request."""

    chat: Chat  # for a resumed run it may be another than the run began with
    embedder: Embedder  # that made the library's vectors
    reader: Reader  # ranks and grades the passages, proposes answers, and checks the answer
    store: Store  # library and traces
    steering: NotRequired[Steering | None]  # the user's control of the run
    web: NotRequired[Web | None]  # searched when the library does not answer, if that is allowed
    learned: NotRequired[Policy | None]
    """The learned policy, which decides if the profile prefers one or the request names it; loaded at its
    first decision. The rules decide if it is None or fails."""
    planner: NotRequired[Completer | None]  # was taught to plan; without it ``chat`` plans


def run(request: Request, **parts: Unpack[Parts]) -> Generator[ev.Event, None, None]:
    """Answer a question. The run is stored as it proceeds, and can be resumed if it is interrupted.

    The graph runs in its own thread, so that events, and a heartbeat at least every second, arrive while a
    model is busy. Closing the iterator early cancels the run.

    Yields:
        In any case, `RunStarted` first and `RunFinished` last.

    Raises:
        UnusableQuestion, EmptyLibrary, UnknownCollection, UnknownProfile, UnknownSource, UnknownSession,
            NameTaken: Before the first event.
        DeepthinkError: After `RunFinished`, if the run failed or was cancelled.
    """
    question = checked_question(request.question, parts["chat"])
    sessions = Sessions(parts["store"])
    session_id = sessions.find(request.session).id if request.session else ""
    execution = _Execution(request, parts)
    session_id = session_id or sessions.begin(request.session_name)
    request = replace(request, session=session_id, web=parts.get("web") is not None)
    turns = [Turn(question=q, answer=a) for q, a in sessions.exchanges(session_id)]
    run_id = new_run_id()

    def begin() -> None:
        collections = execution.deps.tools
        facts = {
            "question": question,
            "profile": request.profile,
            "chat_model": parts["chat"].name,
            "embedder": parts["embedder"].name,
            "reranker": parts["reader"].name,
            "decider": execution.decides,
            "session": session_id,
        }
        started = ev.RunStarted(
            run_id=run_id, collections=collections, filters=as_written(request.filters), **facts
        )
        new_run = NewRun(collections=tuple(collections), request=asdict(request), **facts)
        execution.recorder.begin(started, new_run)

    yield from execution.events(run_id, begin, new_state(question, turns))


def resume(
    run_id: str, *, interactive: bool = False, approve: Approve | None = None, **parts: Unpack[Parts]
) -> Generator[ev.Event, None, None]:
    """Continue a run from its last checkpoint; no answered model call is repeated.

    If the learned policy is not the one that the run began with, the user is notified.

    Args:
        run_id: The run's id, the beginning of it, or ``last``.
        interactive: Whether a user is there to answer.
        approve: As in `Request`; None keeps the run's own setting.

    Yields:
        `Resumed` first and `RunFinished` last.

    Raises:
        UnknownRun, NotResumable, GoingOn: Before the first event.
        DeepthinkError: As `run`.
    """
    store = parts["store"]
    stored_run = stopped(store, run_id)
    request = replace(Request.from_stored(stored_run.request), interactive=interactive)
    request = replace(request, approve=approve or request.approve)
    execution = _Execution(request, parts, began_with=stored_run.decider)
    turns = [Turn(question=q, answer=a) for q, a in Sessions(store).exchanges(request.session)]

    def begin() -> None:
        _find_unended(store, stored_run.id)  # it may have ended in the meantime
        execution.recorder.resume(stored_run.id, execution.deps.session)

    resumed = ev.Resumed(stored_run.id, stored_run.question, "", parts["chat"].name)
    yield from execution.events(stored_run.id, begin, new_state(stored_run.question, turns), resumed)


def stopped(store: Store, run_id: str) -> Run:
    """The run, if it can be resumed. Raises `UnknownRun`, `NotResumable`, `GoingOn`."""
    stored_run = _find_unended(store, run_id)
    if not checkpoints.exists(store, stored_run.id):
        raise NotResumable(
            f"Run {stored_run.id} has no checkpoint to resume from.", "Ask its question again."
        )
    if checkpoints.in_use(store, stored_run.id):
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
        if checkpoints.exists(store, stored_run.id):
            why = "interrupted" if stored_run.status == "running" else stored_run.status
            why = "going on" if checkpoints.in_use(store, stored_run.id) else why
            runs.append(Resumable(stored_run, cast(Why, why)))
    return runs


class _Execution:
    """One run: its parts, its thread, and its questions to the user.

    ``began_with`` is the decider that a resumed run began with. Raises `UnknownCollection`, `EmptyLibrary`,
    `UnknownProfile` or `UnknownSource` if the request cannot be executed.
    """

    def __init__(self, request: Request, parts: Parts, began_with: str = "") -> None:
        self._store = store = parts["store"]
        self._steering = parts.get("steering") or Steering()
        self._stream: Stream = queue.SimpleQueue()
        self.recorder = Recorder(Runs(store), self._stream)
        library, learned = Library(store), parts.get("learned")
        web = parts.get("web") if request.filters == NO_FILTERS else None
        # Shared with the verifier: a rewritten answer repeats sentences.
        reader = MemoReader(parts["reader"])
        session = Session(parts["chat"], request.budget, self.recorder.emit, self._steering)
        cognition = profile(request.profile, reader, parts.get("planner"))
        began_learned = began_with.startswith(LEARNED)  # then a missing policy is reported
        name = request.decider or decides(request.profile, learned=began_learned or learned is not None)
        # The name of the decider.
        self.decides = f"{LEARNED}:{learned.name}" if name == LEARNED and learned else name
        decider: Decider
        if name == LEARNED:
            decider = LearnedOrRules(learned, session.warn_once, _handover(began_with, self.decides))
        else:
            decider = source(name, session, explain=not request.decider)
        shadow = source(request.shadow, session, learned) if request.shadow else None
        self.deps = Deps(
            session=session,
            cognition=cognition,
            decider=decider,
            library=library,
            recall=Recall(library, parts["embedder"], filters=request.filters),
            reader=reader,
            collections=searchable(
                library, request.collections, web=web is not None, filters=request.filters
            ),
            web=web,
            route=request.route,
            length=request.length,
            approve=request.approve,
            interactive=request.interactive,
            shadow=shadow if shadow and shadow.name != name else None,
        )

    def events(
        self, run_id: str, begin: Callable[[], None], initial: RunState, resumed: ev.Resumed | None = None
    ) -> Generator[ev.Event, None, None]:
        """Start the thread and yield its events, with a heartbeat at least every second.

        ``begin`` stores that the run begins or is resumed. It is called in the thread, when the run is
        locked and has a checkpoint file, so that a killed run can always be resumed once it is stored.
        ``initial`` is the state if there is no checkpoint; the node of ``resumed`` is filled in.

        Raises:
            GoingOn: Before the first event, if another process works on the run to resume.
            DeepthinkError: After the last event, if the run failed.
        """
        worker = threading.Thread(
            target=self._work, args=(run_id, begin, initial, resumed), name="deepthink-run", daemon=True
        )
        worker.start()
        session = self.deps.session
        try:
            yield from _watch(self._stream, self.recorder, session)
        finally:
            session.stop.set()  # the run's own event, not the caller's
            worker.join()
        if self.recorder.failure is not None:
            raise self.recorder.failure

    def _work(
        self, run_id: str, begin: Callable[[], None], initial: RunState, resumed: ev.Resumed | None
    ) -> None:
        """Run the graph; in any case, close a run that has begun and end the stream.

        The run stays locked until its end is stored, so that it cannot end another process's work.
        """
        recorder, session = self.recorder, self.deps.session
        final: RunState | None = None
        has_begun = False
        try:
            # Locked first: if another process was faster to resume the run, nothing is changed.
            with checkpoints.open_checkpoints(self._store, run_id, recorder.checkpointed) as opened:
                begin()
                has_begun = True
                saver, journal = opened
                session.chat = checkpoints.JournaledChat(session.chat, journal)
                try:
                    final = self._drive(run_id, saver, initial, resumed)
                    end = ("waiting", "a person has to answer", "", "")
                    if final is not None:
                        status, reason = final["status"], final["stopped_because"]
                        end = (status, reason, final["answer"], final["question"])
                except GenerationCancelled as cancelled:
                    recorder.failure = cancelled
                    status = "interrupted" if self._steering.left else "cancelled"
                    end = (status, status, "", "")
                except BaseException as failure:  # noqa: BLE001 - raised in the caller's thread
                    recorder.failure = checkpoints.translated(failure, self._store, run_id)
                    end = ("failed", f"{type(failure).__name__}: {failure}", "", "")
                recorder.end(session, *end)
            if final is not None:
                checkpoints.discard(self._store, run_id)
        except BaseException as failure:  # noqa: BLE001 - carried to the caller's thread, raised there
            recorder.failure = recorder.failure or checkpoints.translated(failure, self._store, run_id)
            if not (has_begun or resumed):
                checkpoints.discard(self._store, run_id)
        finally:
            if isinstance(recorder.failure, checkpoints.CheckpointDamaged):
                checkpoints.put_aside(self._store, run_id)
            self._stream.put(None)

    def _drive(
        self, run_id: str, saver: BaseCheckpointSaver[Any], initial: RunState, resumed: ev.Resumed | None
    ) -> RunState | None:
        """The final state; None if the user has to answer first but cannot be asked."""
        from langgraph.types import Command

        session = self.deps.session
        graph = build_graph(self.deps, self.recorder, saver)
        config: Any = {
            "configurable": {"thread_id": run_id},
            "recursion_limit": recursion_limit(session.ledger.budget),
        }
        command: Any = initial
        pending: Any = ()
        if resumed is not None:
            with checkpoints.read_as_written(run_id):
                snapshot = graph.get_state(config)
            if snapshot.values and snapshot.metadata:
                # Leave out searches that ended before the others of their round, because it runs again.
                log = [e for e in snapshot.values["log"] if e["superstep"] <= snapshot.metadata["step"]]
                self.recorder.recovered(log, session)
                command, pending = None, snapshot.interrupts
            session.stop.extend(-self.recorder.elapsed)
            node = snapshot.next[0] if snapshot.next else "route"
            self.recorder.resumed(replace(resumed, node=node))
        while True:
            if not pending:
                final = graph.invoke(command, config, durability="sync")
                pending = final.get("__interrupt__", ())
                if not pending:
                    state = cast(RunState, final)
                    if untaken := [*added_and_open(state), *self._steering.take_added()]:
                        session.emit(ev.Warned(f"Added too late to be searched: {'; '.join(untaken)}"))
                    return state
            question = pending[0].value
            pending = ()
            if question["about"] == "approve" and self.deps.approve != "ask":
                command = None  # the node runs again and replies by rule
                continue
            reply = self._reply(question)
            if reply is None:
                return None
            command = Command(resume=reply)

    def _reply(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The reply and the seconds spent waiting for it; None if the user cannot be asked."""
        session = self.deps.session
        clarifying = question["about"] == "clarify"
        if not self.deps.interactive:
            return {"reply": "", "waited": 0.0} if clarifying else None
        began = time.monotonic()
        session.emit(
            ev.Asked(
                question["about"], question["question"], question["options"], question.get("claims", [])
            )
        )
        reply = self._steering.wait_for_reply(
            lambda: session.stop.cancelled or (clarifying and self._steering.finishing)
        )
        waited = time.monotonic() - began
        session.give_back(waited)
        if reply is None and session.stop.cancelled:
            raise GenerationCancelled("The run was cancelled.")
        return {"reply": reply or "", "waited": round(waited, 3)}


def _handover(previous: str, current: str) -> str:
    """A notice for a resumed run if another policy than the one it began with decides."""
    if not previous.startswith(LEARNED) or current in {previous, LEARNED}:  # a missing policy is reported
        return ""
    return f"The run began with decisions by {previous}; from here on they are by {current}."


def _watch(stream: Stream, recorder: Recorder, session: Session) -> Iterator[ev.Event]:
    node, step, ended = "start", 0, False
    first = stream.get()  # no heartbeat before the run's first event
    if first is None:
        return
    yield first
    while True:
        try:
            event = stream.get(timeout=None if ended else _HEARTBEAT_SECONDS)
        except queue.Empty:
            yield ev.Heartbeat(node, step, recorder.worked(session), session.ledger.usage.generated)
            continue
        if event is None:
            return
        if isinstance(event, ev.NodeStarted):
            node, step = event.node, event.step
        ended = isinstance(event, ev.RunFinished)  # no heartbeat after the run's last event
        yield event
