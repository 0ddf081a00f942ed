"""Sessions: found, named, and never mixed."""

from __future__ import annotations

from dataclasses import replace

from tests.traces.test_runs import NEW
from traces.runs import RunEnd, Runs, Sessions
from traces.store import Store


def _asked(store: Store, session: str, question: str, answer: str, standalone: str = "") -> None:
    runs = Runs(store)
    run_id = runs.begin(replace(NEW, question=question, session=session))
    status = "answered" if answer else "failed"
    runs.record(run_id, [], end=RunEnd(status, "", answer, 1, 1, 1, 1, standalone))


def test_two_sessions_never_mix(store: Store) -> None:
    sessions = Sessions(store)
    one, two = sessions.begin("one"), sessions.begin()
    _asked(store, one, "Revenue in 2023?", "5 [1].")
    _asked(store, two, "Who?", "Ann.")
    _asked(store, one, "and in 2022?", "4 [2].", "Revenue in 2022?")
    _asked(store, one, "broken", "")
    assert sessions.exchanges(one) == [("Revenue in 2023?", "5 [1]."), ("Revenue in 2022?", "4 [2].")]
    assert sessions.exchanges(two) == [("Who?", "Ann.")]
    for number in range(6):
        _asked(store, two, f"{number}?", "Yes.")
    assert [question for question, _ in sessions.exchanges(two)] == [f"{number}?" for number in range(6)]
