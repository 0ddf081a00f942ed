"""Checkpoint files: called by their run's id, which must not lead out of their folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent import checkpoints
from agent.checkpoints import UnusableRunId
from agent.run import resumable
from tests.traces.test_runs import NEW
from traces.runs import Runs
from traces.store import Store


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
    for use in (checkpoints.held, checkpoints.discard):
        with pytest.raises(UnusableRunId, match="is not one plain name") as refused:
            use(store, run_id)
        assert refused.value.way_out
    with (
        pytest.raises(UnusableRunId),
        checkpoints.opened(store, run_id, lambda _log: None),
    ):
        raise AssertionError("it was opened")
    assert {path: path.read_text() for path in files} == files
    assert list(checkpoints.folder(store).iterdir()) == []


def test_what_can_be_resumed_is_told_though_an_id_or_a_file_is_odd(store: Store, tmp_path: Path) -> None:
    runs = Runs(store)
    good = runs.begin(NEW)
    odd = runs.begin(replace(NEW, question="Odd?"))
    with store.transaction() as db:  # as an import once allowed
        db.execute("UPDATE runs SET id = '../notes' WHERE id = ?", [odd])
    (tmp_path / "notes.sqlite").touch()
    for run_id in (good, "b"):
        with checkpoints.opened(store, run_id, lambda _log: None):
            pass
    copied = checkpoints.folder(store) / "a copy.sqlite"
    copied.touch()
    assert [entry.run.id for entry in resumable(store)] == [good]
    left = {path.name for path in checkpoints.folder(store).glob("*.sqlite")}
    assert left == {f"{good}.sqlite", "a copy.sqlite"}, "that of no run is swept, what is not ours stays"
    assert (tmp_path / "notes.sqlite").exists()
