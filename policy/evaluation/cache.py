"""The answer cache: a prompt that a model has answered before is answered from disk, in the same words.

What the key is made of is everything that the reply depends on, so a changed prompt or option is asked
anew. What took seconds when it was asked is told as taking those seconds again (`clock`): a question that
is resumed costs what it would have cost in one go.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, TypeAdapter

from models.protocols import Chat, ChatOptions, Choice, GenerationCancelled, Message, Reply, Usage
from policy.evaluation.rows import KeyedLines

_REPLY = frozenset({"text", "finish_reason", "reasoning"})
_CHOICE = frozenset({"probabilities", "measured"})


class CachedChat:
    """A chat model that is asked nothing twice at temperature 0. At another one it is asked every time.

    A reply from disk has the text, the reasoning and the usage of when it was made. The model does not read
    the prompt of such a call: what the next call can reuse of it may be less than it was the first time.

    Args:
        chat: The model; closed with this.
        file: JSON lines that grow with each reply, one writer at a time. Need not exist.

    Raises:
        BadLines: a line is no reply. A last line without its end, as a killed run leaves one, is cut off.
    """

    def __init__(self, chat: Chat, file: Path) -> None:
        self._chat = chat
        self._known = _replies(file)
        self._spared = 0.0

    @property
    def name(self) -> str:
        """The model's."""
        return self._chat.name

    @property
    def context_tokens(self) -> int:
        """The model's."""
        return self._chat.context_tokens

    @property
    def spared(self) -> float:
        """Seconds that the replies from disk took when they were made, less what fetching them took."""
        return self._spared

    def count_tokens(self, text: str) -> int:
        """The model's count."""
        return self._chat.count_tokens(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """The reply of before, streamed in one piece, or a new one. Raises what the model raises."""
        if options.temperature != 0:
            return self._chat.generate(messages, options)
        began = time.monotonic()
        # The order of a schema's fields is the order in which they are written, so no key is sorted.
        asked = {"max_tokens": options.max_tokens, "schema": options.schema}
        key = self._key("generate", messages, asked)
        known = self._found(key, began, options.cancel)
        if known is not None:
            reply = Reply(
                known["text"], Usage(**known["usage"]), known["finish_reason"], known["reasoning"]
            )
            if options.on_text is not None and reply.text:
                options.on_text(reply.text)
            return reply
        reply = self._chat.generate(messages, options)
        self._keep(key, asdict(reply), began)
        return reply

    def choose(
        self,
        messages: Sequence[Message],
        options: Sequence[str],
        cancel: threading.Event | None = None,
    ) -> Choice:
        """The choice of before, or a new one. Raises what the model raises."""
        began = time.monotonic()
        key = self._key("choose", messages, {"labels": list(options)})
        known = self._found(key, began, cancel)
        if known is not None:
            return Choice(tuple(known["probabilities"]), Usage(**known["usage"]), known["measured"])
        choice = self._chat.choose(messages, options, cancel)
        self._keep(key, asdict(choice), began)
        return choice

    def close(self) -> None:
        """Close the model."""
        self._chat.close()

    def _key(self, call: str, messages: Sequence[Message], asked: Mapping[str, Any]) -> str:
        whole = [self._chat.name, call, [[m.role, m.content] for m in messages], asked]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()

    def _found(self, key: str, began: float, cancel: threading.Event | None) -> dict[str, Any] | None:
        known = self._known.get(key)
        if known is None:
            return None
        if cancel is not None and cancel.is_set():
            raise GenerationCancelled("The call was cancelled.")
        self._spared += known["seconds"] - (time.monotonic() - began)
        return known

    def _keep(self, key: str, reply: dict[str, Any], began: float) -> None:
        line = {"key": key, "seconds": round(time.monotonic() - began, 6), **reply}
        self._known.add(line)


def clock(chat: Chat) -> float:
    """Seconds on a clock that goes on by what a reply took when it was made, also where it came from disk.

    Only differences mean something, as with `time.monotonic`.
    """
    return time.monotonic() + (chat.spared if isinstance(chat, CachedChat) else 0.0)


def _replies(file: Path) -> KeyedLines[dict[str, Any]]:
    return KeyedLines(file, Annotated[dict[str, Any], AfterValidator(_checked)], lambda line: line["key"])


def _checked(told: dict[str, Any]) -> dict[str, Any]:
    """A line that can be given out: with all that a reply, or a choice, is made of."""
    missing = {"key", "seconds", "usage", *(_CHOICE if "probabilities" in told else _REPLY)} - told.keys()
    if missing:
        raise ValueError(f"it lacks {', '.join(sorted(missing))}")
    TypeAdapter(tuple[str, float, Usage]).validate_python([told["key"], told["seconds"], told["usage"]])
    return told
