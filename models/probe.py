"""Measure what a model can really do, once, and remember it.

What a model or its server claims and what it does differ: contexts are truncated, schemas are silently
dropped when thinking is off. So each capability is tried and the answer checked here.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from pydantic import BaseModel, TypeAdapter, ValidationError

from models.protocols import Chat, ChatOptions, ContextOverflow, Message, ModelUnreachable
from models.servers.chat import ServerChat
from models.servers.ollama import OllamaChat
from traces import paths

_log = logging.getLogger("deepthink.probe")

_FILLER = "apple "  # one token in every vocabulary, and within both estimates
_SAMPLE = 400
_SMALLEST_CONTEXT = 512
_COUNT = [Message("user", "Count from 1 to 60, with commas between the numbers.")]
_WEATHER = [Message("user", "Tell me about the weather in spring. Do not use JSON.")]


class _Colour(BaseModel):
    colour: Literal["red", "green"]
    count: int


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """Measurements of one model on this machine."""

    name: str
    context_tokens: int  # tokens of context that are really granted
    schema: bool  # whether an answer under a schema matches it with thinking off (or without a switch)
    schema_thinking: bool | None  # the same with thinking on; None if the model has no such switch
    label_probabilities: bool  # whether `Chat.choose` reads probabilities
    prefill: float  # prompt tokens computed per second
    generation: float  # tokens of answer per second


def probe(
    chat: Chat, *, cancel: threading.Event | None = None, on_step: Callable[[str], object] = lambda _: None
) -> ProbeResult:
    """Measure ``chat``; takes some seconds, or as long as reading a full context.

    An `OllamaChat` keeps the thinking mode that honours schemas best. ``on_step`` is called with a
    description of each step. Raises what `Chat.generate` raises.
    """
    on_step("loading the model")
    chat.generate([Message("user", "Hello")], ChatOptions(max_tokens=1, cancel=cancel))
    on_step("reading a prompt")
    prompt = f"{secrets.token_hex(4)} {_FILLER * _SAMPLE}\nIs this about fruit? A: yes. B: no."
    choice = chat.choose([Message("user", prompt)], ["A", "B"], cancel)
    prefill = choice.usage.evaluated / max(choice.usage.seconds, 1e-6)
    on_step("writing an answer")
    usage = chat.generate(_COUNT, ChatOptions(max_tokens=64, cancel=cancel)).usage
    writing = max(usage.seconds - usage.evaluated / max(prefill, 1e-6), 1e-6)
    on_step("answering under a schema")
    without_thinking, thinking = _probe_schemas(chat, cancel)
    on_step("filling the context")
    return ProbeResult(
        name=chat.name,
        context_tokens=_measure_context(chat, cancel),
        schema=without_thinking,
        schema_thinking=thinking,
        label_probabilities=choice.measured,
        prefill=round(prefill, 1),
        generation=round(usage.generated / writing, 1),
    )


def remember(result: ProbeResult) -> None:
    """Save ``result`` in the probes file, replacing the previous one for the same name."""
    file = paths.probes_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(file.with_suffix(".lock")):
        results = _read(file)
        results[result.name] = asdict(result)
        temporary = file.with_suffix(f".{os.getpid()}.part")
        temporary.write_text(json.dumps(results, indent=2, sort_keys=True), encoding="utf-8")
        temporary.replace(file)


def recall(name: str) -> ProbeResult | None:
    entry = _read(paths.probes_file()).get(name)
    if entry is None:
        return None
    try:
        return TypeAdapter(ProbeResult).validate_python(entry)
    except ValidationError as error:
        _log.warning("what is remembered about %s is not usable: %s", name, error)
        return None


def _read(file: Path) -> dict[str, Any]:
    try:
        results = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        _log.warning("%s is damaged and is written anew: %s", file, error)
        return {}
    return results if isinstance(results, dict) else {}


def _probe_schemas(chat: Chat, cancel: threading.Event | None) -> tuple[bool, bool | None]:
    """Whether a schema is honoured with thinking off and on; keeps the mode that works."""
    if not isinstance(chat, OllamaChat) or not chat.facts(cancel).thinks:
        return _honours_schema(chat, 64, cancel), None
    chat.schema_thinking = False
    without_thinking = _honours_schema(chat, 64, cancel)
    chat.schema_thinking = True
    thinking = _honours_schema(chat, 1024, cancel)
    chat.schema_thinking = thinking and not without_thinking
    return without_thinking, thinking


def _honours_schema(chat: Chat, tokens: int, cancel: threading.Event | None) -> bool:
    options = ChatOptions(max_tokens=tokens, schema=_Colour.model_json_schema(), cancel=cancel)
    try:
        _Colour.model_validate_json(chat.generate(_WEATHER, options).text)
    except ValidationError:
        return False
    return True


def _measure_context(chat: Chat, cancel: threading.Event | None) -> int:
    """The context that a prompt really gets, whatever was requested.

    If the server does not report it, it is halved until a prompt of that length is read.
    """
    tokens = chat.context_tokens
    if not isinstance(chat, ServerChat):
        return tokens
    if isinstance(chat, OllamaChat) and (loaded := chat.server.loaded_context(chat.model, cancel)):
        return min(loaded, tokens)
    while tokens > _SMALLEST_CONTEXT:
        prompt = [Message("user", f"{_FILLER * (tokens - 80)}\nWhat is this about?")]
        try:
            chat.generate(prompt, ChatOptions(max_tokens=16, cancel=cancel))
        except (ContextOverflow, ModelUnreachable):  # some servers disconnect if a prompt is too long
            tokens //= 2
        else:
            break
    return tokens
