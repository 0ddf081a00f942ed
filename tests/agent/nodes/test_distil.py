"""Node ``distil``: numbers, excerpts, and what is left out."""

from __future__ import annotations

from agent.nodes.distil import distil

import agent.events as ev
from tests.agent.nodes.conftest import Make, candidate, evidence, state, step

QUESTION = "Who supplies ceramic bearings to Orlavane?"
BEFORE = {"plan": [step(QUESTION)], "position": 0, "step": 2, "query": QUESTION, "notebook": ["QUESTION"]}
BEARINGS = "Tolvang Ceramics supplies ceramic bearings to Orlavane."


def test_what_is_kept_gets_the_next_number(make: Make, events: list[ev.Event]) -> None:
    known = evidence(1, "Something else.", passage_id=9)
    found = [candidate(3, BEARINGS, grade="correct")]
    update = distil(state(**BEFORE, evidence=[known], candidates=found), make())
    assert [(e["number"], e["passage_id"]) for e in update["evidence"]] == [(1, 9), (2, 3)]
    assert (update["fresh"], update["again"], update["barren"]) == ([2], [], 0)
    assert f"[2] {BEARINGS}" in update["notebook"][-1]
    assert isinstance(events[0], ev.EvidenceKept)


def test_a_known_passage_keeps_its_number_and_is_not_news(make: Make) -> None:
    known = evidence(1, BEARINGS, passage_id=3)
    update = distil(state(**BEFORE, evidence=[known], candidates=[candidate(3, BEARINGS)]), make())
    assert (update["fresh"], update["again"], update["barren"]) == ([], [1], 1)


def test_an_incorrect_passage_is_left_out_where_another_helps(make: Make) -> None:
    found = [candidate(3, BEARINGS, grade="incorrect"), candidate(4, "Bearings wear.", grade="ambiguous")]
    update = distil(state(**BEFORE, candidates=found), make())
    assert [e["passage_id"] for e in update["evidence"]] == [4]


def test_where_all_are_incorrect_the_best_two_are_read_all_the_same(make: Make) -> None:
    found = [candidate(number, BEARINGS, grade="incorrect") for number in (3, 4, 5)]
    update = distil(state(**BEFORE, candidates=found), make())
    assert [e["passage_id"] for e in update["evidence"]] == [3, 4]


def test_an_empty_retrieval_never_reaches_the_distiller(make: Make, events: list[ev.Event]) -> None:
    nothing = distil(state(**BEFORE), make(profile_name="seed"))
    assert (nothing["fresh"], nothing["barren"]) == ([], 1)
    assert nothing["notebook"][-1].endswith("(no evidence)")
    assert isinstance(events[0], ev.EvidenceKept)
