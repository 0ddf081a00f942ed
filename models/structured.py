"""Structured answers: schema-constrained, validated here, repaired once, else a recorded default."""

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
    """A validated value and its origin: the model, one repair turn, or the default."""

    value: T
    origin: Origin
    usage: Usage


def parse_json(text: str, shape: type[T]) -> T:
    """Read ``text`` as ``shape``, tolerating the JSON errors of small models.

    Code fences, prose around the object, an object wrapped in a one-element list, a bare list for the
    only list field and a list that was returned as a JSON string are accepted; nothing is invented.

    Raises:
        ValueError: with a sentence a model can act on (`pydantic.ValidationError` is one).
    """
    stripped = _FENCE.sub("", text.strip()).strip()
    if not stripped:
        raise ValueError("the answer was empty")
    properties = shape.model_json_schema().get("properties", {})
    lists = [name for name, field in properties.items() if field.get("type") == "array"]
    data = _decode(stripped)
    if isinstance(data, str):
        data = _decode(data)
    candidates = [data]
    if isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict):
        candidates = [data[0]]
    if isinstance(data, list) and len(lists) == 1:
        candidates.append({lists[0]: data})
    problem: ValueError | None = None
    for candidate in candidates:
        try:
            value = shape.model_validate(_unwrap(candidate, lists))
            # JSON escapes can encode characters that texts may not contain.
            return shape.model_validate(plain_values(value.model_dump()))
        except ValueError as error:
            problem = problem or error
    assert problem is not None
    raise problem


def _unwrap(data: Any, lists: Sequence[str]) -> Any:
    """The object with list fields that came as a JSON string turned into lists."""
    if not isinstance(data, dict):
        return data
    result = dict(data)
    for name in lists:
        value = result.get(name)
        if isinstance(value, str) and value.lstrip()[:1] == "[":
            try:
                result[name] = json.loads(value)
            except (ValueError, RecursionError):
                continue  # not a list after all: validation reports it
    return result


def _decode(text: str) -> Any:
    """The first JSON object in ``text``, else the first list; a truncated object does not count."""
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
            continue  # inside a value that was already decoded
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as error:
            if text[start] == "{" and (error.pos >= len(text) or "Unterminated" in error.msg):
                # A value inside a truncated object must not be taken for the object.
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
    chat: Chat, messages: Sequence[Message], shape: type[T], default: T, options: ChatOptions
) -> Structured[T]:
    """Ask for a ``shape``; repair at most once; fall back to ``default``, recorded as such.

    Raises what `Chat.generate` raises for the first prompt; an invalid *answer* never raises, nor does a
    repair that does not fit the context.
    """
    options = replace(options, schema=shape.model_json_schema())
    reply = chat.generate(messages, options)
    try:
        return Structured(parse_json(reply.text, shape), "model", reply.usage)
    except ValueError as problem:
        flaw = _reason(problem)
    repair = [
        *messages,
        Message("assistant", reply.text[:2000]),
        Message("user", f"That could not be used: {flaw}. Answer again with only the JSON object."),
    ]
    try:
        retry = chat.generate(repair, options)
    except ContextOverflow:
        # The first prompt fits; this one, which includes the invalid answer, does not.
        return Structured(default, "default", reply.usage)
    usage = reply.usage + retry.usage
    try:
        return Structured(parse_json(retry.text, shape), "repaired", usage)
    except ValueError:
        return Structured(default, "default", usage)


def _reason(problem: ValueError) -> str:
    if isinstance(problem, ValidationError):
        error = problem.errors()[0]
        field = ".".join(str(part) for part in error["loc"]) or "the object"
        return f"{field}: {error['msg']}"
    return str(problem)
