"""The short answer is the same few words whatever they are wrapped in; an abstention is none."""

from __future__ import annotations

import pytest

from agent.prompts import NOT_FOUND
from policy.evaluation.shortening import says_nothing, shorten
from tests.scripted import ScriptedChat

WHO = "Who supplies the bearings?"
TEXT = "The bearings are supplied by Tolvang Ceramics (only partly supported) [1][2]."


@pytest.mark.parametrize(
    ("reply", "short"),
    [
        ("Tolvang Ceramics", "Tolvang Ceramics"),
        ("\n  Tolvang Ceramics.\nIt stands in the text.", "Tolvang Ceramics"),
        ("“Tolvang Ceramics” [1].", "Tolvang Ceramics"),
        ('ANSWER: "Tolvang Ceramics".', "Tolvang Ceramics"),
        ("Tolvang Ceramics [1, 2]", "Tolvang Ceramics"),
        ("$1,284.6 million", "$1,284.6 million"),
        ("Yes.", "yes"),
        (NOT_FOUND, ""),
        ("", ""),
        ("…", ""),
    ],
)
def test_what_is_no_part_of_the_answer_is_taken_off(reply: str, short: str) -> None:
    with ScriptedChat([("ANSWER:", reply)]) as chat:
        assert shorten(chat, WHO, f"{TEXT} {short}") == short


def test_words_that_are_not_in_the_answer_are_not_it() -> None:
    with ScriptedChat(["the Oder"]) as chat:
        assert shorten(chat, "Where is it?", "It is made in a small town by two people.") == ""


def test_the_model_reads_the_answer_without_marks_and_flags() -> None:
    with ScriptedChat(["Tolvang Ceramics"]) as chat:
        shorten(chat, WHO, TEXT)
    (call,) = chat.calls
    assert "TEXT: The bearings are supplied by Tolvang Ceramics.\n" in call.messages[-1].content
    assert WHO in call.messages[-1].content


@pytest.mark.parametrize(
    "text", ["", " \n", NOT_FOUND, "I do not know.", f"[1] {NOT_FOUND} Tolvang is a town.", "[1]."]
)
def test_an_abstention_has_no_short_answer_and_asks_nobody(text: str) -> None:
    with ScriptedChat([]) as chat:
        assert shorten(chat, WHO, text) == ""
    assert says_nothing(text)


@pytest.mark.parametrize(
    "text",
    ["Tolvang. The price is not mentioned.", "The price is not given, but Tolvang supplies them.", "No."],
)
def test_an_answer_with_a_gap_is_an_answer(text: str) -> None:
    assert not says_nothing(text)
