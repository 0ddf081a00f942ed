"""Outcomes and gold: stored with a run, replaced by what is measured later, gone with the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.traces.test_runs import NEW, decision, measure
from traces.outcomes import Gold, ImpossibleOutcome, Outcome, Outcomes, write_gold
from traces.rows import select
from traces.runs import Runs
from traces.store import Store


def _run(store: Store) -> str:
    runs = Runs(store)
    run_id = runs.begin(NEW)
    runs.record(run_id, [], [decision(0), replace(decision(1), path="C")])
    return run_id


def _measured(store: Store, run_id: str) -> list[Outcome]:
    with store.connect() as db:
        return select(db, Outcome, "FROM outcomes WHERE run_id = ? ORDER BY path, source", [run_id])


def test_a_later_measurement_by_the_same_source_replaces_the_earlier(store: Store) -> None:
    run_id = _run(store)
    first = [Outcome("C", "evidence", 1.0, {"recall": 1.0}), Outcome("", "evidence", 0.5)]
    measure(store, run_id, *first)
    measure(store, run_id)
    assert _measured(store, run_id) == first[::-1]
    again = [Outcome("C", "evidence", 0.25), Outcome("C", "answer", 0.75, {"f1": 0.75, "em": 0.0})]
    measure(store, run_id, *again)
    assert _measured(store, run_id) == [first[1], again[1], again[0]]


@pytest.mark.parametrize("quality", [-0.1, 1.1, float("nan")])
def test_an_outcome_is_a_share(store: Store, quality: float) -> None:
    run_id = _run(store)
    with pytest.raises(ImpossibleOutcome):
        measure(store, run_id, Outcome("", "evidence", 1.0), Outcome("C", "evidence", quality))
    assert _measured(store, run_id) == []


def test_gold_is_stored_and_goes_with_its_run(store: Store) -> None:
    run_id, outcomes = _run(store), Outcomes(store)
    assert outcomes.gold_of(run_id) is None
    gold = Gold("musique", "2hop__1", ("Ørsted", "Orsted"), (["title", 3], "other"))
    for _ in range(2):
        with store.transaction() as db:
            write_gold(db, run_id, gold)
    assert outcomes.gold_of(run_id) == gold
    measure(store, run_id, Outcome("", "answer", 1.0))
    Runs(store).delete(run_id)
    assert (outcomes.gold_of(run_id), _measured(store, run_id)) == (None, [])
