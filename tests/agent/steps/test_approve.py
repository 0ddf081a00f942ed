"""Step ``approve``: what becomes of an answer that is not grounded."""

from __future__ import annotations

from agent.prompts import WITHHELD
from agent.steps.approve import approve
from tests.agent.made import state
from tests.agent.steps.conftest import Make


def test_never_has_it_rewritten_once_and_then_withheld(make: Make) -> None:
    deps = make(approve="never")
    assert approve(state(), deps) == {"approval": "rewrite"}
    update = approve(state(approval="rewrite"), deps)
    assert (update["status"], update["answer"]) == ("rejected", WITHHELD)
