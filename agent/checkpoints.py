"""Checkpoints: a run has one SQLite file from its first node to its end, so that a kill loses nothing.

LangGraph's saver writes it after every node. The file is removed when the run ends; while it exists, the
run is in progress or can be resumed, and a lock beside the file shows which.

The journal keeps the model's replies since the last checkpoint. A node that runs again after a kill gets
them back in the same order, at no cost, and asks the model only for the rest.

The recorder passes a run's events on at once, and stores them with each checkpoint. The events that a node
emits become part of the state that it returns, and are stored when the checkpoint with that state is on
disk. So the events of an interrupted node that runs again are stored once. Events that are not stored yet
stay in the state.
"""

from __future__ import annotations

import hashlib
import json
import logging
import queue
import re
import sqlite3
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import TypeAdapter

from agent import events as ev
from agent.session import SHADOW, Session
from agent.state import Logged
from models.protocols import Chat, ChatOptions, Choice, Message, Reply, Teachable, Usage
from traces.decisions import DecisionRow, Label, Origin
from traces.errors import DeepthinkError
from traces.runs import RUN_ID, NewRun, RunEnd, Runs, StoredEvent
from traces.store import Store, StoreBusy, StoreError, StoreFull, set_aside

if TYPE_CHECKING:
    from filelock import AcquireReturnProxy, FileLock
    from langgraph.checkpoint.base import BaseCheckpointSaver

_log = logging.getLogger("deepthink.run")
Stream = queue.SimpleQueue[ev.Event | None]
_MOMENT = 0.2  # seconds that another process may hold a lock to look at it
_looking = threading.Lock()  # in this process, looks wait for each other
_STORE_SECONDS = 1.0  # opening the store after every node would take longer than most nodes


class Journal:
    """Replies since the last checkpoint, by prompt.

    ``connection`` is to the run's checkpoint file, and used only while holding ``lock``.
    """

    def __init__(self, connection: sqlite3.Connection, lock: threading.Lock) -> None:
        self._connection = connection
        self._lock = lock
        with self._lock, self._connection:
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, prompt TEXT, reply TEXT)"
            )
        self._replayed: defaultdict[str, list[str]] = defaultdict(list)
        for prompt, reply in self._connection.execute("SELECT prompt, reply FROM journal ORDER BY seq"):
            self._replayed[prompt].append(reply)

    def replay(self, prompt: str) -> str | None:
        """Take the stored reply to ``prompt``; None if there is none."""
        replies = self._replayed[prompt]
        return replies.pop(0) if replies else None

    def keep(self, prompt: str, reply: str) -> None:
        """Store a reply before it is used."""
        with self._lock, self._connection:
            self._connection.execute("INSERT INTO journal (prompt, reply) VALUES (?, ?)", [prompt, reply])

    def clear(self) -> None:
        """Forget the replies, because a checkpoint has their results."""
        self._replayed.clear()
        with self._lock, self._connection:
            self._connection.execute("DELETE FROM journal")


