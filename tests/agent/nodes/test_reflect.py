"""Node ``reflect``: a step's finding."""

from __future__ import annotations

import agent.events as ev
from agent.nodes.reflect import reflect
from tests.agent.nodes.conftest import Make, candidate, evidence, state, step

_QUESTION = "What was the net revenue of Orlavane for fiscal 2024?"
_LATE = "Net revenue of Orlavane for fiscal 2024 was $1,284.6 million."


def test_a_step_without_candidates_finds_nothing_and_asks_nothing(
    make: Make, events: list[ev.Event]
) -> None:
    update = reflect(state(plan=[step(_QUESTION)], position=0, step=1), make())
    assert not update["notes"][0]["found"]
    assert update["notebook"] == ["FINDING 1: not found."]
    assert [type(event) for event in events] == [ev.Noted, ev.NotebookGrew]


def test_only_the_steps_own_passages_are_read(make: Make) -> None:
    held = [evidence(1, "Something else."), evidence(2, _LATE)]
    update = reflect(
        state(
            plan=[step(_QUESTION)],
            position=0,
            step=1,
            query=_QUESTION,
            candidates=[candidate(2, _LATE)],
            evidence=held,
        ),
        make([{"source": 2, "answer": "$1,284.6 million"}]),
    )
    (note,) = update["notes"]
    assert (note["answer"], note["cites"]) == ("$1,284.6 million", [2])
