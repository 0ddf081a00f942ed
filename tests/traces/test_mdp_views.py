"""The views that read as a Markov decision process, worked by hand; decisions are counted and compared."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from agent.decisions.decider import STATE_VERSION
from tests.traces.old_stores import OLD_RUN, old_store
from tests.traces.test_runs import NEW, decision, measure
from traces.decisions import DecisionRow, Label, Labels, Outcome, count_decisions
from traces.runs import Ratings, RunEnd, Runs, StoredEvent
from traces.store import Store

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
    runs.record(run_id, events, decisions, RunEnd("answered", "", "So.", 0, 0, 0, 0))
    return run_id


def transitions(store: Store, run_id: str) -> set[tuple[Any, ...]]:
    """Path, action, reward and its source, next path, done, behaviour probability."""
    with store.connect() as db:
        rows = db.execute(
            """
            SELECT state, action, reward, reward_source, next_state, done, behaviour_probability, seq,
                next_seq
            FROM transitions WHERE run_id = ?
            """,
            [run_id],
        ).fetchall()
    assert len(rows) == len(set(rows))
    return {row[:7] for row in rows}


def finishes(store: Store, run_id: str) -> dict[str, tuple[str, float]]:
    """Source and quality of finishing, by path."""
    with store.connect() as db:
        rows = db.execute(
            "SELECT path, source, quality FROM finishes WHERE run_id = ?", [run_id]
        ).fetchall()
    return {path: (source, quality) for path, source, quality in rows}


GOING_ON = {
    ("at ", "CONTINUE", 0.0, "", "at C", False, 0.9),
    ("at C", "REVISE", 0.0, "", "at CR", False, 0.9),
}


def test_a_line_of_decisions_whose_end_nobody_judged(store: Store) -> None:
    assert transitions(store, stored(store, LINE)) == GOING_ON


@pytest.mark.parametrize(("rating", "quality"), [("good", 1.0), ("partly", 0.5), ("wrong", 0.0)])
def test_a_rating_is_the_reward_of_the_last_finish(store: Store, rating: Any, quality: float) -> None:
    run_id = stored(store, LINE)
    Ratings(store).rate(run_id, rating)
    end = ("at CR", "FINISH", quality, "rating", None, True, 0.9)
    assert transitions(store, run_id) == GOING_ON | {end}


def test_a_run_that_did_not_finish_has_no_rated_end(store: Store) -> None:
    run_id = stored(store, LINE[:3])
    Ratings(store).rate(run_id, "good")
    assert finishes(store, run_id) == {}


def test_a_label_says_what_finishing_there_would_have_been_worth(store: Store) -> None:
    run_id = stored(store, LINE)
    Labels(store).put(run_id, 0, "CONTINUE")
    Labels(store).put(run_id, 1, "FINISH")
    assert transitions(store, run_id) == GOING_ON | {
        ("at ", "FINISH", 0.0, "override", None, True, None),  # the run did not take it
        ("at C", "FINISH", 1.0, "override", None, True, None),
    }


def test_a_label_where_finishing_was_impossible_makes_no_step(store: Store) -> None:
    run_id = stored(store, TREE)
    Labels(store).put(run_id, 0, "CONTINUE")
    assert not [row for row in transitions(store, run_id) if row[1] == "FINISH"]


def told(*kinds: tuple[str, float | None]) -> tuple[StoredEvent, ...]:
    """Events of these kinds, each with a share if it has one."""
    return tuple(
        StoredEvent(seq, 0.1 * seq, kind, {} if share is None else {"share": share})
        for seq, (kind, share) in enumerate(kinds)
    )


def test_the_verifier_judges_the_last_answer(store: Store) -> None:
    decided = ("Decided", None)
    events = told(decided, decided, decided, ("Answered", 0.25), ("Noted", None), ("Answered", 0.75))
    run_id = stored(store, LINE, events)
    assert finishes(store, run_id) == {"CR": ("verifier", 0.75)}


def test_an_answer_that_was_sent_back_keeps_its_own_verdict(store: Store) -> None:
    """After FINISH a person may have it search again; what comes of that is another answer."""
    decided = ("Decided", None)
    events = told(decided, ("Answered", 0.25), decided, ("Answered", 1.0))
    run_id = stored(store, (node(0, "", "FINISH"), node(1, "F", "FINISH")), events)
    assert finishes(store, run_id) == {"": ("verifier", 0.25), "F": ("verifier", 1.0)}
    Ratings(store).rate(run_id, "partly")
    assert finishes(store, run_id) == {"": ("verifier", 0.25), "F": ("rating", 0.5)}
    assert len(transitions(store, run_id)) == 2  # nothing leads from FINISH to the second


def test_an_answer_without_a_decision_or_a_share_is_no_outcome(store: Store) -> None:
    run_id = stored(store, (), told(("Answered", 1.0)))
    older = stored(store, LINE, told(*[("Decided", None)] * 3, ("Answered", None)))
    assert finishes(store, run_id) == finishes(store, older) == {}


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
    run_id = stored(store, LINE, told(*[("Decided", None)] * 3, ("Answered", 0.1)))
    assert finishes(store, run_id)["CR"] == ("verifier", 0.1)
    Labels(store).put(run_id, 2, "FINISH")
    assert finishes(store, run_id)["CR"] == ("override", 1.0)
    Ratings(store).rate(run_id, "partly")
    assert finishes(store, run_id)["CR"] == ("rating", 0.5)
    measure(store, run_id, Outcome("CR", "evidence", 0.3))
    assert finishes(store, run_id)["CR"] == ("evidence", 0.3)
    measure(store, run_id, Outcome("CR", "answer", 0.2))
    assert finishes(store, run_id)["CR"] == ("answer", 0.2)
    with store.connect() as db:
        rows = db.execute(
            "SELECT source FROM qualities WHERE run_id = ? ORDER BY rank", [run_id]
        ).fetchall()
    assert [row[0] for row in rows] == ["answer", "evidence", "rating", "override", "verifier"]


def test_a_measured_share_goes_before_the_one_that_was_told(store: Store) -> None:
    run_id = stored(store, LINE, told(*[("Decided", None)] * 3, ("Answered", 0.1)))
    measure(store, run_id, Outcome("CR", "verifier", 0.6))
    with store.connect() as db:
        rows = db.execute("SELECT source, quality FROM qualities WHERE run_id = ?", [run_id]).fetchall()
    assert rows == [("verifier", 0.6)]


def test_decisions_of_an_earlier_version_get_their_paths(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    taken = [
        ("a", 0, "CONTINUE"),
        ("a", 1, "REVISE"),
        ("a", 2, "CONTINUE"),
        ("a", 3, "FINISH"),
        ("b", 0, "FINISH"),
    ]
    with old_store(path, 5) as db:
        for run_id in ("a", "b"):
            db.execute(OLD_RUN, [run_id, "answered", datetime(2026, 5, 4)])
        for shadow in (True, False):  # as they lie in the file says nothing of their order
            for run_id, seq, action in reversed(taken):
                db.execute(
                    """
                    INSERT INTO decisions
                    VALUES (?, ?, 1, 2, '{}', '["FINISH"]', ?, '{}', 1, 'rules', 0, '', ?,
                        TIMESTAMP '2026-05-04')
                    """,
                    [run_id, seq, "FINISH" if shadow else action, shadow],
                )
    runs = Runs(Store(path))
    assert [(d.path, d.shadow) for d in runs.decisions("a")] == [
        (path, shadow) for path in ("", "C", "CR", "CRC") for shadow in (False, True)
    ]
    assert [(d.path, d.text, d.features) for d in runs.decisions("b")] == [("", "", {})] * 2


def _by(
    seq: int, source: str, action: str, *, shadow: bool = False, version: int = STATE_VERSION
) -> DecisionRow:
    return replace(decision(seq), source=source, action=action, shadow=shadow, state_version=version)


def _pairs(store: Store) -> dict[str, tuple[int, int]]:
    return {pair: (a.agreed, a.compared) for pair, a in count_decisions(store).agreement.items()}


def test_sources_are_compared_wherever_they_judged_the_same_state(store: Store) -> None:
    runs = Runs(store)
    run_id = runs.begin(NEW)
    runs.record(
        run_id,
        [],
        [
            _by(0, "learned", "CONTINUE"),
            _by(0, "llm", "FINISH", shadow=True),
            _by(1, "llm", "FINISH"),
            _by(1, "learned", "FINISH", shadow=True),
            _by(2, "human", "FINISH"),
            _by(2, "rules", "CONTINUE", shadow=True),
        ],
        labels=[Label(2, "FINISH", "override")],
    )
    Labels(store).put(run_id, 0, "CONTINUE")
    assert _pairs(store) == {
        "learned and llm": (1, 2),
        "learned and human": (1, 1),
        "llm and human": (0, 1),
        "rules and human": (0, 1),
    }


def test_what_nobody_judged_is_not_compared(store: Store) -> None:
    runs = Runs(store)
    run_id = runs.begin(NEW)
    only = replace(_by(0, "rules", "FINISH"), valid_actions=("FINISH",))
    now = replace(_by(1, "human", "FINISH"), justification="asked to answer now")
    runs.record(
        run_id,
        [],
        [only, replace(only, source="llm", shadow=True), now, _by(1, "llm", "FINISH", shadow=True)],
    )
    Labels(store).put(run_id, 0, "FINISH")
    assert _pairs(store) == {}
