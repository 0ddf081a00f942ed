"""Finding runs among many."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.traces.many_runs import fill
from tests.traces.test_runs import NEW, decision
from traces.labels import Labels
from traces.ratings import Ratings
from traces.runs import RunEnd, Runs, StoredEvent
from traces.store import Store


def _answered(
    store: Store, question: str, answer: str, standalone: str = "", status: str = "answered"
) -> str:
    runs = Runs(store)
    run_id = runs.begin(replace(NEW, question=question))
    runs.record(run_id, [], end=RunEnd(status, "", answer, 1, 1, 1, 1, standalone))
    return run_id


def test_a_summary_says_what_a_list_shows(store: Store) -> None:
    runs = Runs(store)
    run_id = runs.begin(replace(NEW, session="s1"))
    (summary,) = runs.search()
    assert (summary.id, summary.question, summary.status) == (run_id, "Why?", "running")
    assert (summary.seconds, summary.rating, summary.decisions, summary.labels) == (None, "", 0, 0)
    end = RunEnd("answered", "", "So.", 0, 0, 0, 0)
    finished = StoredEvent(0, 2.4, "RunFinished", {})
    runs.record(run_id, [finished], [decision(0), decision(0, shadow=True), decision(1)], end)
    Labels(store).put(run_id, 1, "FINISH")
    Ratings(store).rate(run_id, "good")
    (summary,) = runs.search()
    assert (summary.rating, summary.decisions, summary.labels) == ("good", 2, 1)
    assert (summary.profile, summary.chat_model, summary.decider) == ("lean", "chat", "rules")
    assert summary.session == "s1"
    assert summary.seconds == 2.4


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", "abc"),
        ("revenue", "ab"),
        ("REVENUE  2023", "a"),
        ("ann", "bc"),
        ("ÄPFEL", "c"),
        ("100%", "a"),
        ("1%0", ""),
        ("0_%", ""),
        ("revenueand", ""),
    ],
)
def test_every_word_must_stand_somewhere(store: Store, text: str, found: str) -> None:
    ids = {
        _answered(store, "Revenue in 2023?", "It grew by 100%."): "a",
        _answered(store, "and then?", "Ann left.", "What of the revenue?"): "b",
        _answered(store, "Who?", "Ann, who sells äpfel"): "c",
    }
    runs = Runs(store)
    assert {ids[r.id] for r in runs.search(text)} == set(found)
    assert runs.count(text) == len(found)


def test_pages_are_newest_first_and_narrowed_by_status_and_session(store: Store) -> None:
    fill(store, 40)
    runs = Runs(store)
    everything = runs.search()
    assert [r.started for r in everything] == sorted((r.started for r in everything), reverse=True)
    assert runs.search(limit=15) + runs.search(limit=15, offset=15) == everything[:30]
    assert {r.status for r in runs.search(statuses=["failed", "cancelled"])} == {"failed", "cancelled"}
    assert runs.count(statuses=["failed", "cancelled"]) == 4
    session = everything[0].session
    assert runs.count(session=session) == len(runs.search(session=session)) == 10
    assert runs.count("revenue", ["answered"], session) == len(
        runs.search("revenue", ["answered"], session)
    )
