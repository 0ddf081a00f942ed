"""Structured answers: constrained by a schema, validated, repaired once if needed, else a default."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel, ValidationError

from models.protocols import Chat, ChatOptions, ContextOverflow, Message, Usage
from traces.plain_text import plain_values

T = TypeVar("T", bound=BaseModel)
Origin = Literal["model", "repaired", "default"]

_FENCE = re.compile(r"^\s*```(?:json)?\s*|\s*```\s*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """A validated value and its origin: the model, the repair turn, or the default."""

    value: T
    origin: Origin
    usage: Usage
    problem: str = ""


def parse_json(text: str, shape: type[T]) -> T:
    """Parse ``text`` as ``shape``, tolerating what small models do to JSON.

    Code fences, prose around the object, an object in a one-element list, a bare list for the only list
    field, and a list as a JSON string are accepted; nothing is invented.

    Raises:
        ValueError: with a message that a model can act on (`pydantic.ValidationError` is one).
    """
    body = _FENCE.sub("", text.strip()).strip()
    if not body:
        raise ValueError("the answer was empty")
    list_fields = _list_fields(shape)
    data = _decode(body)
    if isinstance(data, str):
        data = _decode(data)
    readings = [data]
    if isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict):
        readings = [data[0]]
    if isinstance(data, list) and len(list_fields) == 1:
        readings.append({list_fields[0]: data})
    problem: ValueError | None = None
    for reading in readings:
        try:
            return _clean(shape.model_validate(_unwrap_lists(reading, list_fields)))
        except ValueError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _clean(value: T) -> T:
    """``value`` without forbidden characters: JSON can write any character as an escape."""
    return type(value).model_validate(plain_values(value.model_dump()))


def _list_fields(shape: type[BaseModel]) -> list[str]:
    properties = shape.model_json_schema().get("properties", {})
    return [name for name, field in properties.items() if field.get("type") == "array"]


def _unwrap_lists(data: Any, list_fields: Sequence[str]) -> Any:
    """The object with list fields that came as a JSON string parsed into lists."""
    if not isinstance(data, dict):
        return data
    fields = dict(data)
    for name in list_fields:
        value = fields.get(name)
        if isinstance(value, str) and value.lstrip()[:1] == "[":
            try:
                fields[name] = json.loads(value)
            except (ValueError, RecursionError):
                continue  # not a list after all: validation reports it
    return fields


def _decode(text: str) -> Any:
    """The first JSON object in ``text``, else the first list; a truncated object raises ValueError."""
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        pass
    except RecursionError:
        raise ValueError("the answer was nested too deeply") from None
    decoder = json.JSONDecoder()
    values: list[Any] = []
    end = 0
    for start in (i for i, c in enumerate(text) if c in "{["):
        if start < end:
            continue  # inside a value that was already read
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if text[start] == "{" and (error.pos >= len(text) or "Unterminated" in error.msg):
                # A value inside a truncated object must not pass for the object.
                raise ValueError("the JSON object was cut off before its end") from None
            continue
        except RecursionError:
            raise ValueError("the answer was nested too deeply") from None
        if isinstance(value, dict):
            return value
        values.append(value)
    if not values:
        raise ValueError("the answer was not JSON")
    return values[0]


def ask(
    chat: Chat,
    messages: Sequence[Message],
    shape: type[T],
    default: T,
    options: ChatOptions,
) -> Structured[T]:
    """Ask for a ``shape``; repair at most once; fall back to ``default``, recorded as such.

    Raises what `Chat.generate` raises for the first prompt. An invalid answer never raises, nor does a
    repair that does not fit the context.
    """
    options = replace(options, schema=shape.model_json_schema())
    reply = chat.generate(messages, options)
    try:
        return Structured(parse_json(reply.text, shape), "model", reply.usage)
    except ValueError as problem:
        first_problem = _problem_text(problem)
    repair = [
        *messages,
        Message("assistant", reply.text[:2000]),
        Message(
            "user", f"That could not be used: {first_problem}. Answer again with only the JSON object."
        ),
    ]
    try:
        second_reply = chat.generate(repair, options)
    except ContextOverflow:
        # The first prompt fitted; with the invalid answer in it, it no longer does.
        return Structured(default, "default", reply.usage, first_problem)
    usage = reply.usage + second_reply.usage
    try:
        return Structured(parse_json(second_reply.text, shape), "repaired", usage, first_problem)
    except ValueError as problem:
        return Structured(default, "default", usage, _problem_text(problem))


def _problem_text(problem: ValueError) -> str:
    if isinstance(problem, ValidationError):
        error = problem.errors()[0]
        location = ".".join(str(part) for part in error["loc"]) or "the object"
        return f"{location}: {error['msg']}"
    return str(problem)
