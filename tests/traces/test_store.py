"""The store: migrations, waiting for other processes, all or nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from traces.decisions import Labels
from traces.folders import Folders, Unreadable
from traces.runs import Runs
from traces.store import (
    NotAStore,
    NotText,
    Store,
    StoreBusy,
    StoreDamaged,
    StoreError,
    StoreFull,
    StoreTooNew,
    _store_error,
    copy_database,
    set_aside,
)

pytestmark = pytest.mark.shared_store

OLD_RUN = """
INSERT INTO runs (id, question, profile, chat_model, embedder, reranker, decider, collections, status,
    stopped_because, answer, started, finished, model_calls, evaluated, reused, generated)
VALUES (?, 'Why?', 'lean', 'chat', 'embedder', '', 'rules', '[]', ?, '', '', TIMESTAMP '2026-05-03', ?,
    0, 0, 0, 0)
"""
"""Inserts a run: its id, its status, when it finished."""


@contextmanager
def old_store(path: Path, version: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """An empty store with the schema of ``version``, to be filled."""
    with duckdb.connect(str(path)) as db:
        db.execute("CREATE TABLE schema_version (version INTEGER NOT NULL)")
        for script in sorted((files("traces") / "migrations").iterdir(), key=lambda s: s.name):
            if script.name.endswith(".sql") and int(script.name[:4]) <= version:
                db.execute(script.read_text("utf-8"))
                db.execute("INSERT INTO schema_version VALUES (?)", [int(script.name[:4])])
        yield db


_HOLD = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def holder(store: Store) -> Iterator[subprocess.Popen[str]]:
    """A process that has the store open until it is killed."""
    with store.connect():
        pass
    command = [sys.executable, "-c", _HOLD, str(store.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


def test_ctrl_c_during_a_query_stays_what_it_is(store: Store) -> None:
    def fails(with_words: str) -> None:
        with store.transaction():
            raise RuntimeError(with_words)

    with pytest.raises(KeyboardInterrupt):
        fails("Query interrupted")  # as DuckDB raises it
    with pytest.raises(RuntimeError, match="anything else"):
        fails("anything else")


def test_another_process_is_waited_for_a_while_and_that_is_told_once(
    store: Store, holder: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("traces.store._ANNOUNCE_AFTER", 0.2)
    told: list[str] = []
    impatient = Store(store.path, patience=0.5, on_wait=told.append)
    with ThreadPoolExecutor() as threads:
        waiting = [threads.submit(impatient.rows, "SELECT 1") for _ in range(3)]
    with pytest.raises(StoreBusy) as caught:
        waiting[0].result()
    assert caught.value.way_out
    assert told == [f"Another process (number {holder.pid}) is using the library; waiting for it."]
    threading.Timer(0.2, holder.kill).start()
    assert store.rows("SELECT 1") == [(1,)]  # would raise at once without the wait


def test_threads_that_open_at_once_can_all_take_arrow_tables(store: Store) -> None:
    some = pa.table({"n": [1, 2]})

    def read(_number: int) -> None:
        for _ in range(25):
            with store.connect() as db:
                db.register("numbers", some)
                db.execute("SELECT * FROM numbers").fetchall()

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(read, range(3)))


def test_a_newer_schema_is_refused(store: Store) -> None:
    store.rows("INSERT INTO schema_version VALUES (99)")
    with pytest.raises(StoreTooNew), Store(store.path).connect():
        pass


def test_a_text_of_odd_bytes_is_no_reason_to_part_with_the_file(store: Store) -> None:
    with pytest.raises(NotText) as caught:
        store.rows("SELECT ?", ["\udcff"])
    assert "UTF-8" in caught.value.message
    assert caught.value.kind == "usage"


@pytest.mark.parametrize(
    ("error", "kind", "way_out"),
    [
        (duckdb.IOException("not a valid DuckDB database file"), StoreDamaged, "deepthink restore"),
        (duckdb.Error("Corrupt database file: checksum 1 does not match 2"), StoreDamaged, "restore FILE"),
        (duckdb.FatalException("database has been invalidated"), StoreError, "deepthink doctor"),
        (duckdb.OutOfMemoryException("could not allocate"), StoreError, "deepthink doctor"),
        (duckdb.IOException("Could not write file: No space left on device"), StoreFull, "Free some"),
        (duckdb.IOException('Cannot open file "s": Read-only file system'), StoreError, "DEEPTHINK_HOME"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_error_of_the_database_says_what_to_do(
    error: duckdb.Error, kind: type[StoreError], way_out: str, tmp_path: Path
) -> None:
    told = _store_error(error, tmp_path / "s.duckdb")
    assert type(told) is kind
    assert way_out in told.way_out


@pytest.mark.parametrize("name", ["mine.parquet", "mine.csv", "mine.duckdb", "theirs.duckdb"])
def test_a_named_file_that_is_no_store_is_left_as_it_is_with_a_way_out(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(pa.table({"n": [1]}), path)
    elif name == "theirs.duckdb":
        with duckdb.connect(str(path)) as theirs:
            theirs.execute("CREATE TABLE theirs (n INTEGER)")
    else:
        path.write_text("n,m\n1,2\n" * 9)
    before = path.read_bytes()
    with pytest.raises(NotAStore) as caught, Store(path, named=True).connect():
        pass
    assert path.read_bytes() == before
    assert "traces import" in caught.value.way_out
    assert "restore" not in caught.value.way_out


def test_a_folder_that_cannot_be_made_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as caught, Store(tmp_path / "file" / "s.duckdb").connect():
        pass
    assert "DEEPTHINK_HOME" in caught.value.way_out


def test_threads_may_change_the_same_row(store: Store) -> None:
    with store.transaction() as db:
        db.execute("INSERT INTO collections VALUES ('c', '', 0, now()::TIMESTAMP)")

    def touch(_number: int) -> None:
        for _ in range(5):
            with Store(store.path).transaction() as db:
                db.execute("UPDATE collections SET generation = generation + 1")

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(touch, range(4)))
    assert store.rows("SELECT generation FROM collections") == [(20,)]


def test_a_store_of_the_previous_version_is_copied_before_it_is_migrated(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    [(newest,)] = Store(tmp_path / "new.duckdb").rows("SELECT max(version) FROM schema_version")
    with old_store(path, newest - 1) as db:
        db.execute(OLD_RUN, ["r", "answered", "2026-05-03"])
        db.execute("INSERT INTO unreadable VALUES ('c', '/a.pdf', 1, 2, 3, '')")
    copy = path.with_name(f"{path.name}.v{newest - 1}")
    for store in (Store(path), Store(copy)):
        assert store.rows("SELECT id FROM runs") == [("r",)]
        assert store.rows("SELECT max(version) FROM schema_version") == [(newest,)]
        assert Folders(store).unreadable("c") == {"/a.pdf": Unreadable(1, 2, 3, "")}


def test_what_early_versions_did_not_store_is_worked_out(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    taken = [
        ("ended", 0, "CONTINUE", "human", "as you decided"),
        ("ended", 1, "REVISE", "human", "asked to answer now"),
        ("ended", 2, "CONTINUE", "rules", ""),
        ("ended", 3, "FINISH", "rules", ""),
        ("killed", 0, "FINISH", "rules", ""),
    ]
    with old_store(path, 3) as db:
        for run_id, end in (("ended", datetime(2026, 5, 4)), ("killed", None)):
            db.execute(OLD_RUN, [run_id, "answered" if end else "running", end])
            db.execute("INSERT INTO events VALUES (?, 0, 0.0, 'RunStarted', '{}')", [run_id])
            db.execute("INSERT INTO events VALUES (?, 1, 2.4, 'Noted', '{}')", [run_id])
        for shadow in (True, False):  # as they lie in the file says nothing of their order
            for run_id, seq, action, source, why in reversed(taken):
                db.execute(
                    """
                    INSERT INTO decisions
                    VALUES (?, ?, 1, 2, '{}', '["FINISH"]', ?, '{}', 1, ?, 0, ?, ?, TIMESTAMP '2026-05-04')
                    """,
                    [run_id, seq, "FINISH" if shadow else action, source, why, shadow],
                )
    runs = Runs(Store(path))
    assert (runs.find("ended").seconds, runs.find("killed").seconds) == (2.4, None)
    assert [(d.path, d.shadow, d.text, d.features) for d in runs.decisions("ended")] == [
        (path, shadow, "", {}) for path in ("", "C", "CR", "CRC") for shadow in (False, True)
    ]
    assert [d.path for d in runs.decisions("killed")] == ["", ""]
    (label,) = Labels(Store(path)).of_run("ended").values()
    assert (label.seq, label.action, label.origin) == (0, "CONTINUE", "override")


def test_what_cannot_be_copied_is_not_migrated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.duckdb"
    with old_store(path, 8):
        pass

    def full(*_: object) -> None:
        raise duckdb.IOException("No space left on device")

    monkeypatch.setattr("traces.store.copy_database", full)
    with pytest.raises(StoreFull), Store(path).connect():
        pass
    with duckdb.connect(str(path)) as db:
        assert db.execute("SELECT max(version) FROM schema_version").fetchall() == [(8,)]


def test_a_copy_has_all_rows_and_nothing_that_was_deleted(store: Store, tmp_path: Path) -> None:
    secret = "cinnabar-" * 40
    with store.transaction() as db:
        db.execute("INSERT INTO collections VALUES (?, '', 0, now()::TIMESTAMP)", [secret])
        db.execute("INSERT INTO collections VALUES ('kept', '', 0, now()::TIMESTAMP)")
        db.execute("SELECT nextval('chunk_ids')")
    with store.transaction() as db:
        db.execute("DELETE FROM collections WHERE name <> 'kept'")
    target = tmp_path / 'it\'s "copied".duckdb'
    with store.connect() as db:
        copy_database(db, target)
    assert b"cinnabar" not in target.read_bytes()
    assert Store(target).rows("SELECT name FROM collections") == [("kept",)]
    assert Store(target).rows("SELECT nextval('chunk_ids')") == [(2,)]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_a_new_store_killed_half_made_is_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.duckdb"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("traces.store.os.link", killed)
    with pytest.raises(KeyboardInterrupt), Store(path).connect():
        pass
    assert not path.exists()


def test_two_that_make_a_store_at_once_share_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "s.duckdb"
    link = os.link

    def slower(fresh: Path, place: Path) -> None:
        monkeypatch.setattr("traces.store.os.link", link)
        with Store(path).transaction() as db:
            db.execute("INSERT INTO collections VALUES ('c', '', 0, now()::TIMESTAMP)")
        link(fresh, place)

    monkeypatch.setattr("traces.store.os.link", slower)
    assert Store(path).rows("SELECT name FROM collections") == [("c",)]


def test_a_damaged_file_is_set_aside_under_a_name_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    kept = []
    for content in ("first", "second"):
        path.write_text(content)
        path.with_name("s.duckdb.wal").write_text(f"log of {content}")
        kept.append(set_aside(path))
    assert [file.read_text() for file in kept] == ["first", "second"]
    assert [file.with_name(f"{file.name}.wal").read_text() for file in kept] == [
        "log of first",
        "log of second",
    ]
    assert not path.exists()
