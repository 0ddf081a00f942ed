"""The short answer is the same few words whatever they are wrapped in; an abstention is none."""

from __future__ import annotations

import pytest

from agent.prompts import NOT_FOUND
from policy.evaluation.shortening import asks_yes_or_no, says_nothing, shorten
from tests.scripted import ScriptedChat

WHO = "Who supplies the bearings?"
SAME = "Were Ed Wood and Scott Derrickson of the same nationality?"
TEXT = "The bearings are supplied by Tolvang Ceramics (only partly supported) [1][2]."


@pytest.mark.parametrize(
    ("reply", "short"),
    [
        ("Tolvang Ceramics", "Tolvang Ceramics"),
        ("\n  Tolvang Ceramics.\nIt stands in the text.", "Tolvang Ceramics"),
        ("“Tolvang Ceramics” [1].", "Tolvang Ceramics"),
        ("The answer is Tolvang Ceramics.", "Tolvang Ceramics"),
        ("The answer: **Tolvang Ceramics**", "Tolvang Ceramics"),
        ('ANSWER: "Tolvang Ceramics".', "Tolvang Ceramics"),
        ("Answer: The answer is Tolvang Ceramics", "Tolvang Ceramics"),
        ("Tolvang Ceramics [1, 2]", "Tolvang Ceramics"),
        ("$1,284.6 million", "$1,284.6 million"),
        ("Answering Machine", "Answering Machine"),
        ("No Doubt", "No Doubt"),
        ("Yes.", "yes"),
        (NOT_FOUND, ""),
        ("", ""),
        ("…", ""),
    ],
)
def test_what_is_no_part_of_the_answer_is_taken_off(reply: str, short: str) -> None:
    with ScriptedChat([("ANSWER:", reply)]) as chat:
        assert shorten(chat, WHO, f"{TEXT} {short}") == short


OF_EXAMPLES = "the Oder"


def test_words_that_do_not_stand_in_the_answer_are_not_it() -> None:
    with ScriptedChat([OF_EXAMPLES]) as chat:
        assert shorten(chat, "Where is it?", "It is made in a small town by two people.") == ""


@pytest.mark.parametrize("first", [OF_EXAMPLES, "the bearings", "The bearings come from the Oder"])
def test_words_of_the_question_or_of_an_example_give_way_to_a_name_of_the_answer(first: str) -> None:
    text = "Since 4 May 1964 the bearings are supplied by Tolvang Ceramics and Brevnes [1]."
    with ScriptedChat([first, {"answer": "Brevnes"}]) as chat:
        assert shorten(chat, WHO, text) == "Brevnes"
    schema = chat.calls[-1].options.schema
    assert schema is not None
    assert schema["properties"]["answer"]["enum"] == ["Tolvang Ceramics", "Brevnes", "4 May 1964"]


def test_a_thing_that_the_question_offers_is_an_answer() -> None:
    asked = "Who is older, Ann Lee or Bo Ek?"
    with ScriptedChat(["Ann Lee"]) as chat:
        assert shorten(chat, asked, "Ann Lee was born in 1911, before Bo Ek (1920).") == "Ann Lee"
    with ScriptedChat(["Bo Ek"]) as chat:
        assert shorten(chat, asked, "Ann Lee was born in 1911.") == ""


@pytest.mark.parametrize("text", ["Tolvang does.", "They supply it. Tolvang Ceramics is their name."])
def test_a_short_sentence_is_not_taken_for_its_answer(text: str) -> None:
    with ScriptedChat(["Tolvang"]) as chat:
        assert shorten(chat, WHO, f"{text} Tolvang.") == "Tolvang"


def test_a_text_that_begins_with_a_few_words_has_given_its_short_answer() -> None:
    with ScriptedChat([]) as chat:
        told = "A single supplier [4]. Orlavane buys all of its bearings from a single supplier [1]."
        assert shorten(chat, WHO, told) == "A single supplier"
        assert shorten(chat, WHO, "Tolvang Ceramics [1].") == "Tolvang Ceramics"
        assert shorten(chat, WHO, "Answer: Tolvang Ceramics") == "Tolvang Ceramics"


def test_the_model_reads_the_answer_without_marks_and_flags() -> None:
    with ScriptedChat(["Tolvang Ceramics"]) as chat:
        shorten(chat, WHO, TEXT)
    (call,) = chat.calls
    assert "TEXT: The bearings are supplied by Tolvang Ceramics.\n" in call.messages[-1].content
    assert WHO in call.messages[-1].content
    assert (call.options.max_tokens, call.options.temperature, call.options.schema) == (24, 0.0, None)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        NOT_FOUND,
        "I don't know.",
        f"[1] {NOT_FOUND} Tolvang is a town.",
        "[1].",
    ],
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


def test_yes_or_no_is_picked_where_the_answer_does_not_begin_with_it() -> None:
    with ScriptedChat([("yes or no", {"yes": 3.0, "no": 1.0}), {"yes": 0.2, "no": 0.8}]) as chat:
        assert shorten(chat, SAME, "Both were American [1].") == "yes"
        assert shorten(chat, SAME, "One was French, the other one German.") == "no"
    assert chat.calls[0].labels == ("yes", "no")


@pytest.mark.parametrize(
    ("text", "short"), [("Yes, both were American [1].", "yes"), ("NO", "no"), ("No they were not.", "no")]
)
def test_an_answer_that_begins_with_yes_or_no_is_taken_at_its_word(text: str, short: str) -> None:
    with ScriptedChat([]) as chat:
        assert shorten(chat, SAME, text) == short


def test_a_name_that_begins_with_no_is_no_answer_of_no() -> None:
    with ScriptedChat([{"yes": 1.0}]) as chat:
        assert shorten(chat, "Was Tragic Kingdom made by a band?", "No Doubt made it.") == "yes"


def test_no_passage_is_no_no() -> None:
    with ScriptedChat([{"yes": 1.0}]) as chat:
        assert shorten(chat, "Was Ann Lee born in Bergen?", "No passage denies that she was.") == "yes"


@pytest.mark.parametrize(
    "question",
    [
        SAME,
        "Is Boeing's business subject to cyclicality?",
        "Does Amcor have an improving margin? If margin or profit are of no use, say so.",
        "The Creators and Best Boy were both produced before 2000?",
        "According to the report, did revenue grow?",
        "Did the woman who wrote it also read it?",
        "Are the directors of Destiny: Or, The Soul of a Woman and Maybe both from one country?",
    ],
)
def test_the_form_of_a_question_tells_that_it_wants_yes_or_no(question: str) -> None:
    assert asks_yes_or_no(question)


@pytest.mark.parametrize(
    "question",
    [
        "",
        WHO,
        "Is Pooley Bridge or Thirlmere bigger?",
        "Both Isherwood and Zamyatin shared what profession?",
        "Did Ferrell have a role in a film directed by whom?",
        "Did revenue increase or decrease?",
        "Which film came out first, Kadis or Lunar Tide?",
        "When the plant burned, did it stop, and for how long?",
    ],
)
def test_other_questions_want_something_else(question: str) -> None:
    assert not asks_yes_or_no(question)
