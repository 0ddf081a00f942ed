"""Ratings: one per run, and gone with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.traces.test_runs import NEW, decision
from traces.labels import Labels
from traces.ratings import Ratings, UnknownRating
from traces.runs import Runs, StoredEvent, UnknownRun
from traces.sessions import Sessions
from traces.store import Store


def test_a_run_is_rated_anew_and_the_rating_withdrawn(store: Store) -> None:
    run_id, ratings = Runs(store).begin(NEW), Ratings(store)
    assert ratings.of(run_id) is None
    ratings.rate(run_id, "good")
    ratings.rate(run_id, "partly", "half of it")
    row = ratings.of(run_id)
    assert row is not None
    assert (row.run_id, row.rating, row.note) == (run_id, "partly", "half of it")
    ratings.withdraw(run_id)
    ratings.withdraw(run_id)
    assert ratings.of(run_id) is None


def test_only_a_stored_run_can_be_rated_and_only_in_three_words(store: Store) -> None:
    ratings = Ratings(store)
    with pytest.raises(UnknownRun):
        ratings.rate("nowhere", "good")
    with pytest.raises(UnknownRating, match="splendid"):
        ratings.rate(Runs(store).begin(NEW), "splendid")  # type: ignore[arg-type]


@pytest.mark.parametrize("by_session", [False, True])
def test_a_run_that_is_deleted_leaves_nothing_and_others_stay(store: Store, by_session: bool) -> None:
    runs, labels, ratings, sessions = Runs(store), Labels(store), Ratings(store), Sessions(store)
    one, two = sessions.begin(), sessions.begin()
    gone, kept = (runs.begin(replace(NEW, session=session)) for session in (one, two))
    for run_id in (gone, kept):
        runs.record(run_id, [StoredEvent(0, 0.0, "Noted", {})], [decision(0)])
        labels.put(run_id, 0, "FINISH")
        ratings.rate(run_id, "wrong")
    if by_session:
        assert sessions.delete(one) == 1
    else:
        runs.delete(gone)
        runs.delete(gone)
    assert [run.id for run in runs.recent()] == [kept]
    assert (runs.events(gone), runs.decisions(gone)) == ([], [])
    assert (labels.of_run(gone), ratings.of(gone)) == ({}, None)
    assert len(runs.events(kept)) == len(runs.decisions(kept)) == len(labels.of_run(kept)) == 1
    assert ratings.of(kept) is not None