class JournaledChat:
    """A chat model whose replies are kept in a journal until the next checkpoint."""

    def __init__(self, chat: Chat, journal: Journal) -> None:
        self.name = chat.name
        self._chat = chat
        self._journal = journal

    @property
    def context_tokens(self) -> int:
        return self._chat.context_tokens

    @property
    def taught(self) -> Chat | None:
        """The model as it was taught, with the same journal; None if it was not."""
        taught = self._chat.taught if isinstance(self._chat, Teachable) else None
        return JournaledChat(taught, self._journal) if taught else None

    def count_tokens(self, text: str) -> int:
        return self._chat.count_tokens(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """The stored reply, streamed in one piece, or a new one."""
        parameters = {"max_tokens": options.max_tokens, "schema": options.schema, "unlike": options.unlike}
        prompt = _prompt_hash(messages, parameters)
        if stored := self._journal.replay(prompt):
            reply = TypeAdapter(Reply).validate_json(stored)
            if options.on_text is not None:
                options.on_text(reply.text)
            return reply
        reply = self._chat.generate(messages, options)
        self._journal.keep(prompt, json.dumps(asdict(reply)))
        return reply

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """The stored choice, or a new one."""
        prompt = _prompt_hash(messages, {"labels": list(options)})
        if stored := self._journal.replay(prompt):
            return TypeAdapter(Choice).validate_json(stored)
        choice = self._chat.choose(messages, options, cancel)
        self._journal.keep(prompt, json.dumps(asdict(choice)))
        return choice

    def close(self) -> None:
        """Do nothing: the caller that opened the model closes it."""


def _prompt_hash(messages: Sequence[Message], parameters: dict[str, Any]) -> str:
    text = json.dumps([[[m.role, m.content] for m in messages], parameters], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


class GoingOn(DeepthinkError, title="The run is still going on", kind="usage"):
    """Raised when another process is working on the run."""

    @classmethod
    def of(cls, run_id: str) -> GoingOn:
        """The error for a run."""
        return cls(
            f"Run {run_id} is being worked on by another process.", "Wait for it, or stop that process."
        )


class UnusableRunId(DeepthinkError, title="This run has no usable id", kind="store"):
    """Raised for a run whose id is not a plain name, so that it could point to any file."""


class CheckpointDamaged(DeepthinkError, title="The checkpoint is damaged", kind="store"):
    """Raised when a checkpoint file is damaged."""


def folder(store: Store) -> Path:
    """The folder of the checkpoint files, beside the store."""
    return store.path.with_name("checkpoints")


def exists(store: Store, run_id: str) -> bool:
    """Whether a run has checkpoints; never for an unusable id."""
    return _is_usable(run_id) and _file(store, run_id).is_file()


def in_use(store: Store, run_id: str) -> bool:
    """Whether a process is working on the run. Raises `UnusableRunId`."""
    try:
        with _looking, _lock(store, run_id):
            return False
    except GoingOn:
        return True


def discard(store: Store, run_id: str) -> None:
    """Remove a run's checkpoints, if any, including damaged ones. Raises `UnusableRunId`.

    Those that a process works on are left to `sweep`: of a lock whose file is removed, two can be held.
    """
    with suppress(GoingOn), _locked(store, run_id):
        for path in folder(store).glob(f"{run_id}.*"):
            path.unlink(missing_ok=True)


def put_aside(store: Store, run_id: str) -> None:
    """Rename a run's damaged checkpoint file, so that nothing writes to it. Raises `UnusableRunId`."""
    path = _file(store, run_id)
    if path.exists():
        set_aside(path)


def translated(error: BaseException, store: Store, run_id: str) -> BaseException:
    """An SQLite error as an error for the user; other errors are returned as they are."""
    if not isinstance(error, sqlite3.Error):
        return error
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
        return _damaged(run_id, error)
    path = _file(store, run_id)
    if code == sqlite3.SQLITE_FULL:
        return StoreFull(
            f"There is no room left to write {path}.",
            f"Free some disk space, then `deepthink resume {run_id}`.",
        )
    return StoreError(
        f"{path} cannot be used: {error}.",
        f"Check its disk and its permissions, then `deepthink resume {run_id}`.",
    )


@contextmanager
def read_as_written(run_id: str) -> Iterator[None]:
    """A context in which a checkpoint that cannot be decoded raises `CheckpointDamaged`."""
    try:
        yield
    except (ValueError, KeyError, TypeError, EOFError) as error:
        raise _damaged(run_id, error) from error


def _damaged(run_id: str, error: BaseException) -> CheckpointDamaged:
    return CheckpointDamaged(
        f"The checkpoint of run {run_id} cannot be read: {error}.",
        "It is set aside, with “damaged” in its name; ask the question again.",
    )


def sweep(store: Store, keep: Collection[str]) -> None:
    """Remove the checkpoints of all runs, except those in ``keep`` and those in use."""
    for path in folder(store).glob("*.sqlite"):
        if _is_usable(path.stem) and path.stem not in keep:
            discard(store, path.stem)


@contextmanager
def open_checkpoints(
    store: Store, run_id: str, on_checkpoint: Callable[[list[Logged]], None]
) -> Iterator[tuple[BaseCheckpointSaver[Any], Journal]]:
    """Open the run's file, creating it if needed, and lock it: the graph's checkpointer, and the journal.

    ``on_checkpoint`` is called with the events of each checkpoint, in the thread that wrote it. Raises
    `GoingOn` if another process has it open and `UnusableRunId` if the id cannot be a file name.
    """
    from langgraph.checkpoint.sqlite import SqliteSaver

    class Saver(SqliteSaver):
        """Calls ``on_checkpoint`` when a checkpoint is on disk, so that its events can be stored."""

        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            """Write a checkpoint, as LangGraph's saver does."""
            saved = super().put(config, checkpoint, metadata, new_versions)
            journal.clear()
            on_checkpoint(checkpoint["channel_values"].get("log", []))
            return saved

    with (
        _locked(store, run_id),
        closing(sqlite3.connect(_file(store, run_id), check_same_thread=False, timeout=10)) as connection,
    ):
        saver = Saver(connection)
        saver.setup()
        journal = Journal(connection, saver.lock)
        yield saver, journal


def _is_usable(run_id: str) -> bool:
    return re.fullmatch(RUN_ID, run_id) is not None


def _file(store: Store, run_id: str) -> Path:
    if not _is_usable(run_id):
        raise UnusableRunId(
            f"No file is opened or removed for the run {run_id!r}, because its id is not a plain name.",
            "It came with imported traces and cannot be resumed; leave it as it is.",
        )
    return folder(store) / f"{run_id}.sqlite"


@contextmanager
def _locked(store: Store, run_id: str) -> Iterator[None]:
    """Hold the run's lock. Raises `GoingOn` if a process is working on the run, `UnusableRunId`."""
    with _looking:
        lock = _lock(store, run_id)
    with lock:
        yield


def _lock(store: Store, run_id: str) -> AcquireReturnProxy[FileLock]:
    """Take the run's lock, for work or to see whether another process works; raises as `_locked` does."""
    from filelock import FileLock, Timeout

    path = _file(store, run_id).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return FileLock(path).acquire(timeout=_MOMENT, poll_interval=0.01)
    except Timeout as busy:
        raise GoingOn.of(run_id) from busy


class Recorder:
    """The events of one run."""

    def __init__(self, runs: Runs, stream: Stream) -> None:
        self._runs = runs
        self._stream = stream
        self._began = time.monotonic()
        self._local = threading.local()  # parallel nodes collect separately
        self._run_id = ""
        self._events = 0
        self._actions = ""  # first letters of the actions decided on so far
        self._stored = -2  # the last superstep whose events are stored
        self._stored_at = 0.0
        self._unstored: list[Logged] = []  # events of the last checkpoint
        self.failure: BaseException | None = None

    @property
    def elapsed(self) -> float:
        """Seconds of the run so far, including those before an interruption."""
        return round(time.monotonic() - self._began, 4)

    def worked(self, session: Session) -> float:
        """The same without the time that was spent waiting for the user."""
        return round(max(0.0, self.elapsed - session.given_back), 3)

    def begin(self, started: ev.RunStarted, request: NewRun) -> None:
        """Store the run and its first event."""
        self._run_id = self._runs.begin(request, started.run_id, self._stored_event(0.0, started))
        self._stream.put(started)

    def resume(self, run_id: str, session: Session) -> None:
        """Continue recording a run, and charge what it has spent so far to the session."""
        self._run_id = run_id
        self._runs.reopen(run_id)
        events = self._runs.events(run_id)
        self._events = events[-1].seq + 1 if events else 0
        self._actions = "".join(d.action[0] for d in self._runs.decisions(run_id) if not d.shadow)
        self._stored = self._runs.find(run_id).superstep
        self._began = time.monotonic() - (events[-1].elapsed if events else 0.0)
        for event in events:
            _replay_event(session, event.kind, event.payload)

    def resumed(self, event: ev.Resumed) -> None:
        """Store and pass on the event that the run was resumed."""
        self._runs.record(self._run_id, [self._stored_event(self.elapsed, event)])
        self._stream.put(event)

    def emit(self, event: ev.Event) -> None:
        """Pass an event on; if its kind is stored, the current node collects it."""
        self._stream.put(event)
        node: tuple[int, list[Logged]] | None = getattr(self._local, "node", None)
        if event.stored and node is not None:
            superstep, collected = node
            collected.append(
                Logged(
                    superstep=superstep,
                    stored=self._stored,
                    elapsed=self.elapsed,
                    kind=event.kind,
                    payload=event.payload(),
                )
            )

    @contextmanager
    def collecting(self, superstep: int) -> Iterator[list[Logged]]:
        """Collect the events that this thread emits inside the context; complete at its end."""
        collected: list[Logged] = []
        self._local.node = superstep, collected
        try:
            yield collected
        finally:
            self._local.node = None

    def checkpointed(self, log: Sequence[Logged]) -> None:
        """Store the new events of a checkpoint, at most once a second.

        Events that must wait, because of that limit or a busy store, are in the next checkpoint too.
        """
        self._unstored = self._not_stored(log)
        if time.monotonic() - self._stored_at >= _STORE_SECONDS:
            self._store_unless_busy()

    def recovered(self, log: Sequence[Logged], session: Session) -> None:
        """Store the events in the last checkpoint of an interrupted run, and charge what they spent."""
        self._unstored = new = self._not_stored(log)
        if new:
            # The clock continues from there, because waiting time is subtracted from it.
            self._began = time.monotonic() - max(entry["elapsed"] for entry in new)
            for entry in new:
                _replay_event(session, entry["kind"], entry["payload"])
            self._store_unless_busy()

    def _not_stored(self, log: Sequence[Logged]) -> list[Logged]:
        # The state still has the events stored with its last checkpoint.
        return [entry for entry in log if entry["superstep"] > self._stored]

    def _store_unless_busy(self) -> None:
        try:
            self._store()
        except StoreBusy:
            _log.info("the store is busy; %d events wait for the next node", len(self._unstored))

    def _store(self) -> None:
        log = self._unstored
        if not log:
            return
        superstep = max(entry["superstep"] for entry in log)
        events = [
            StoredEvent(seq, entry["elapsed"], entry["kind"], entry["payload"])
            for seq, entry in enumerate(log, start=self._events)
        ]
        decisions = [
            cast(ev.Decided, ev.from_stored(event.kind, event.payload))
            for event in events
            if event.kind == ev.Decided.kind
        ]
        numbered = list(enumerate(decisions, start=len(self._actions)))
        actions = self._actions + "".join(event.action[0] for event in decisions)
        rows = [row for seq, event in numbered for row in _rows(event, seq, actions[:seq])]
        labels = [Label(seq, d.action, cast(Origin, d.label)) for seq, d in numbered if d.label]
        self._runs.record(self._run_id, events, rows, superstep=superstep, labels=labels)
        self._stored, self._stored_at, self._unstored = superstep, time.monotonic(), []
        self._events += len(events)
        self._actions = actions

    def end(self, session: Session, status: str, stopped_because: str, answer: str, question: str) -> None:
        """Emit the last event, and close the run in the store.

        A run that waits for the user or is interrupted is not closed. Nor is one whose end could not be
        stored, which raises `StoreError`: its checkpoint has the rest.
        """
        usage = session.ledger.usage
        facts: dict[str, Any] = {
            "status": status,
            "stopped_because": stopped_because,
            "model_calls": session.ledger.calls,
            "evaluated": usage.evaluated,
            "reused": usage.reused,
            "generated": usage.generated,
        }
        finished = ev.RunFinished(seconds=self.worked(session), **facts)
        closing = RunEnd(answer=answer, standalone=question, **facts)
        try:
            self._store()
            if status == "waiting":
                self._runs.wait(self._run_id)
            elif status != "interrupted":
                self._runs.record(self._run_id, [self._stored_event(self.elapsed, finished)], end=closing)
        finally:
            self._stream.put(finished)  # even if it could not be stored

    def _stored_event(self, elapsed: float, event: ev.Event) -> StoredEvent:
        self._events += 1
        return StoredEvent(self._events - 1, elapsed, event.kind, event.payload())


def _replay_event(session: Session, kind: str, payload: dict[str, Any]) -> None:
    if kind == ev.ModelCalled.kind:
        usage = Usage(payload["evaluated"], payload["reused"], payload["generated"], payload["seconds"])
        session.ledger.add(usage, charged=payload["purpose"] != SHADOW)
    session.give_back(float(payload.get("waited", 0.0)))


def _rows(event: ev.Decided, seq: int, path: str) -> list[DecisionRow]:
    """The decision, and the shadow decision if there is one."""
    names = {field.name for field in fields(DecisionRow)} - {"shadow"}
    facts = {name: value for name, value in event.payload().items() if name in names}
    row = DecisionRow(seq=seq, path=path, valid_actions=tuple(event.valid), **facts)
    return [row, replace(row, **event.shadow, shadow=True)] if event.shadow else [row]
