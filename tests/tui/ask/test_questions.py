"""Questions of a run: how they are shown, what counts as a reply, and how to get away from one."""

from __future__ import annotations

import io
import os
import signal

import pytest

from agent import events as ev
from agent.steering import Steering
from tests.tui.parts import claim
from tui.ask import terminal
from tui.interrupts import ctrl_c

OPTIONS = ["accept", "rewrite", "search", "stop"]
CLARIFY = ev.Asked("clarify", "Which plant do you mean?", [])


APPROVE = ev.Asked(
    "approve",
    "What now?",
    OPTIONS,
    [
        claim("Tolvang supplies the bearings."),
        claim("It burnt in May.", "partly", "[2] does not say “May”"),
        claim("The chairman resigned.", "not", "no passage says this"),
    ],
)


@pytest.fixture
def steering() -> Steering:
    return Steering()


def _reply(steering: Steering) -> str | None:
    return steering.wait_for_reply(lambda: True)  # at once: it is there, or never


def _type(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


@pytest.mark.parametrize(
    ("typed", "reply"),
    [
        ("a\n", "accept"),
        (" R \n", "rewrite"),
        ("search\n", "search"),
        ("t\n", "stop"),
        ("Stop\n", "stop"),
        ("what?\n\nx\nacc\ns\n", "search"),
    ],
)
def test_a_choice_is_a_letter_or_its_word_and_anything_else_is_asked_again(
    typed: str, reply: str, steering: Steering, monkeypatch: pytest.MonkeyPatch
) -> None:
    _type(typed, monkeypatch)
    terminal.ask_user(APPROVE, steering, live=False)
    assert _reply(steering) == reply
    assert not steering.cancelled.is_set()


def test_approval_shows_every_sentence_and_what_is_wrong_with_it(
    steering: Steering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type("a\n", monkeypatch)
    terminal.ask_user(APPROVE, steering, live=False)
    told = capsys.readouterr()
    assert told.out == "", "stdout may be a file: the question goes where the person looks"
    assert told.err.splitlines() == [
        "approve: What now?",
        "    Tolvang supplies the bearings.",
        "    only partly supported: “It burnt in May.” ([2] does not say “May”)",
        "    not supported: “The chairman resigned.” (no passage says this)",
        "    a  accept it as it is",
        "    r  rewrite it from the evidence",
        "    s  search for more",
        "    t  stop, and withhold it",
        "a, r, s, t: ",
    ]


@pytest.mark.parametrize(("typed", "reply"), [("The one  in Brevnes\n", "The one in Brevnes"), ("\n", "")])
def test_a_clarification_is_any_text_or_none(
    typed: str, reply: str, steering: Steering, monkeypatch: pytest.MonkeyPatch
) -> None:
    _type(typed, monkeypatch)
    terminal.ask_user(CLARIFY, steering, live=False)
    assert _reply(steering) == reply


@pytest.mark.parametrize("asked", [CLARIFY, APPROVE], ids=lambda asked: asked.about)
def test_the_end_of_the_input_cancels_the_run(
    asked: ev.Asked, steering: Steering, monkeypatch: pytest.MonkeyPatch
) -> None:
    _type("", monkeypatch)
    terminal.ask_user(asked, steering, live=False)
    assert steering.cancelled.is_set()
    assert _reply(steering) is None


def test_ctrl_c_at_a_question_cancels_the_run_and_is_then_what_it_was(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    typing = io.StringIO("a\n")
    monkeypatch.setattr(typing, "readline", lambda: os.kill(os.getpid(), signal.SIGINT))
    monkeypatch.setattr("sys.stdin", typing)
    before = signal.getsignal(signal.SIGINT)
    with ctrl_c() as cancel:
        steering = Steering(cancel)
        during = signal.getsignal(signal.SIGINT)
        terminal.ask_user(CLARIFY, steering, live=False)
        assert signal.getsignal(signal.SIGINT) is during
    assert cancel.is_set()
    assert signal.getsignal(signal.SIGINT) is before


def test_a_question_cannot_steer_the_terminal(
    steering: Steering, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _type("a\n", monkeypatch)
    asked = ev.Asked("approve", "\x1b[2Jx", OPTIONS, [claim("\x9b31m y", "not", "\x07")])
    terminal.ask_user(asked, steering, live=False)
    shown = capsys.readouterr().err.replace("\n", "")
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
