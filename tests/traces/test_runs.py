"""What was done: a run's life in the store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.traces.many_runs import fill
from traces.decisions import DecisionRow, Labels, Outcome, write_outcomes
from traces.runs import NewRun, Ratings, RunEnd, Runs, Sessions, StoredEvent, UnknownRun, UnknownSession
from traces.store import Store

NEW = NewRun("Why?", "lean", "chat", "embedder", "", "rules", ("a", "b"))


def measure(store: Store, run_id: str, *outcomes: Outcome) -> None:
    """Store outcomes of a run, as collecting does."""
    with store.transaction() as db:
        write_outcomes(db, run_id, outcomes)


def decision(seq: int, *, shadow: bool = False) -> DecisionRow:
    """A decision between going on and finishing."""
    return DecisionRow(
        seq=seq,
        step=seq + 1,
        state_version=1,
        state={"question": "Why?", "open": ["x"]},
        valid_actions=("CONTINUE", "FINISH"),
        action="CONTINUE",
        probabilities={"CONTINUE": 0.75, "REVISE": 0.0, "FINISH": 0.25},
        behaviour_probability=0.75,
        source="llm",
        latency_ms=12.5,
        justification="more is needed",
        shadow=shadow,
    )


def test_a_run_is_found_by_its_id_a_beginning_that_no_other_has_or_as_the_last(
    store: Store,
) -> None:
    runs = Runs(store)
    with pytest.raises(UnknownRun):
        runs.find("last")
    runs.begin(NEW, "q1")
    runs.begin(NEW, "q10")
    assert (runs.find("q1").id, runs.find("q10").id) == ("q1", "q10")
    assert [runs.find("last").id, *(r.id for r in runs.recent(1))] == ["q10", "q10"]
    for prefix, problem in (("", "No run is named"), ("q", "Several runs"), ("zzz", "No run begins")):
        with pytest.raises(UnknownRun, match=problem):
            runs.find(prefix)


def test_a_resumed_run_loses_its_end_and_nothing_else(store: Store) -> None:
    runs = Runs(store)
    run_id = runs.begin(replace(NEW, session="s1", request={"steps": 3}))
    runs.record(run_id, [StoredEvent(0, 0.1, "Noted", {})], superstep=4)
    runs.record(
        run_id, [StoredEvent(1, 0.2, "RunFinished", {})], end=RunEnd("cancelled", "", "", 1, 2, 3, 4, "")
    )
    assert [r.id for r in runs.unfinished()] == [run_id]
    runs.reopen(run_id)
    run = runs.find(run_id)
    assert (run.status, run.finished, run.superstep) == ("running", None, 4)
    assert (run.session, run.request, run.seconds) == ("s1", {"steps": 3}, None)
    assert [e.kind for e in runs.events(run_id)] == ["Noted"]


# --- finding runs among many


def _answered(store: Store, question: str, answer: str, standalone: str = "", session: str = "") -> str:
    runs = Runs(store)
    run_id = runs.begin(replace(NEW, question=question, session=session))
    status = "answered" if answer else "failed"
    runs.record(run_id, [], end=RunEnd(status, "", answer, 1, 1, 1, 1, standalone))
    return run_id


def test_a_summary_says_what_a_list_shows(store: Store) -> None:
    runs = Runs(store)
    run_id = runs.begin(replace(NEW, session="s1"))
    (summary,) = runs.search()
    assert (summary.id, summary.question, summary.status) == (run_id, "Why?", "running")
    assert (summary.seconds, summary.rating, summary.decisions, summary.labels) == (None, "", 0, 0)
    end = RunEnd("answered", "", "So.", 0, 0, 0, 0, "")
    finished = StoredEvent(0, 2.4, "RunFinished", {})
    runs.record(run_id, [finished], [decision(0), decision(0, shadow=True), decision(1)], end)
    Labels(store).put(run_id, 1, "FINISH")
    Ratings(store).rate(run_id, "good")
    (summary,) = runs.search()
    assert (summary.rating, summary.decisions, summary.labels) == ("good", 2, 1)
    assert (summary.profile, summary.chat_model, summary.decider) == ("lean", "chat", "rules")
    assert summary.session == "s1"
    assert summary.seconds == 2.4


def test_every_word_must_stand_somewhere(store: Store) -> None:
    ids = {
        _answered(store, "Revenue in 2023?", "It grew by 100%."): "a",
        _answered(store, "and then?", "Ann left.", "What of the revenue?"): "b",
        _answered(store, "Who?", "Ann, who sells äpfel"): "c",
    }
    runs = Runs(store)
    for text, found in {
        "": "abc",
        "revenue": "ab",
        "REVENUE  2023": "a",
        "ann": "bc",
        "ÄPFEL": "c",
        "100%": "a",
        "1%0": "",
        "0_%": "",
        "revenueand": "",
    }.items():
        assert {ids[r.id] for r in runs.search(text)} == set(found), text
        assert runs.count(text) == len(found), text


def test_pages_are_newest_first_and_narrowed_by_status(store: Store) -> None:
    fill(store, 40)
    runs = Runs(store)
    everything = runs.search()
    assert [r.started for r in everything] == sorted((r.started for r in everything), reverse=True)
    assert runs.search(limit=15) + runs.search(limit=15, offset=15) == everything[:30]
    assert {r.status for r in runs.search(statuses=["failed", "cancelled"])} == {"failed", "cancelled"}
    assert runs.count(statuses=["failed", "cancelled"]) == 4
    assert runs.count("revenue", ["answered"]) == len(runs.search("revenue", ["answered"]))


def test_two_sessions_never_mix(store: Store) -> None:
    sessions = Sessions(store)
    one, two = sessions.begin("one"), sessions.begin()
    _answered(store, "Revenue in 2023?", "5 [1].", session=one)
    _answered(store, "Who?", "Ann.", session=two)
    _answered(store, "and in 2022?", "4 [2].", "Revenue in 2022?", session=one)
    _answered(store, "broken", "", session=one)
    assert sessions.exchanges(one) == [("Revenue in 2023?", "5 [1]."), ("Revenue in 2022?", "4 [2].")]
    assert sessions.exchanges(two) == [("Who?", "Ann.")]
    for number in range(6):
        _answered(store, f"{number}?", "Yes.", session=two)
    assert [question for question, _ in sessions.exchanges(two)] == [f"{number}?" for number in range(6)]


def test_a_session_goes_with_its_last_run(store: Store) -> None:
    sessions, runs = Sessions(store), Runs(store)
    one, two, begun = sessions.begin("one"), sessions.begin("two"), sessions.begin("begun")
    for session in (one, one, two):
        _answered(store, "Who?", "Ann.", session=session)
    first, second = (run.id for run in runs.of_session(one))
    runs.delete(first)
    assert {session.id for session in sessions.recent()} == {one, two}
    runs.delete(second)
    assert [session.id for session in sessions.recent()] == [two]
    with pytest.raises(UnknownSession):
        sessions.find("one")
    assert sessions.find("begun").id == begun, "its first run may be about to begin"
