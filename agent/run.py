"""The one public door: `run` answers a question and yields what happens as typed events."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field

from agent import events as ev
from agent.budget import Budget
from agent.deps import Deps
from agent.graph import build_graph, recursion_limit
from agent.profiles import decider, profile
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.state import RunState, new_state
from models.protocols import Chat, Embedder, GenerationCancelled, Reranker
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import Collection
from traces.runs import DecisionRow, NewRun, RunEnd, Runs, StoredEvent
from traces.store import Store, StoreBusy

_log = logging.getLogger("deepthink.run")
_HEARTBEAT_SECONDS = 0.5


class UnusableQuestion(DeepthinkError):
    """Raised when there is no question, or one too long for the model to read."""

    title = "Not a question"
    kind = "usage"


class EmptyLibrary(DeepthinkError):
    """Raised when there is nothing to search."""

    title = "The library is empty"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be answered, and how.

    Attributes:
        question: In the person's words.
        collections: Where to look; all collections if empty.
        profile: ``lean`` or ``seed``.
        decider: ``rules`` or ``llm``; the profile's own if empty.
        budget: What the run may spend.
    """

    question: str
    collections: tuple[str, ...] = ()
    profile: str = "lean"
    decider: str = ""
    budget: Budget = field(default_factory=Budget)


def run(
    request: Request,
    *,
    chat: Chat,
    embedder: Embedder,
    reranker: Reranker | None,
    store: Store,
    cancel: threading.Event | None = None,
) -> Generator[ev.Event, None, None]:
    """Answer a question; the run is stored as it goes.

    The graph runs in a thread of its own, so that events, and a heartbeat at least every second, flow
    while a model is busy. Leaving the iterator early cancels the run.

    Args:
        request: The question and how to answer it.
        chat: The language model.
        embedder: The model that made the library's vectors.
        reranker: None where there are no weights; the fused order stands then.
        store: Library and traces.
        cancel: Setting it stops the run, a model call within a second.

    Yields:
        `RunStarted` first and `RunFinished` last, whatever happens in between.

    Raises:
        UnusableQuestion, EmptyLibrary, UnknownCollection, UnknownProfile: before the first event.
        DeepthinkError: after `RunFinished`, whatever made the run fail or cancelled it.
    """
    library = Library(store)
    question = _checked(request.question, chat)
    collections = _searchable(library, request.collections)
    cognition = profile(request.profile, embedder)
    make_decider = decider(request.decider) if request.decider else cognition.decider
    stream: queue.SimpleQueue[ev.Event | None] = queue.SimpleQueue()
    recorder = _Recorder(Runs(store), stream)
    session = Session(chat, request.budget, recorder.emit, cancel)
    source = make_decider(session)
    deps = Deps(
        session=session,
        cognition=cognition,
        decider=source,
        library=library,
        recall=Recall(library, embedder),
        reranker=reranker,
        collections=collections,
    )
    started = ev.RunStarted(
        run_id="",
        question=question,
        profile=request.profile,
        chat_model=chat.name,
        embedder=embedder.name,
        reranker=reranker.name if reranker else "",
        decider=source.name,
        collections=deps.tools,
    )
    worker = threading.Thread(
        target=_work, args=(deps, started, recorder, stream), name="deepthink-run", daemon=True
    )
    worker.start()
    try:
        yield from _watch(stream, session)
    finally:
        session.stop.set()  # the run's own event: the caller may use theirs again
        worker.join()
    if recorder.failure is not None:
        raise recorder.failure


def _checked(question: str, chat: Chat) -> str:
    text = " ".join(question.split())
    if not any(c.isalnum() for c in text):
        raise UnusableQuestion(
            "The question is empty.", 'Ask something, for example: deepthink ask "Who …?"'
        )
    most = chat.context_tokens // 8
    # A token is at least one byte: an enormous text need not be counted to be refused.
    if len(text) > 40 * most or chat.count_tokens(text) > most:
        raise UnusableQuestion(
            f"The question is too long: {len(text):,} characters; the model's context of "
            f"{chat.context_tokens:,} tokens leaves room for about {3 * most:,}.",
            "Put the long text into a file, `deepthink ingest` it, and ask about it.",
        )
    return text


def _searchable(library: Library, names: tuple[str, ...]) -> tuple[Collection, ...]:
    collections = tuple(c for c in library.require_collections(names) if c.chunks)
    if not collections:
        where = f"Nothing is in {', '.join(names)}" if names else "No document has been read"
        raise EmptyLibrary(f"{where} yet.", "Add some: `deepthink ingest PATH`, or try `deepthink demo`.")
    return collections


