"""Sessions: found, named, and never mixed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.traces.test_runs import NEW
from traces.runs import NameTaken, RunEnd, Runs, Sessions, SeveralSessions, UnknownSession
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


def test_a_session_is_found_by_name_by_id_and_as_the_last(store: Store) -> None:
    sessions = Sessions(store)
    with pytest.raises(UnknownSession):
        sessions.find("last")
    one, two = sessions.begin("one"), sessions.begin()
    _asked(store, one, "Why?", "So.")
    found = sessions.find("one")
    assert (found.id, found.runs, found.first) == (one, 1, "Why?")
    assert sessions.find(two[:6]).id == sessions.find(two[:4]).id == two
    assert sessions.find("last").id == one
    assert [s.id for s in sessions.recent()] == [one, two]
    for unknown in ("nothing", "", two[:3]):  # few digits: rather a name that does not exist
        with pytest.raises(UnknownSession):
            sessions.find(unknown)
    with store.transaction() as db:
        db.execute("INSERT INTO sessions VALUES ('abcd1', '', now()), ('abcd2', '', now())")
    with pytest.raises(SeveralSessions):
        sessions.find("abcd")


def test_a_name_belongs_to_one_session(store: Store) -> None:
    sessions = Sessions(store)
    one, two = sessions.begin("one"), sessions.begin()
    sessions.rename(one, "one")
    for taken in ("one", " ", "last"):
        with pytest.raises(NameTaken):
            sessions.rename(two, taken)
    with pytest.raises(NameTaken):
        sessions.begin("one")
    sessions.rename(two, "two")
    assert sessions.find("two").id == two
