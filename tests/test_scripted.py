"""The double of a chat model: what it refuses matters as much as what it gives."""

from __future__ import annotations

import pytest

from models.protocols import ChatOptions, Message
from tests.scripted import ScriptedChat


def user(text: str) -> list[Message]:
    return [Message("system", "Be brief."), Message("user", text)]


def test_an_unexpected_call_fails_and_so_does_a_reply_that_is_left_over() -> None:
    with ScriptedChat([]) as chat, pytest.raises(AssertionError, match=r"unexpected call.*why"):
        chat.generate(user("why"), ChatOptions())
    with pytest.raises(AssertionError, match="never asked for"), ScriptedChat(["never asked for"]):
        pass


def test_a_keyed_reply_expects_its_message() -> None:
    with ScriptedChat([("colour", "Red."), ("shape", {"A": 1})]) as chat:
        assert chat.generate(user("Which colour?"), ChatOptions()).text == "Red."
        assert chat.choose(user("Which shape?"), ["A", "B"]).probabilities == (1.0, 0.0)
    chat = ScriptedChat([("colour", "Red.")])
    with pytest.raises(AssertionError, match="expects 'colour'"):
        chat.generate(user("Which shape?"), ChatOptions())


def test_choose_wants_weights() -> None:
    with ScriptedChat([{"A": 1, "C": 3}, "A"]) as chat:
        assert chat.choose(user("q"), ["A", "B", "C"]).probabilities == (0.25, 0.0, 0.75)
        with pytest.raises(AssertionError, match="a choice among"):
            chat.choose(user("q"), ["A", "B"])
