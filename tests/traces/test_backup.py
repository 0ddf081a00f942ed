"""Backups, and what is left of a damaged store."""

from __future__ import annotations

import os
import shutil
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from tests.agent.conftest import fill
from tests.scripted import HashEmbedder
from tests.traces.damage import damage_table
from tests.traces.test_runs import NEW
from traces.backup import NotABackup, back_up, rebuild, restore
from traces.library import Library
from traces.paths import config_file, data_dir, store_file
from traces.runs import Runs
from traces.store import Store, StoreTooNew

pytestmark = pytest.mark.shared_store


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a library: it takes longer to fill than to copy."""
    store = Store(tmp_path_factory.mktemp("filled") / "store.duckdb")
    fill(store, HashEmbedder())
    return store.path


@pytest.fixture
def own(filled: Path) -> Store:
    """A library at its place in the home, with a run, its checkpoint, a policy and settings."""
    store_file().parent.mkdir(parents=True)
    store = Store(Path(shutil.copy(filled, store_file())))
    run_id = Runs(store).begin(NEW)
    (data_dir() / "checkpoints").mkdir()
    with closing(sqlite3.connect(data_dir() / "checkpoints" / f"{run_id}.sqlite")) as db, db:
        db.execute("CREATE TABLE kept (n INTEGER)")
        db.execute("INSERT INTO kept VALUES (7)")
    (data_dir() / "policies" / "mine").mkdir(parents=True)
    (data_dir() / "policies" / "mine" / "manifest.json").write_text("{}")
    config_file().parent.mkdir()
    config_file().write_text("web = false\n")
    return store


def _content(store: Store) -> tuple[object, ...]:
    tables = ("documents", "chunks", "vectors", "runs", "collections")
    return tuple(store.rows(f"FROM {table} ORDER BY ALL") for table in tables)


def test_a_backup_brings_everything_back_and_keeps_what_was_there(own: Store, tmp_path: Path) -> None:
    content = _content(own)
    (run,) = Runs(own).recent()
    file = tmp_path / "backup.zip"
    (data_dir() / "training" / "x").mkdir(parents=True)
    (data_dir() / "training" / "x" / "shares").write_text("half")
    back_up(own, file)
    assert not any("training" in name for name in zipfile.ZipFile(file).namelist())
    Library(own).remove_collection("news")
    Runs(own).delete(run.id)
    config_file().write_text("web = true\n")
    (data_dir() / "policies" / "mine" / "manifest.json").write_text("changed")
    changed = _content(own)
    before = restore(own, file)
    assert _content(Store(own.path)) == content
    assert config_file().read_text() == "web = false\n"
    assert (data_dir() / "policies" / "mine" / "manifest.json").read_text() == "{}"
    with closing(sqlite3.connect(data_dir() / "checkpoints" / f"{run.id}.sqlite")) as db:
        assert db.execute("SELECT n FROM kept").fetchall() == [(7,)]
    assert before is not None
    assert _content(Store(before / own.path.name)) == changed
    assert (before / "config.toml").read_text() == "web = true\n"
    assert [path.name for path in data_dir().iterdir() if path.name.startswith(".")] == []
    own.path.rename(tmp_path / "elsewhere")
    assert restore(own, file) is not None  # the policies that were there
    assert _content(Store(own.path)) == content


@pytest.mark.parametrize("what", ["text", "other", "cut", "newer"])
def test_what_is_no_backup_changes_nothing(own: Store, tmp_path: Path, what: str) -> None:
    content = _content(own)
    file = tmp_path / "backup.zip"
    if what == "newer":
        with own.connect() as db:
            db.execute("INSERT INTO schema_version VALUES (99)")
    back_up(own, file)
    if what == "newer":
        with duckdb.connect(str(own.path)) as db:
            db.execute("DELETE FROM schema_version WHERE version = 99")
    if what == "text":
        file.write_text("no backup")
    if what == "other":
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("../climbs.txt", "out")
    if what == "cut":
        file.write_bytes(file.read_bytes()[:-2000])
    with pytest.raises(StoreTooNew if what == "newer" else NotABackup):
        restore(own, file)
    assert _content(Store(own.path)) == content
    assert not list(data_dir().glob("before-restore-*"))
    assert not (data_dir().parent / "climbs.txt").exists()


# --- a damaged store ----------------------------------------------------------------------------------


def test_a_library_whose_vectors_are_damaged_keeps_the_rest(own: Store) -> None:
    with own.connect() as db:  # large enough for blocks of their own
        db.execute(
            "INSERT INTO vectors SELECT i, list_transform(range(128), lambda n: random())::FLOAT[128] "
            "FROM range(1000, 9000) t (i)"
        )
    before = _content(own)
    damage_table(own, "vectors")
    damaged = own.path.read_bytes()
    done = rebuild(own)
    assert done.lost == ("vectors",)
    assert done.set_aside.read_bytes() == damaged, "it is never written to"
    rebuilt = Store(own.path)
    after = _content(rebuilt)
    assert (after[0], after[1], after[3], after[4]) == (before[0], before[1], before[3], before[4])
    assert len(Library(rebuilt).unembedded(HashEmbedder().name, 100)) == 5
    # New passages get ids that no run has cited.
    assert rebuilt.rows("SELECT nextval('chunk_ids') > max(id) FROM chunks") == [(True,)]


def test_a_file_of_which_nothing_can_be_read_is_set_aside_and_begun_anew(own: Store) -> None:
    damaged = os.urandom(own.path.stat().st_size)
    own.path.write_bytes(damaged)
    done = rebuild(own)
    assert done.set_aside.read_bytes() == damaged
    assert "chunks" in done.lost
    assert Library(Store(own.path)).documents() == []
