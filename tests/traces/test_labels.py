"""Labels: what a decision should have been, kept with the decision or said of it afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.old_stores import old_store
from tests.traces.test_runs import NEW, decision
from traces.labels import ImpossibleLabel, Label, Labels, UnknownDecision
from traces.runs import Runs
from traces.store import Store, now


def _run(store: Store) -> str:
    runs = Runs(store)
    run_id = runs.begin(NEW)
    runs.record(run_id, [], [decision(0), decision(0, shadow=True), decision(1)])
    return run_id


def test_a_decision_is_labelled_and_the_label_taken_back(store: Store) -> None:
    run_id, labels = _run(store), Labels(store)
    labels.put(run_id, 1, "FINISH", note="it was all there")
    (label,) = labels.of_run(run_id).values()
    assert (label.seq, label.action, label.origin, label.note) == (1, "FINISH", "said", "it was all there")
    labels.drop(run_id, 1)
    labels.drop(run_id, 1)
    assert labels.of_run(run_id) == {}


def test_the_last_label_counts_whatever_its_origin(store: Store) -> None:
    run_id, labels = _run(store), Labels(store)
    labels.put(run_id, 0, "FINISH", "teach")
    labels.put(run_id, 0, "CONTINUE")
    (label,) = labels.of_run(run_id).values()
    assert (label.action, label.origin) == ("CONTINUE", "said")


def test_what_was_not_possible_is_no_label(store: Store) -> None:
    run_id, labels = _run(store), Labels(store)
    with pytest.raises(ImpossibleLabel, match="REVISE was not possible at decision 1"):
        labels.put(run_id, 0, "REVISE")
    for where, seq in ((run_id, 2), ("elsewhere", 0)):
        with pytest.raises(UnknownDecision) as raised:
            labels.put(where, seq, "FINISH")
        assert ("in progress" in raised.value.way_out) == (where == run_id), (
            "no run that ended has more to come"
        )
    assert labels.of_run(run_id) == {}


def test_a_decision_is_stored_with_its_label_or_not_at_all(store: Store) -> None:
    runs, labels = Runs(store), Labels(store)
    run_id = runs.begin(NEW)
    label = Label(0, "CONTINUE", "override")
    runs.record(run_id, [], [decision(0)], labels=[label])
    assert labels.of_run(run_id) == {0: label}
    broken = Label(1, None, "teach")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="NOT NULL"):
        runs.record(run_id, [], [decision(1)], labels=[broken])
    assert len(runs.decisions(run_id)) == 1


def test_what_a_person_decided_before_there_were_labels_is_labelled(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    with old_store(path, 3) as db:
        for seq, (source, why) in enumerate(
            [("human", "as you decided"), ("human", "asked to answer now"), ("rules", "")]
        ):
            db.execute(
                """
                INSERT INTO decisions
                VALUES ('r', ?, 1, 2, '{}', '[]', 'FINISH', '{}', 1, ?, 0, ?, false, ?)
                """,
                [seq, source, why, now()],
            )
    (label,) = Labels(Store(path)).of_run("r").values()
    assert (label.seq, label.action, label.origin) == (0, "FINISH", "override")
