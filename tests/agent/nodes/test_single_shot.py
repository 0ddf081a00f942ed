"""Node ``single_shot``."""

from __future__ import annotations

from agent.nodes.single_shot import single_shot

from tests.agent.nodes.conftest import Make, state


def test_the_question_is_the_only_step(make: Make) -> None:
    update = single_shot(state(), make())
    assert [step["question"] for step in update["plan"]] == ["Who supplies Orlavane's ceramic bearings?"]
