"""Structured answers: schema-constrained, validated here, repaired once, else a recorded default."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from models.protocols import Chat, ChatOptions, Message, Usage

T = TypeVar("T", bound=BaseModel)
Origin = Literal["model", "repaired", "default"]

_FENCE = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """A validated value and where it came from: the model, one repair turn, or the default."""

    value: T
    origin: Origin
    usage: Usage
    problem: str = ""


def parse_json(text: str, shape: type[T]) -> T:
    """Read ``text`` as ``shape``, forgiving what small models do to JSON.

    Code fences, prose around the object, an object wrapped in a one-element list and a list that was
    returned as a JSON string are accepted; nothing is invented.

    Raises:
        ValueError: with a sentence a model can act on (`pydantic.ValidationError` is one).
    """
    stripped = _FENCE.sub("", text.strip()).strip()
    if not stripped:
        raise ValueError("the answer was empty")
    data = _decode(stripped)
    if isinstance(data, str):
        data = _decode(data)
    if isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict):
        data = data[0]
    if isinstance(data, list):
        # A bare list is taken for the only list field of the shape, if there is exactly one.
        lists = [n for n, f in shape.model_json_schema()["properties"].items() if f.get("type") == "array"]
        if len(lists) == 1:
            data = {lists[0]: data}
    if isinstance(data, dict):
        data = {key: _unwrap(value) for key, value in data.items()}
    return shape.model_validate(data)


def _unwrap(value: Any) -> Any:
    if isinstance(value, str) and value[:1] == "[" and value[-1:] == "]":
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return value
    return value


def _decode(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    decoder = json.JSONDecoder()
    for start in (i for i, c in enumerate(text) if c in "{["):
        try:
            value, _ = decoder.raw_decode(text[start:])
        except json.JSONDecodeError:
            continue
        return value
    raise ValueError("the answer was not JSON")


def ask(
    chat: Chat,
    messages: Sequence[Message],
    shape: type[T],
    default: T,
    options: ChatOptions,
) -> Structured[T]:
    """Ask for a ``shape``; repair at most once; fall back to ``default``, recorded as such.

    Raises what `Chat.generate` raises; a bad *answer* never raises.
    """
    options = replace(options, schema=shape.model_json_schema())
    reply = chat.generate(messages, options)
    try:
        return Structured(parse_json(reply.text, shape), "model", reply.usage)
    except ValueError as problem:
        first = _reason(problem)
    repair = [
        *messages,
        Message("assistant", reply.text[:2000]),
        Message("user", f"That could not be used: {first}. Answer again with only the JSON object."),
    ]
    second = chat.generate(repair, options)
    usage = reply.usage + second.usage
    try:
        return Structured(parse_json(second.text, shape), "repaired", usage, first)
    except ValueError as problem:
        return Structured(default, "default", usage, _reason(problem))


def _reason(problem: ValueError) -> str:
    if isinstance(problem, ValidationError):
        error = problem.errors()[0]
        where = ".".join(str(part) for part in error["loc"]) or "the object"
        return f"{where}: {error['msg']}"
    return str(problem)
