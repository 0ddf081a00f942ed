"""What the planner learns from can be read back from what it writes."""

from __future__ import annotations

from pathlib import Path

from agent.steps.lookups import parse, reply
from tests.benchmarks.planner.data import HELD_OUT_EVERY, Example, examples, natural


def test_every_plan_to_learn_is_read_back_and_none_is_of_a_question_that_is_held_out(data: Path) -> None:
    made = examples(data / "reading", data / "multihop")
    odd = [one for one in made if not _same(one)]
    assert len(made) > 3_000
    assert len(odd) / len(made) < 0.005  # two spaces in a question, or a repeated look-up
    held_out = {_asked(one) for one in natural(data / "reading" / "plans", held_out=True)}
    assert len(held_out) > 2_000 // HELD_OUT_EVERY
    assert not held_out & {_asked(one) for one in made}


def _same(one: Example) -> bool:
    return parse(reply(one.plan, one.request), one.request) == one.plan


def _asked(one: Example) -> tuple[object, ...]:
    return one.request.question, tuple(one.request.history), tuple(one.request.findings)
