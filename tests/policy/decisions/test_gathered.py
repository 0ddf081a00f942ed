"""What was gathered to learn from: counted without shadows, compared with them."""

from __future__ import annotations

from dataclasses import replace

from agent.decisions.decider import STATE_VERSION
from policy.decisions.gathered import NEEDED, gathered
from tests.traces.many_runs import fill
from tests.traces.test_runs import NEW, decision
from traces.labels import Label, Labels
from traces.ratings import Ratings
from traces.runs import DecisionRow, Runs
from traces.store import Store


def _by(
    seq: int, source: str, action: str, *, shadow: bool = False, version: int = STATE_VERSION
) -> DecisionRow:
    return replace(decision(seq), source=source, action=action, shadow=shadow, state_version=version)


def _pairs(store: Store) -> dict[tuple[str, str], tuple[int, int]]:
    return {(a.first, a.second): (a.agreed, a.compared) for a in gathered(store).agreement}


def test_an_empty_store_says_that_all_is_missing(store: Store) -> None:
    found = gathered(store)
    assert (found.runs, found.decisions, found.usable, found.missing) == (0, 0, 0, NEEDED)
    assert found.actions == {"CONTINUE": 0, "REVISE": 0, "FINISH": 0}
    assert found.labels == {"override": 0, "teach": 0, "said": 0}
    assert found.ratings == {"good": 0, "partly": 0, "wrong": 0}
    assert found.agreement == []


def test_decisions_labels_and_ratings_are_counted_without_shadows(store: Store) -> None:
    runs = Runs(store)
    run_id, other, _without = (runs.begin(NEW) for _ in range(3))
    runs.record(
        run_id,
        [],
        [_by(0, "rules", "CONTINUE"), _by(0, "llm", "FINISH", shadow=True), _by(1, "human", "FINISH")],
        labels=[Label(1, "FINISH", "teach")],
    )
    runs.record(other, [], [_by(0, "rules", "CONTINUE", version=STATE_VERSION - 1)])
    Ratings(store).rate(run_id, "good")
    found = gathered(store)
    assert (found.runs, found.decisions) == (2, 3)
    assert found.sources == {"rules": 2, "human": 1}
    assert found.actions == {"CONTINUE": 2, "REVISE": 0, "FINISH": 1}
    assert (found.labels["teach"], found.ratings["good"]) == (1, 1)
    assert (found.usable, found.missing) == (2, NEEDED - 2)


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
        ("learned", "llm"): (1, 2),
        ("learned", "human"): (1, 1),
        ("llm", "human"): (0, 1),
        ("rules", "human"): (0, 1),
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


def test_agreement_is_told_day_by_day(store: Store) -> None:
    fill(store, 200)
    rows = gathered(store).agreement
    days = sorted({row.day for row in rows})
    assert [row.day for row in rows] == sorted(row.day for row in rows)
    assert len(days) == 5
    assert all(0 <= row.agreed <= row.compared for row in rows)
