"""Decisions are counted without second opinions, and compared with them."""

from __future__ import annotations

from dataclasses import replace

from agent.decisions.decider import STATE_VERSION
from tests.traces.test_runs import NEW, decision
from traces.decisions import count_decisions
from traces.runs import DecisionRow, Label, Labels, Runs
from traces.store import Store


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
