"""What is said and measured of runs afterwards: labels, ratings, outcomes and gold."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.traces.old_stores import old_store
from tests.traces.test_runs import NEW, decision, measure
from traces.collected import Collected, Gold, write_gold
from traces.decisions import Label, Labels, Outcome
from traces.runs import Ratings, Runs, Sessions, StoredEvent
from traces.store import Store, StoreError, now, select


@pytest.fixture
def run_id(store: Store) -> str:
    """A run with two decisions and a shadow."""
    runs = Runs(store)
    run_id = runs.begin(NEW)
    runs.record(run_id, [], [decision(0), decision(0, shadow=True), replace(decision(1), path="C")])
    return run_id


def _measured(store: Store, run_id: str) -> list[Outcome]:
    with store.connect() as db:
        return select(db, Outcome, "FROM outcomes WHERE run_id = ? ORDER BY path, source", [run_id])


def test_a_decision_is_stored_with_its_label_or_not_at_all(store: Store, run_id: str) -> None:
    runs, label = Runs(store), Label(2, "CONTINUE", "override")
    runs.record(run_id, [], [decision(2)], labels=[label])
    assert Labels(store).of_run(run_id) == {2: label}
    broken = Label(3, None, "teach")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="NOT NULL"):
        runs.record(run_id, [], [decision(3)], labels=[broken])
    assert len(runs.decisions(run_id)) == 4


def test_what_a_person_decided_before_there_were_labels_is_labelled(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    taken = [("human", "as you decided"), ("human", "asked to answer now"), ("rules", "")]
    with old_store(path, 3) as db:
        for seq, (source, why) in enumerate(taken):
            db.execute(
                """
                INSERT INTO decisions
                VALUES ('r', ?, 1, 2, '{}', '[]', 'FINISH', '{}', 1, ?, 0, ?, false, ?)
                """,
                [seq, source, why, now()],
            )
    (label,) = Labels(Store(path)).of_run("r").values()
    assert (label.seq, label.action, label.origin) == (0, "FINISH", "override")


def test_a_later_measurement_by_the_same_source_replaces_the_earlier(store: Store, run_id: str) -> None:
    first = [Outcome("C", "evidence", 1.0, {"recall": 1.0}), Outcome("", "evidence", 0.5)]
    measure(store, run_id, *first)
    measure(store, run_id)
    assert _measured(store, run_id) == first[::-1]
    again = [Outcome("C", "evidence", 0.25), Outcome("C", "answer", 0.75, {"f1": 0.75, "em": 0.0})]
    measure(store, run_id, *again)
    assert _measured(store, run_id) == [first[1], again[1], again[0]]


@pytest.mark.parametrize("quality", [-0.1, 1.1, float("nan")])
def test_an_outcome_is_a_share(store: Store, run_id: str, quality: float) -> None:
    with pytest.raises(StoreError):
        measure(store, run_id, Outcome("", "evidence", 1.0), Outcome("C", "evidence", quality))
    assert _measured(store, run_id) == []


@pytest.mark.parametrize("by_session", [False, True])
def test_a_run_that_is_deleted_leaves_nothing_and_others_stay(store: Store, by_session: bool) -> None:
    runs, labels, ratings, sessions = Runs(store), Labels(store), Ratings(store), Sessions(store)
    one, two = sessions.begin(), sessions.begin()
    gone, kept = (runs.begin(replace(NEW, session=session)) for session in (one, two))
    gold = Gold("musique", "2hop__1", ("Ørsted", "Orsted"), (["title", 3], "other"))
    for run_id in (gone, kept):
        runs.record(run_id, [StoredEvent(0, 0.0, "Noted", {})], [decision(0)])
        labels.put(run_id, 0, "FINISH")
        ratings.rate(run_id, "wrong")
        measure(store, run_id, Outcome("", "answer", 1.0))
        with store.transaction() as db:
            write_gold(db, run_id, gold)
    if by_session:
        assert sessions.delete(one) == 1
    else:
        runs.delete(gone)
        runs.delete(gone)
    assert [run.id for run in runs.recent()] == [kept]

    def left(run_id: str) -> list[object]:
        return [
            runs.events(run_id),
            runs.decisions(run_id),
            labels.of_run(run_id),
            ratings.of(run_id),
            _measured(store, run_id),
            Collected(store).gold(run_id),
        ]

    assert not any(left(gone))
    assert all(left(kept))
    assert Collected(store).gold(kept) == gold
