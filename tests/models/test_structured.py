"""Structured answers: what is forgiven, what is repaired, what becomes the default."""

from __future__ import annotations

import threading
from typing import Literal

import pytest
from pydantic import BaseModel

from models.protocols import ChatOptions, GenerationCancelled, Message, ModelError
from models.structured import ask, parse_json
from tests.scripted import ScriptedChat


class Plan(BaseModel):
    steps: list[str]


class Verdict(BaseModel):
    verdict: Literal["yes", "no"]
    why: str = ""


class Step(BaseModel):
    query: str


class Steps(BaseModel):
    steps: list[Step]


class Nothing(BaseModel):
    pass


@pytest.mark.parametrize(
    "text",
    [
        '{"steps": ["a", "b"]}',
        '```json\n{"steps": ["a", "b"]}\n```',
        '```\n{"steps": ["a", "b"]}```',
        'Here is the plan:\n{"steps": ["a", "b"]}\nGood luck!',
        'Based on [1] and [2]: {"steps": ["a", "b"]}',
        'In the set {x, y}: {"steps": ["a", "b"]}',
        '[{"steps": ["a", "b"]}]',
        '["a", "b"]',
        '{"steps": "[\\"a\\", \\"b\\"]"}',
        '"{\\"steps\\": [\\"a\\", \\"b\\"]}"',
    ],
)
def test_forgives_what_small_models_do(text: str) -> None:
    assert parse_json(text, Plan).steps == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        ("```json\n```", "empty"),
        ("I would search first.", "not JSON"),
        ('{"steps": ["a", "b', "cut off"),
        ('{"steps": ["a"], "more": {"x": 1', "cut off"),
        ('{"more": [{"steps": ["a"]}, {"steps": ["b', "cut off"),  # what is inside is not the object
        ("[" * 5000, "nested too deeply"),
        ('{"steps": "a, b"}', "list"),
        ('{"steps": "[a, b]"}', "list"),
        ("3", "dictionary"),
        ('{"plan": ["a"]}', "steps"),
    ],
)
def test_refuses_what_is_not_the_shape(text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        parse_json(text, Plan)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"verdict": "yes", "why": "[1]"}', Verdict(verdict="yes", why="[1]")),
        ('[{"steps": [{"query": "a"}]}]', Steps(steps=[Step(query="a")])),
        ('[{"query": "a"}]', Steps(steps=[Step(query="a")])),
        (r'{"steps":["\ud800Who \u001b[2J\u202eis it?"]}', Plan(steps=["Who [2Jis it?"])),
        ("{}", Nothing()),
    ],
)
def test_a_value_is_read_as_its_shape_says(text: str, value: BaseModel) -> None:
    assert parse_json(text, type(value)) == value


def test_asks_and_repairs_once_with_the_error_and_then_falls_back_to_a_default_that_says_so() -> None:
    question, default = Message("user", "Is it?"), Verdict(verdict="yes")
    with ScriptedChat([{"verdict": "no"}]) as chat:
        answer = ask(chat, [question], Verdict, default, ChatOptions())
    assert (answer.value.verdict, answer.origin) == ("no", "model")
    schema = chat.calls[0].options.schema
    assert schema is not None
    assert schema["properties"]["verdict"]["enum"] == ["yes", "no"]
    with ScriptedChat(["maybe", ("not JSON", {"verdict": "no"})]) as chat:
        answer = ask(chat, [question], Verdict, default, ChatOptions())
    assert (answer.value.verdict, answer.origin) == ("no", "repaired")
    assert chat.calls[1].messages[:2] == (question, Message("assistant", "maybe"))
    assert answer.usage.generated == 1 + 2  # both calls are on the bill
    wrong = ({"verdict": "perhaps"}, ("verdict: Input should be 'yes' or 'no'", "x"))
    with ScriptedChat(wrong) as chat:
        answer = ask(chat, [question], Verdict, default, ChatOptions())
    assert (answer.value, answer.origin) == (default, "default")


def test_a_repair_that_does_not_fit_ends_in_the_default() -> None:
    default = Verdict(verdict="yes")
    with ScriptedChat(["maybe " * 60], context_tokens=100) as chat:
        options = ChatOptions(max_tokens=64)
        answer = ask(chat, [Message("user", "Is it?")], Verdict, default, options)
    assert answer.value is default
    assert answer.origin == "default"
    assert answer.usage.generated == 60


def test_failures_and_cancelling_are_not_answers() -> None:
    default, cancel = Verdict(verdict="yes"), threading.Event()
    cancel.set()
    with ScriptedChat(["maybe", ModelError("It broke.")]) as chat, pytest.raises(ModelError):
        ask(chat, [Message("user", "Is it?")], Verdict, default, ChatOptions())
    with ScriptedChat([]) as chat, pytest.raises(GenerationCancelled):
        ask(chat, [Message("user", "Is it?")], Verdict, default, ChatOptions(cancel=cancel))
