"""Single keys: what each does to the run, and what the person is told."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from agent import events as ev
from agent.steering import Steering
from tui.run.keyboard import Wheel
from tui.run.render import AnimatedRun


@pytest.fixture
def steering() -> Steering:
    return Steering()


@pytest.fixture
def wheel(steering: Steering) -> Wheel:
    return Wheel(steering)


def _type(wheel: Wheel, text: str) -> None:
    for key in text:
        wheel.press(key)


def test_p_f_s_and_q(wheel: Wheel, steering: Steering) -> None:
    wheel.press("p")
    assert (steering.paused, wheel.notice) == (True, "pausing after this step")
    assert wheel.hints[0].startswith("p resume")
    wheel.press("P")
    assert (steering.paused, wheel.notice) == (False, "resumed")
    _type(wheel, "fs")
    assert (steering.finishing, steering.skipping, steering.cancelled.is_set()) == (True, True, False)
    wheel.press("q")
    assert (steering.cancelled.is_set(), wheel.notice) == (True, "cancelling")


def test_no_search_is_cut_short_while_the_answer_is_written(wheel: Wheel, steering: Steering) -> None:
    with AnimatedRun(Console(file=io.StringIO()), replay=True, wheel=wheel) as screen:
        screen.take(ev.NodeStarted("synthesise", 0))
        wheel.press("f")
    assert not steering.finishing
    assert wheel.notice


def test_a_step_is_typed_corrected_and_added(wheel: Wheel, steering: Steering) -> None:
    _type(wheel, "aWho paid qp\x7f\x7fit\x15When was pàid?")
    assert "Esc" in wheel.prompt
    assert wheel.prompt.endswith("When was pàid?▏")
    assert not steering.paused
    _type(wheel, "\x01\r")
    assert steering.take_added() == ["When was pàid?"]
    assert (wheel.prompt, wheel.notice) == ("", "added to the plan")


@pytest.mark.parametrize("typed", ["aWhat?\x1b", "a\r", "a  \n"])
def test_no_step_is_added_by_escape_or_without_words(typed: str, wheel: Wheel, steering: Steering) -> None:
    _type(wheel, typed)
    assert steering.take_added() == []
    assert wheel.prompt == ""


@pytest.mark.parametrize(("key", "action"), [("c", "CONTINUE"), ("R", "REVISE"), ("f", "FINISH")])
def test_d_decides(key: str, action: str, wheel: Wheel, steering: Steering) -> None:
    wheel.press("d")
    assert "r revise" in wheel.prompt
    wheel.press(key)
    assert steering.take_override() == action
    assert not steering.finishing
    assert wheel.notice == f"the next decision is {action}"


def test_a_decision_can_be_left_to_the_decider(wheel: Wheel, steering: Steering) -> None:
    _type(wheel, "d\x1b")
    assert (steering.take_override(), wheel.prompt) == (None, "")


def test_what_is_typed_cannot_steer_the_terminal(wheel: Wheel) -> None:
    _type(wheel, "a\x9b31m\x07x")
    assert wheel.prompt.endswith(" 31mx▏")
