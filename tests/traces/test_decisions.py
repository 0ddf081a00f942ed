"""Decisions: labelled, measured, compared, and read as a Markov decision process, worked by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.traces.test_runs import NEW, decision, measure
from traces.collected import Collected, Gold, write_gold
from traces.decisions import DecisionRow, Label, Labels, Outcome
from traces.runs import RATINGS, Ratings, RunEnd, Runs, Sessions, StoredEvent
from traces.store import Store, StoreError

ALL = ("CONTINUE", "REVISE", "FINISH")


def node(
    seq: int, path: str, action: str, valid: tuple[str, ...] = ALL, *, shadow: bool = False
) -> DecisionRow:
    """A decision at a path; its text names the path."""
    return replace(
        decision(seq, shadow=shadow),
        path=path,
        text=f"at {path}",
        action=action,
        valid_actions=valid,
        behaviour_probability=0.9,
    )


LINE = (
    node(0, "", "CONTINUE"),
    node(0, "", "FINISH", shadow=True),
    node(1, "C", "REVISE"),
    node(2, "CR", "FINISH"),
)
TREE = (
    node(0, "", "CONTINUE", ("CONTINUE",)),
    node(1, "C", "CONTINUE"),
    node(2, "CC", "FINISH", ("FINISH",)),
    node(3, "CR", "FINISH", ("FINISH",)),
)


def stored(store: Store, decisions: tuple[DecisionRow, ...], events: tuple[StoredEvent, ...] = ()) -> str:
    """A run with these decisions and events."""
    runs = Runs(store)
    run_id = runs.begin(NEW)
    runs.record(run_id, events, decisions, RunEnd("answered", "", "So.", 0, 0, 0, 0, ""))
    return run_id


def transitions(store: Store, run_id: str) -> set[tuple[Any, ...]]:
    """Path, action, reward and its source, next path, done, behaviour probability."""
    rows = store.rows(
        """
        SELECT state, action, reward, reward_source, next_state, done, behaviour_probability, seq, next_seq
        FROM transitions WHERE run_id = ?
        """,
        [run_id],
    )
    assert len(rows) == len(set(rows))
    return {row[:7] for row in rows}


def finishes(store: Store, run_id: str) -> dict[str, tuple[str, float]]:
    """Source and quality of finishing, by path."""
    rows = store.rows("SELECT path, source, quality FROM finishes WHERE run_id = ?", [run_id])
    return {path: (source, quality) for path, source, quality in rows}


GOING_ON = {
    ("at ", "CONTINUE", 0.0, "", "at C", False, 0.9),
    ("at C", "REVISE", 0.0, "", "at CR", False, 0.9),
}


def test_a_rating_is_the_reward_of_the_last_finish(store: Store) -> None:
    run_id, unfinished = stored(store, LINE), stored(store, LINE[:3])
    assert transitions(store, run_id) == GOING_ON, "nobody judged its end"
    Ratings(store).rate(unfinished, "good")
    for rating, quality in zip(RATINGS, (1.0, 0.5, 0.0), strict=True):
        Ratings(store).rate(run_id, rating)
        end = ("at CR", "FINISH", quality, "rating", None, True, 0.9)
        assert transitions(store, run_id) == GOING_ON | {end}
    assert finishes(store, unfinished) == {}


def test_a_label_says_what_finishing_there_would_have_been_worth(store: Store) -> None:
    run_id, tree = stored(store, LINE), stored(store, TREE)
    Labels(store).put(run_id, 0, "CONTINUE")
    Labels(store).put(run_id, 1, "FINISH")
    assert transitions(store, run_id) == GOING_ON | {
        ("at ", "FINISH", 0.0, "override", None, True, None),  # the run did not take it
        ("at C", "FINISH", 1.0, "override", None, True, None),
    }
    Labels(store).put(tree, 0, "CONTINUE")  # where finishing was impossible
    assert not [row for row in transitions(store, tree) if row[1] == "FINISH"]


def told(*kinds: tuple[str, float | None]) -> tuple[StoredEvent, ...]:
    """Events of these kinds, each with a share if it has one."""
    return tuple(
        StoredEvent(seq, 0.1 * seq, kind, {} if share is None else {"share": share})
        for seq, (kind, share) in enumerate(kinds)
    )


DECIDED = ("Decided", None)
SENT_BACK = (node(0, "", "FINISH"), node(1, "F", "FINISH"))
"""After FINISH a person may have it search again; what comes of that is another answer."""


@pytest.mark.parametrize(
    ("decisions", "events", "qualities"),
    [
        (LINE, [*[DECIDED] * 3, ("Answered", 0.25), ("Noted", None), ("Answered", 0.75)], {"CR": 0.75}),
        (SENT_BACK, [DECIDED, ("Answered", 0.25), DECIDED, ("Answered", 1.0)], {"": 0.25, "F": 1.0}),
        ((), [("Answered", 1.0)], {}),
        (LINE, [*[DECIDED] * 3, ("Answered", None)], {}),
    ],
    ids=["the last answer", "sent back", "no decision", "no share"],
)
def test_the_verifier_judges_each_answer_that_was_decided_on(
    store: Store,
    decisions: tuple[DecisionRow, ...],
    events: list[tuple[str, float | None]],
    qualities: dict[str, float],
) -> None:
    run_id = stored(store, decisions, told(*events))
    judged = {path: ("verifier", quality) for path, quality in qualities.items()}
    assert finishes(store, run_id) == judged
    if decisions is SENT_BACK:
        Ratings(store).rate(run_id, "partly")
        assert finishes(store, run_id) == {**judged, "F": ("rating", 0.5)}
        assert len(transitions(store, run_id)) == 2  # nothing leads from FINISH to the second


def test_a_tree_has_every_step_that_is_known(store: Store) -> None:
    run_id = stored(store, TREE)
    qualities = (("", 0.0), ("C", 0.5), ("CC", 0.5), ("CR", 1.0))
    measure(store, run_id, *(Outcome(path, "evidence", quality) for path, quality in qualities))
    assert transitions(store, run_id) == {
        ("at ", "CONTINUE", 0.0, "", "at C", False, 0.9),  # FINISH was not valid there
        ("at C", "CONTINUE", 0.0, "", "at CC", False, 0.9),
        ("at C", "REVISE", 0.0, "", "at CR", False, None),
        ("at C", "FINISH", 0.5, "evidence", None, True, None),
        ("at CC", "FINISH", 0.5, "evidence", None, True, 0.9),
        ("at CR", "FINISH", 1.0, "evidence", None, True, 0.9),
    }


def test_the_better_source_counts_and_is_named(store: Store) -> None:
    run_id = stored(store, LINE, told(*[DECIDED] * 3, ("Answered", 0.1)))
    assert finishes(store, run_id)["CR"] == ("verifier", 0.1)
    measure(store, run_id, Outcome("CR", "verifier", 0.6))
    assert finishes(store, run_id)["CR"] == ("verifier", 0.6), "measured goes before told"
    Labels(store).put(run_id, 2, "FINISH")
    assert finishes(store, run_id)["CR"] == ("override", 1.0)
    Ratings(store).rate(run_id, "partly")
    assert finishes(store, run_id)["CR"] == ("rating", 0.5)
    measure(store, run_id, Outcome("CR", "evidence", 0.3))
    assert finishes(store, run_id)["CR"] == ("evidence", 0.3)
    measure(store, run_id, Outcome("CR", "answer", 0.2))
    assert finishes(store, run_id)["CR"] == ("answer", 0.2)
    rows = store.rows("SELECT source FROM qualities WHERE run_id = ? ORDER BY rank", [run_id])
    assert [row[0] for row in rows] == ["answer", "evidence", "rating", "override", "verifier"]


@pytest.fixture
def run_id(store: Store) -> str:
    """A run with two decisions and a shadow."""
    runs = Runs(store)
    run_id = runs.begin(NEW)
    runs.record(run_id, [], [decision(0), decision(0, shadow=True), replace(decision(1), path="C")])
    return run_id


def _measured(store: Store, run_id: str) -> list[Outcome]:
    return store.records(Outcome, "FROM outcomes WHERE run_id = ? ORDER BY path, source", [run_id])


def test_a_decision_is_stored_with_its_label_or_not_at_all(store: Store, run_id: str) -> None:
    runs, label = Runs(store), Label(2, "CONTINUE", "override")
    runs.record(run_id, [], [decision(2)], labels=[label])
    assert Labels(store).of_run(run_id) == {2: label}
    broken = Label(3, None, "teach")  # type: ignore[arg-type]
    with pytest.raises(Exception, match="NOT NULL"):
        runs.record(run_id, [], [decision(3)], labels=[broken])
    assert len(runs.decisions(run_id)) == 4


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
