"""Node ``grade``: each passage, and all together."""

from __future__ import annotations

from agent.nodes.grade import grade

import agent.events as ev
from tests.agent.nodes.conftest import Make, candidate, state, step

QUESTION = "Who supplies ceramic bearings to Orlavane?"
BEFORE = {"plan": [step(QUESTION)], "position": 0, "step": 1}
RIGHT = candidate(1, "Tolvang Ceramics supplies ceramic bearings to Orlavane.", score=0.97)
WRONG = candidate(2, "The weather was fine.", score=0.001)


def test_one_correct_passage_is_enough(make: Make, events: list[ev.Event]) -> None:
    update = grade(state(**BEFORE, candidates=[RIGHT, WRONG]), make())
    assert update["grade"] == "correct"
    assert [c["grade"] for c in update["candidates"]] == ["correct", "incorrect"]
    (event,) = events
    assert isinstance(event, ev.Graded)
    assert (event.grade, event.passages, event.grades) == ("correct", [1, 2], ["correct", "incorrect"])
    assert event.probabilities[0] > event.probabilities[1]


def test_none_is_incorrect(make: Make) -> None:
    assert grade(state(**BEFORE), make())["grade"] == "incorrect"


def test_the_seed_asks_the_model(make: Make) -> None:
    reply = {"A": "incorrect", "B": "ambiguous"}
    deps = make([(QUESTION, reply)], profile_name="seed")
    update = grade(state(**BEFORE, candidates=[RIGHT, WRONG], notebook=["QUESTION"]), deps)
    # The better graded comes first, and one far behind the best is not kept.
    assert [(c["passage_id"], c["grade"]) for c in update["candidates"]] == [
        (2, "ambiguous"),
        (1, "incorrect"),
    ]
    assert update["grade"] == "ambiguous"
