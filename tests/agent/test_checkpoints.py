"""Checkpoint files: called by their run's id, which must not lead out of their folder; damaged ones."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from filelock import FileLock

from agent import checkpoints
from agent.budget import Budget
from agent.checkpoints import CheckpointDamaged, Journal, JournaledChat, UnusableRunId
from agent.prompts import NOT_FOUND, TAUGHT
from agent.run import NotResumable, Request, resumable
from agent.session import Session
from models.protocols import Message
from tests.agent.conftest import Ask
from tests.agent.made import ONE_STEP, end
from tests.scripted import Scripted, TaughtChat, WordReader
from tests.traces.test_runs import NEW
from traces.runs import NewRun, Runs, StoredEvent
from traces.store import Store, StoreBusy, StoreError, StoreFull, now


@pytest.mark.parametrize(
    "outside", ["../notes", "{folder}/notes", "inner/../../notes", "..", ".", "", "a\n"]
)
def test_an_id_that_is_no_plain_name_leads_to_no_file(store: Store, tmp_path: Path, outside: str) -> None:
    run_id = outside.format(folder=tmp_path)
    files = {tmp_path / name: name for name in ("notes.sqlite", "notes.sqlite-wal", "notes.lock")}
    for path, content in files.items():
        path.write_text(content)
    checkpoints.folder(store).mkdir()
    assert not checkpoints.exists(store, run_id)
    for use in (checkpoints.in_use, checkpoints.discard):
        with pytest.raises(UnusableRunId, match="is not a plain name") as refused:
            use(store, run_id)
        assert refused.value.way_out
    with pytest.raises(UnusableRunId), checkpoints.open_checkpoints(store, run_id, lambda _log: None):
        raise AssertionError("it was opened")
    assert {path: path.read_text() for path in files} == files
    assert list(checkpoints.folder(store).iterdir()) == []


def test_a_run_is_not_in_use_because_somebody_else_looks(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    acquire, tried, in_use = FileLock._acquire, threading.Event(), list[bool]()

    def try_once(lock: FileLock) -> None:
        acquire(lock)
        if threading.current_thread() is look:
            tried.set()

    monkeypatch.setattr(FileLock, "_acquire", try_once)
    monkeypatch.setattr(checkpoints, "_MOMENT", 60.0)
    look = threading.Thread(target=lambda: in_use.append(checkpoints.in_use(store, "a" * 12)))
    with checkpoints._locked(store, "a" * 12):  # as another look does
        look.start()
        assert tried.wait(60)
    look.join()
    assert in_use == [False]


def test_what_another_process_works_on_is_not_discarded(store: Store) -> None:
    run_id = "a" * 12
    with checkpoints.open_checkpoints(store, run_id, lambda _log: None):
        checkpoints.discard(store, run_id)
        assert checkpoints.in_use(store, run_id), "no third process may take its lock"
    checkpoints.discard(store, run_id)
    assert list(checkpoints.folder(store).iterdir()) == []


def test_a_reply_of_the_model_as_it_was_taught_is_not_asked_for_again(tmp_path: Path) -> None:
    def write(script: list[Scripted]) -> str:
        with closing(sqlite3.connect(tmp_path / "run.sqlite")) as connection, TaughtChat(script) as chat:
            session = Session(chat, Budget(), lambda _event: None)
            session.chat = JournaledChat(chat, Journal(connection, threading.Lock()))
            return session.write("synthesise", [], "QUESTION: Who?", 9, system=TAUGHT).text

    assert write(["Tolvang does."]) == write([]) == "Tolvang does."


def test_what_can_be_resumed_is_told_though_an_id_or_a_file_is_odd(store: Store, tmp_path: Path) -> None:
    runs = Runs(store)
    good = runs.begin(NEW)
    odd = runs.begin(replace(NEW, question="Odd?"))
    with store.transaction() as db:  # as an import once allowed
        db.execute("UPDATE runs SET id = '../notes' WHERE id = ?", [odd])
    (tmp_path / "notes.sqlite").touch()
    for run_id in (good, "b"):
        with checkpoints.open_checkpoints(store, run_id, lambda _log: None):
            pass
    copied = checkpoints.folder(store) / "a copy.sqlite"
    copied.touch()
    assert [entry.run.id for entry in resumable(store)] == [good]
    left = {path.name for path in checkpoints.folder(store).glob("*.sqlite")}
    assert left == {f"{good}.sqlite", "a copy.sqlite"}, "that of no run is swept, what is not ours stays"
    assert (tmp_path / "notes.sqlite").exists()


_ASKED: dict[str, Any] = {
    "request": Request("Who painted the ceiling of the Sixtus chapel in Zanzibar?", route="deep"),
    "reader": WordReader(reads=0.01),
}


@pytest.fixture
def interrupted(ask: Ask, store: Store) -> str:
    """A run that failed in the middle, with a checkpoint."""
    with pytest.raises(RuntimeError):
        ask([ONE_STEP, RuntimeError("in the middle")], **_ASKED)
    (stored,) = Runs(store).recent()
    assert checkpoints.exists(store, stored.id)
    return stored.id


@pytest.mark.parametrize("where", ["file", "state"])
def test_a_damaged_checkpoint_is_set_aside(ask: Ask, store: Store, interrupted: str, where: str) -> None:
    path = checkpoints.folder(store) / f"{interrupted}.sqlite"
    if where == "file":
        path.write_bytes(os.urandom(20_000))
        for beside in path.parent.glob(f"{path.name}-*"):
            beside.unlink()
    else:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("UPDATE checkpoints SET checkpoint = ?", [os.urandom(50)])
    content = path.read_bytes()
    with pytest.raises(CheckpointDamaged) as damaged:
        ask([], resumed=interrupted, **_ASKED)
    assert interrupted in damaged.value.message
    (kept,) = path.parent.glob(f"{path.name}.damaged-*")
    if where == "file":
        assert kept.read_bytes() == content
    assert resumable(store) == []
    with pytest.raises(NotResumable, match="no checkpoint"):
        ask([], resumed=interrupted, **_ASKED)
    checkpoints.discard(store, interrupted)
    assert list(path.parent.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "kind"), [(sqlite3.SQLITE_FULL, StoreFull), (sqlite3.SQLITE_IOERR, StoreError)]
)
def test_a_checkpoint_that_cannot_be_written_fails_the_run_with_a_sentence(
    ask: Ask, store: Store, monkeypatch: pytest.MonkeyPatch, code: int, kind: type[StoreError]
) -> None:
    error = sqlite3.OperationalError("as the disk says")
    error.sqlite_errorcode = code
    monkeypatch.setattr(Journal, "keep", Mock(side_effect=error))
    with pytest.raises(kind) as told:
        ask([ONE_STEP], **_ASKED)
    (stored,) = Runs(store).recent()
    assert f"deepthink resume {stored.id}" in told.value.way_out
    assert [one.run.id for one in resumable(store)] == [stored.id]


def test_no_other_process_may_take_a_run_while_its_beginning_and_its_end_are_stored(
    ask: Ask, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin, record, held = Runs.begin, Runs.record, list[bool]()

    def note(run_id: str) -> None:
        held.append(checkpoints.exists(store, run_id) and checkpoints.in_use(store, run_id))

    def beginning(runs: Runs, new: NewRun, run_id: str = "", first: StoredEvent | None = None) -> str:
        note(run_id)
        return begin(runs, new, run_id, first)

    def recording(runs: Runs, run_id: str, *what: Any, **how: Any) -> None:
        if how.get("end") is not None:
            note(run_id)
        record(runs, run_id, *what, **how)

    monkeypatch.setattr(Runs, "begin", beginning)
    monkeypatch.setattr(Runs, "record", recording)
    ask([NOT_FOUND], route="single", approve="always", **_ASKED)
    assert held == [True, True]


def test_a_run_that_cannot_be_stored_leaves_no_checkpoint(
    ask: Ask, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Runs, "begin", Mock(side_effect=StoreBusy("held")))
    with pytest.raises(StoreBusy):
        ask([], **_ASKED)
    assert list(checkpoints.folder(store).iterdir()) == []


@pytest.mark.parametrize("days", [-400, 400])
def test_a_clock_that_jumps_changes_neither_a_run_nor_what_it_took(
    ask: Ask, store: Store, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    def jump(_messages: Sequence[Message]) -> str:
        monkeypatch.setattr("traces.runs.now", lambda: now() + timedelta(days=days))
        monkeypatch.setattr("time.time", lambda: 1.7e9 + 86_400 * days)
        return NOT_FOUND

    events = ask([jump], route="single", approve="always", **_ASKED)
    (stored,) = Runs(store).recent()
    assert stored.status == end(events).status == "not_found"
    assert stored.seconds is not None
    assert 0 <= stored.seconds < 300
    assert all(0 <= event.elapsed < 300 for event in Runs(store).events(stored.id))
    assert resumable(store) == []
