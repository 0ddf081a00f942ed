"""Executing a run: the graph in its own thread, its events in the caller's."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, cast

from agent import checkpoints
from agent import events as ev
from agent.checkpoints import JournaledChat
from agent.decisions.learned import LEARNED, Policy
from agent.deps import Deps
from agent.graph import build_graph, recursion_limit
from agent.profiles import decider, decides, profile, second_opinion
from agent.recording import Recorder, Stream
from agent.request import Request, searchable
from agent.retrieval.memo_reader import MemoReader
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.state import RunState, added_and_open
from agent.steering import Steering
from models.protocols import Chat, Completer, Embedder, GenerationCancelled, Reader
from traces.library import Library
from traces.records import NO_FILTERS
from traces.runs import Runs
from traces.store import Store

if TYPE_CHECKING:
    from agent.web.gather import Web

_HEARTBEAT_SECONDS = 0.5


class Execution:
    """One run: its parts, its thread, and its questions to the user.

    Raises:
        UnknownCollection, EmptyLibrary, UnknownProfile: The request cannot be executed.

    Attributes:
        decides: The name of the decider; ``learned:NAME`` for a learned policy.
    """

    def __init__(
        self,
        request: Request,
        chat: Chat,
        embedder: Embedder,
        reader: Reader,
        store: Store,
        steering: Steering,
        web: Web | None,
        learned: Policy | None = None,
        planner: Completer | None = None,
        began_with: str = "",
    ) -> None:
        library = Library(store)
        web = web if request.filters == NO_FILTERS else None
        reader = MemoReader(reader)  # shared with the verifier: a rewritten answer repeats sentences
        cognition = profile(request.profile, reader, planner)
        began_learned = began_with.startswith(LEARNED)  # then a missing policy is reported
        decider_name = request.decider or decides(
            request.profile, learned=began_learned or learned is not None
        )
        self.decides = f"{LEARNED}:{learned.name}" if decider_name == LEARNED and learned else decider_name
        make_decider = cognition.decider
        if request.decider or decider_name == LEARNED:
            make_decider = decider(decider_name, learned, _handover(began_with, self.decides))
        make_shadow = second_opinion(request.shadow, learned) if request.shadow else None
        self._store = store
        self._steering = steering
        self._stream: Stream = queue.SimpleQueue()
        self.recorder = Recorder(Runs(store), self._stream)
        session = Session(chat, request.budget, self.recorder.emit, steering)
        active_decider = make_decider(session)
        shadow = make_shadow(session) if make_shadow else None
        self.deps = Deps(
            session=session,
            cognition=cognition,
            decider=active_decider,
            library=library,
            recall=Recall(library, embedder, filters=request.filters),
            reader=reader,
            collections=searchable(
                library, request.collections, web=web is not None, filters=request.filters
            ),
            web=web,
            route=request.route,
            length=request.length,
            approve=request.approve,
            interactive=request.interactive,
            shadow=shadow if shadow and shadow.name != active_decider.name else None,
        )

    def events(
        self,
        run_id: str,
        begin: Callable[[], None],
        initial: RunState,
        resumed: ev.Resumed | None = None,
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
            yield from _watch(self._stream, session)
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
        recorder, ledger = self.recorder, self.deps.session.ledger
        final: RunState | None = None
        has_begun = False
        try:
            with ExitStack() as stack:
                # Locked first: if another process was faster to resume the run, nothing is changed.
                opened = stack.enter_context(checkpoints.opened(self._store, run_id, recorder.checkpointed))
                begin()
                has_begun = True
                try:
                    final = self._drive(opened, initial, resumed)
                except GenerationCancelled as cancelled:
                    recorder.failure = cancelled
                    status = "interrupted" if self._steering.left else "cancelled"
                    recorder.end(ledger, status, status, "", "")
                except BaseException as failure:  # noqa: BLE001 - raised in the caller's thread
                    recorder.failure = checkpoints.translated(failure, self._store, run_id)
                    recorder.end(ledger, "failed", f"{type(failure).__name__}: {failure}", "", "")
                else:
                    if final is None:
                        recorder.end(ledger, "waiting", "a person has to answer", "", "")
                    else:
                        recorder.end(
                            ledger,
                            final["status"],
                            final["stopped_because"],
                            final["answer"],
                            final["question"],
                        )
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
        self, opened: checkpoints.Checkpoints, initial: RunState, resumed: ev.Resumed | None
    ) -> RunState | None:
        """The final state; None if the user has to answer first but cannot be asked."""
        from langgraph.types import Command

        session = self.deps.session
        session.chat = JournaledChat(session.chat, opened.journal)
        graph = build_graph(self.deps, self.recorder, opened.saver)
        config = {**opened.config, "recursion_limit": recursion_limit(session.ledger.budget)}
        command: Any = initial
        pending: Any = ()
        if resumed is not None:
            with checkpoints.read_as_written(resumed.run_id):
                snapshot = graph.get_state(cast(Any, config))
            if snapshot.values and snapshot.metadata:
                # Leave out searches that ended before the others of their round, because it runs again.
                log = [e for e in snapshot.values["log"] if e["superstep"] <= snapshot.metadata["step"]]
                self.recorder.recovered(log, session.ledger)
                command, pending = None, snapshot.interrupts
            session.stop.extend(self.recorder.waited - self.recorder.elapsed)
            node = snapshot.next[0] if snapshot.next else "route"
            self.recorder.resumed(ev.Resumed(resumed.run_id, resumed.question, node, resumed.chat_model))
        while True:
            if not pending:
                final = graph.invoke(command, cast(Any, config), durability="sync")
                pending = final.get("__interrupt__", ())
                if not pending:
                    self._warn_untaken(cast(RunState, final))
                    return cast(RunState, final)
            question = pending[0].value
            pending = ()
            if question["about"] == "approve" and self.deps.approve != "ask":
                command = None  # the node runs again and replies by rule
                continue
            reply = self._reply(question)
            if reply is None:
                return None
            command = Command(resume=reply)

    def _warn_untaken(self, final: RunState) -> None:
        """Warn about steps that the user added too late to be taken."""
        if untaken := [*added_and_open(final), *self._steering.take_added()]:
            self.deps.session.emit(ev.Warned(f"Added too late to be searched: {'; '.join(untaken)}"))

    def _reply(self, question: dict[str, Any]) -> dict[str, Any] | None:
        """The reply and the seconds spent waiting for it; None if the user cannot be asked."""
        session = self.deps.session
        if not self.deps.interactive:
            return {"reply": "", "waited": 0.0} if question["about"] == "clarify" else None
        began = time.monotonic()
        session.emit(
            ev.Asked(
                question["about"], question["question"], question["options"], question.get("claims", [])
            )
        )
        clarifying = question["about"] == "clarify"
        reply = self._steering.wait_for_reply(
            lambda: session.stop.cancelled or (clarifying and self._steering.finishing)
        )
        if reply is None and session.stop.cancelled:
            raise GenerationCancelled("The run was cancelled.")
        waited = time.monotonic() - began
        session.give_back(waited)
        return {"reply": reply or "", "waited": round(waited, 3)}


def _handover(previous: str, current: str) -> str:
    """A notice for a resumed run if another policy than the one it began with decides."""
    if not previous.startswith(LEARNED) or current in {previous, LEARNED}:  # a missing policy is reported
        return ""
    return f"The run began with decisions by {previous}; from here on they are by {current}."


def _watch(stream: Stream, session: Session) -> Iterator[ev.Event]:
    began = time.monotonic()
    node, step, ended = "start", 0, False
    first = stream.get()  # no heartbeat before the run's first event
    if first is None:
        return
    yield first
    while True:
        try:
            event = stream.get(timeout=None if ended else _HEARTBEAT_SECONDS)
        except queue.Empty:
            yield ev.Heartbeat(
                node,
                step,
                round(time.monotonic() - began - session.given_back, 2),
                session.ledger.usage.generated,
            )
            continue
        if event is None:
            return
        if isinstance(event, ev.NodeStarted):
            node, step = event.node, event.step
        ended = isinstance(event, ev.RunFinished)  # no heartbeat after the run's last event
        yield event