def _watch(stream: queue.SimpleQueue[ev.Event | None], session: Session) -> Iterator[ev.Event]:
    began = time.monotonic()
    node, step = "start", 0
    while True:
        try:
            event = stream.get(timeout=_HEARTBEAT_SECONDS)
        except queue.Empty:
            yield ev.Heartbeat(
                node, step, round(time.monotonic() - began, 2), session.ledger.usage.generated
            )
            continue
        if event is None:
            return
        if isinstance(event, ev.NodeStarted):
            node, step = event.node, event.step
        yield event


def _work(
    deps: Deps,
    started: ev.RunStarted,
    recorder: _Recorder,
    stream: queue.SimpleQueue[ev.Event | None],
) -> None:
    """Runs the graph; whatever happens, the run is closed and the stream ended."""
    try:
        recorder.begin(started)
        try:
            graph = build_graph(deps)
            final = graph.invoke(
                new_state(started.question),
                {"recursion_limit": recursion_limit(deps.session.ledger.budget)},
            )
        except GenerationCancelled as cancelled:
            recorder.failure = cancelled
            recorder.end(deps, "cancelled", "cancelled", "")
        except BaseException as failure:  # noqa: BLE001 - raised in the caller's thread
            recorder.failure = failure
            recorder.end(deps, "failed", f"{type(failure).__name__}: {failure}", "")
        else:
            state: RunState = final  # type: ignore[assignment] # LangGraph returns a plain dict
            recorder.end(deps, state["status"], state["stopped_because"], state["answer"])
    except BaseException as failure:  # noqa: BLE001 - carried to the caller's thread, raised there
        recorder.failure = recorder.failure or failure
    finally:
        stream.put(None)


class _Recorder:
    """Numbers the events, passes them on, and stores them node by node."""

    def __init__(self, runs: Runs, stream: queue.SimpleQueue[ev.Event | None]) -> None:
        self._runs = runs
        self._stream = stream
        self._began = time.monotonic()
        self._run_id = ""
        self._events: list[StoredEvent] = []
        self._decisions: list[DecisionRow] = []
        self._next = 0
        self._decided = 0
        self.failure: BaseException | None = None

    def begin(self, started: ev.RunStarted) -> None:
        """Store the run and emit its first event."""
        self._run_id = self._runs.begin(
            NewRun(
                question=started.question,
                profile=started.profile,
                chat_model=started.chat_model,
                embedder=started.embedder,
                reranker=started.reranker,
                decider=started.decider,
                collections=tuple(started.collections),
            )
        )
        fields = started.payload()
        self.emit(ev.RunStarted(**{**fields, "run_id": self._run_id}))

    def emit(self, event: ev.Event) -> None:
        """Pass an event on; keep it for the store if it is of the kind that is kept."""
        self._stream.put(event)
        if not event.stored:
            return
        self._keep(event)
        if isinstance(event, ev.Decided):
            self._decisions.append(_row(event, self._decided))
            self._decided += 1
        if isinstance(event, ev.NodeFinished):
            try:
                self._store()
            except StoreBusy:
                # Kept, and stored with the next node's; the end of the run insists.
                _log.info("the store is busy; %d events wait", len(self._events))

    def end(self, deps: Deps, status: str, stopped_because: str, answer: str) -> None:
        """Close the run in the store and emit the last event."""
        usage, calls = deps.session.ledger.usage, deps.session.ledger.calls
        finished = ev.RunFinished(
            status=status,
            stopped_because=stopped_because,
            seconds=round(time.monotonic() - self._began, 3),
            model_calls=calls,
            evaluated=usage.evaluated,
            reused=usage.reused,
            generated=usage.generated,
        )
        self._keep(finished)
        try:
            self._store(
                RunEnd(
                    status,
                    stopped_because,
                    answer,
                    calls,
                    usage.evaluated,
                    usage.reused,
                    usage.generated,
                )
            )
        finally:
            self._stream.put(finished)  # told last, and told even if it could not be stored

    def _keep(self, event: ev.Event) -> None:
        elapsed = round(time.monotonic() - self._began, 4)
        self._events.append(StoredEvent(self._next, elapsed, event.kind, event.payload()))
        self._next += 1

    def _store(self, end: RunEnd | None = None) -> None:
        self._runs.record(self._run_id, self._events, self._decisions, end)
        self._events, self._decisions = [], []


def _row(event: ev.Decided, seq: int) -> DecisionRow:
    return DecisionRow(
        seq=seq,
        step=event.step,
        state_version=event.state_version,
        state=event.state,
        valid_actions=tuple(event.valid),
        action=event.action,
        probabilities=event.probabilities,
        behaviour_probability=event.behaviour_probability,
        source=event.source,
        latency_ms=event.latency_ms,
        justification=event.justification,
    )
