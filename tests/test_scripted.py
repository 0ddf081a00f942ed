"""The doubles that ship: what they refuse matters as much as what they give."""

from __future__ import annotations

import threading

import pytest

from models.protocols import (
    ChatOptions,
    ContextOverflow,
    GenerationCancelled,
    Message,
)
from tests.scripted import ScriptedChat


def user(text: str) -> list[Message]:
    return [Message("system", "Be brief."), Message("user", text)]


def test_an_unexpected_call_fails() -> None:
    with ScriptedChat([]) as chat, pytest.raises(AssertionError, match=r"unexpected call.*why"):
        chat.generate(user("why"), ChatOptions())


def test_a_reply_that_is_left_over_fails() -> None:
    chat = ScriptedChat(["never asked for"])
    with pytest.raises(AssertionError, match="never asked for"), chat:
        pass
    with pytest.raises(AssertionError, match="1 replies"):
        chat.assert_consumed()


def test_a_keyed_reply_expects_its_message() -> None:
    with ScriptedChat([("colour", "Red."), ("shape", {"A": 1})]) as chat:
        assert chat.generate(user("Which colour?"), ChatOptions()).text == "Red."
        assert chat.choose(user("Which shape?"), ["A", "B"]).probabilities == (1.0, 0.0)
    with (
        ScriptedChat([("colour", "Red.")]) as other,
        pytest.raises(AssertionError, match="expects 'colour'"),
    ):
        other.generate(user("Which shape?"), ChatOptions())


def test_choose_wants_weights() -> None:
    with ScriptedChat([{"A": 1, "C": 3}, "A"]) as chat:
        assert chat.choose(user("q"), ["A", "B", "C"]).probabilities == (0.25, 0.0, 0.75)
        assert chat.calls[-1].labels == ("A", "B", "C")
        with pytest.raises(AssertionError, match="a choice among"):
            chat.choose(user("q"), ["A", "B"])


def test_append_only_prompts_reuse_their_prefix() -> None:
    with ScriptedChat(["x", "x", "x"]) as chat:
        first = chat.generate(user("one two three"), ChatOptions()).usage
        second = chat.generate(user("one two three four"), ChatOptions()).usage
        same = chat.generate(user("one two three four"), ChatOptions()).usage
    assert (first.evaluated, first.reused) == (6, 0)
    assert (second.evaluated, second.reused) == (1, 6)
    assert (same.evaluated, same.reused) == (1, 6)


def test_refuses_what_does_not_fit() -> None:
    with ScriptedChat(["x"], context_tokens=20) as chat:
        with pytest.raises(ContextOverflow):
            chat.generate(user("word " * 19), ChatOptions(max_tokens=4))
        chat.generate(user("word"), ChatOptions(max_tokens=4))
    assert chat.count_tokens("Ann's 3 cats.") == 6
    assert chat.name == "scripted"
    chat.close()


def test_cancelling() -> None:
    cancel = threading.Event()
    with ScriptedChat(["one two three", "x"]) as chat:
        with pytest.raises(GenerationCancelled):
            chat.generate(user("q"), ChatOptions(cancel=cancel, on_text=lambda _: cancel.set()))
        with pytest.raises(GenerationCancelled):
            chat.choose(user("q"), ["A"], cancel)
        chat.generate(user("q"), ChatOptions())
