"""Sessions: found, named, deleted, and never mixed."""

from __future__ import annotations

import pytest

from traces.runs import NewRun, RunEnd, Runs, StoredEvent
from traces.sessions import Exchange, NameTaken, Sessions, SeveralSessions, UnknownSession
from traces.store import Store


def _asked(store: Store, session: str, question: str, standalone: str, answer: str) -> str:
    runs = Runs(store)
    run_id = runs.begin(NewRun(question, "lean", "chat", "embedder", "", "rules", (), session))
    status = "answered" if answer else "failed"
    end = RunEnd(status, "", answer, 1, 1, 1, 1, standalone)
    runs.record(run_id, [StoredEvent(0, 0.0, "RunStarted", {})], end=end)
    return run_id


def test_two_sessions_never_mix(store: Store) -> None:
    sessions = Sessions(store)
    one, two = sessions.begin("one"), sessions.begin()
    _asked(store, one, "Revenue in 2023?", "", "5 [1].")
    _asked(store, two, "Who?", "", "Ann.")
    _asked(store, one, "and in 2022?", "Revenue in 2022?", "4 [2].")
    _asked(store, one, "broken", "", "")
    assert sessions.exchanges(one) == [
        Exchange("Revenue in 2023?", "5 [1]."),
        Exchange("Revenue in 2022?", "4 [2]."),
    ]
    assert sessions.exchanges(one, limit=1) == [Exchange("Revenue in 2022?", "4 [2].")]
    assert sessions.exchanges(two) == [Exchange("Who?", "Ann.")]


def test_a_session_is_found_by_name_by_id_and_as_the_last(store: Store) -> None:
    sessions = Sessions(store)
    with pytest.raises(UnknownSession):
        sessions.find("last")
    one, two = sessions.begin("one"), sessions.begin()
    _asked(store, one, "Why?", "", "So.")
    found = sessions.find("one")
    assert (found.id, found.runs, found.first) == (one, 1, "Why?")
    assert sessions.find(two[:6]).id == two
    assert sessions.find(two[:4]).id == two
    assert sessions.find("last").id == one
    assert [s.id for s in sessions.recent()] == [one, two]
    for unknown in ("nothing", "", two[:1], two[:3]):  # a digit or three: rather a name that is not there
        with pytest.raises(UnknownSession):
            sessions.find(unknown)


def test_the_beginning_of_several_ids_is_told_apart_from_an_unknown_name(store: Store) -> None:
    with store.transaction() as db:
        db.execute("INSERT INTO sessions VALUES ('abcd1', '', now()), ('abcd2', '', now())")
    with pytest.raises(SeveralSessions):
        Sessions(store).find("abcd")


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


def test_deleting_a_session_takes_its_runs_and_no_others(store: Store) -> None:
    sessions = Sessions(store)
    one, two = sessions.begin(), sessions.begin()
    gone = _asked(store, one, "Why?", "", "So.")
    kept = _asked(store, two, "Who?", "", "Ann.")
    assert sessions.delete(one) == 1
    runs = Runs(store)
    assert [r.id for r in runs.recent()] == [kept]
    assert runs.events(gone) == []
    with pytest.raises(UnknownSession):
        sessions.find(one)
