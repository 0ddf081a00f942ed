"""Checkpoints: a run has one SQLite file from its first node to its end, so that a kill loses nothing.

LangGraph's saver writes it after every node. The file is removed when the run ends; while it exists, the
run is in progress or can be resumed, and a lock beside the file shows which.

The journal keeps the model's replies since the last checkpoint. A node that runs again after a kill gets
them back in the same order, at no cost, and asks the model only for the rest.
"""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter

from agent.state import Logged
from models.protocols import Chat, ChatOptions, Choice, Message, Reply, Teachable
from traces.errors import DeepthinkError
from traces.runs import RUN_ID
from traces.store import Store, StoreError, StoreFull, set_aside

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver


class Journal:
    """Replies since the last checkpoint, by prompt.

    Args:
        connection: Connection to the run's checkpoint file; used only while holding ``lock``.
        lock: The lock that all users of the connection share.
    """

    def __init__(self, connection: sqlite3.Connection, lock: threading.Lock) -> None:
        self._connection = connection
        self._lock = lock
        with self._lock, self._connection:
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS journal (seq INTEGER PRIMARY KEY, prompt TEXT, reply TEXT)"
            )
        rows = self._connection.execute("SELECT prompt, reply FROM journal ORDER BY seq").fetchall()
        self._replayed: list[tuple[str, str]] = list(rows)

    def replay(self, prompt: str) -> str | None:
        """Take the stored reply to ``prompt``; None if there is none."""
        for index, (stored_prompt, reply) in enumerate(self._replayed):
            if stored_prompt == prompt:
                del self._replayed[index]
                return reply
        return None

    def keep(self, prompt: str, reply: str) -> None:
        """Store a reply before it is used."""
        with self._lock, self._connection:
            self._connection.execute("INSERT INTO journal (prompt, reply) VALUES (?, ?)", [prompt, reply])

    def clear(self) -> None:
        """Forget the replies, because a checkpoint has their results."""
        self._replayed = []
        with self._lock, self._connection:
            self._connection.execute("DELETE FROM journal")


class JournaledChat:
    """A chat model whose replies are kept in a journal until the next checkpoint."""

    def __init__(self, chat: Chat, journal: Journal) -> None:
        self._chat = chat
        self._journal = journal

    @property
    def name(self) -> str:
        """The name of the model."""
        return self._chat.name

    @property
    def context_tokens(self) -> int:
        """The context length of the model."""
        return self._chat.context_tokens

    @property
    def taught(self) -> Chat | None:
        """The model as it was taught, with the same journal; None if it was not."""
        taught = self._chat.taught if isinstance(self._chat, Teachable) else None
        return JournaledChat(taught, self._journal) if taught else None

    def count_tokens(self, text: str) -> int:
        """The number of tokens by the model's tokenizer."""
        return self._chat.count_tokens(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """The stored reply, streamed in one piece, or a new one."""
        parameters = {"max_tokens": options.max_tokens, "schema": options.schema, "at": 0.0}
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
        self,
        messages: Sequence[Message],
        options: Sequence[str],
        cancel: threading.Event | None = None,
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


class GoingOn(DeepthinkError):
    """Raised when another process is working on the run."""

    title = "The run is still going on"
    kind = "usage"

    @classmethod
    def of(cls, run_id: str) -> GoingOn:
        """The error for a run."""
        return cls(
            f"Run {run_id} is being worked on by another process.", "Wait for it, or stop that process."
        )


class UnusableRunId(DeepthinkError):
    """Raised for a run whose id is not a plain name, so that it could point to any file."""

    title = "This run has no usable id"
    kind = "store"


class CheckpointDamaged(DeepthinkError):
    """Raised when a checkpoint file is damaged."""

    title = "The checkpoint is damaged"
    kind = "store"


def folder(store: Store) -> Path:
    """The folder of the checkpoint files, beside the store."""
    return store.path.with_name("checkpoints")


def exists(store: Store, run_id: str) -> bool:
    """Whether a run has checkpoints; never for an unusable id."""
    return _is_usable(run_id) and _file(store, run_id).is_file()


def in_use(store: Store, run_id: str) -> bool:
    """Whether a process is working on the run. Raises `UnusableRunId`."""
    try:
        with _locked(store, run_id):
            return False
    except GoingOn:
        return True


def discard(store: Store, run_id: str) -> None:
    """Remove a run's checkpoints, if any, including damaged ones. Raises `UnusableRunId`."""
    for path in folder(store).glob(f"{_file(store, run_id).stem}.*"):
        path.unlink(missing_ok=True)


def put_aside(store: Store, run_id: str) -> None:
    """Rename a run's damaged checkpoint file, so that nothing writes to it. Raises `UnusableRunId`."""
    path = _file(store, run_id)
    if path.exists():
        set_aside(path, "damaged")


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
            f"There is no room left to write {path}.", f"Free some disk space, then {_resume_hint(run_id)}"
        )
    return StoreError(
        f"{path} cannot be used: {error}.",
        f"Check its disk and its permissions, then {_resume_hint(run_id)}",
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


def _resume_hint(run_id: str) -> str:
    return f"`deepthink resume {run_id}`."


def sweep(store: Store, keep: Collection[str]) -> None:
    """Remove the checkpoints of all runs, except those in ``keep`` and those in use."""
    for path in folder(store).glob("*.sqlite"):
        if _is_usable(path.stem) and path.stem not in keep and not in_use(store, path.stem):
            discard(store, path.stem)


@contextmanager
def open_checkpoints(
    store: Store, run_id: str, on_checkpoint: Callable[[list[Logged]], None]
) -> Iterator[tuple[BaseCheckpointSaver[Any], Journal]]:
    """Open the run's file, creating it if needed, and lock it: the graph's checkpointer, and the journal.

    ``on_checkpoint`` is called with the events of each checkpoint, in the thread that wrote it.

    Raises:
        GoingOn: Another process has it open.
        UnusableRunId: The id cannot be a file name.
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
    """Hold the run's lock. Raises `GoingOn` if another process holds it, `UnusableRunId`."""
    from filelock import FileLock, Timeout

    path = _file(store, run_id).with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout as busy:
        raise GoingOn.of(run_id) from busy
    try:
        yield
    finally:
        lock.release()
