"""Questions of a run: how they are shown, what counts as a reply, and how to get away from one."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable

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


Ask = Callable[[ev.Asked, str], str | None]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask somebody who types a text; the reply, or None if that cancels the run."""

    def asked(question: ev.Asked, typed: str) -> str | None:
        steering = Steering()
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        terminal.ask_user(question, steering, live=False)
        reply = steering.wait_for_reply(lambda: True)  # at once: it is there, or never
        assert steering.cancelled.is_set() == (reply is None)
        return reply

    return asked


@pytest.mark.parametrize(
    ("question", "typed", "reply"),
    [
        (APPROVE, "a\n", "accept"),
        (APPROVE, " R \n", "rewrite"),
        (APPROVE, "search\n", "search"),
        (APPROVE, "t\n", "stop"),
        (APPROVE, "Stop\n", "stop"),
        (APPROVE, "what?\n\nx\nacc\ns\n", "search"),
        (APPROVE, "", None),
        (CLARIFY, "The one  in Brevnes\n", "The one in Brevnes"),
        (CLARIFY, "\n", ""),
        (CLARIFY, "", None),
    ],
)
def test_a_choice_is_a_letter_or_its_word_other_replies_any_text_and_the_end_of_input_cancels(
    question: ev.Asked, typed: str, reply: str | None, ask: Ask
) -> None:
    assert ask(question, typed) == reply


def test_approval_shows_each_sentence_and_its_fault(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    ask(APPROVE, "a\n")
    told = capsys.readouterr()
    assert told.out == "", "stdout may be a file: the question goes where the person looks"
    assert told.err.splitlines() == [
        "approve: What now?",
        "    Tolvang supplies the bearings.",
        "    only partly supported: “It burnt in May.” ([2] does not say “May”)",
        "    not supported by the sources: “The chairman resigned.” (no passage says this)",
        "    a  accept it as it is",
        "    r  rewrite it from the evidence",
        "    s  search for more",
        "    t  stop, and withhold it",
        "a, r, s, t: ",
    ]


def test_ctrl_c_at_a_question_cancels_the_run_and_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_question_cannot_steer_the_terminal(ask: Ask, capsys: pytest.CaptureFixture[str]) -> None:
    ask(ev.Asked("approve", "\x1b[2Jx", OPTIONS, [claim("\x9b31m y", "not", "\x07")]), "a\n")
    shown = capsys.readouterr().err.replace("\n", "")
    assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in shown)
