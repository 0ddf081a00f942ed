"""Test doubles: a scripted chat, and models that need no weights.

`ScriptedChat` fails on a call it has no reply for *and* on a reply that was never asked for, so that a
test which passes has seen exactly the calls it expects::

    with ScriptedChat([{"steps": ["Who?"]}, ("Write the answer", "Ann [1].")]) as chat:
        ...  # the first call gets JSON; the second must be asked to "Write the answer"

`ScriptedReader` does the same for a reader that judges claims, `ScriptedCompleter` for a planner.

`HashEmbedder` and `WordReader` find texts that share words, which is enough to test retrieval.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Generic, Self, TypeAlias, TypeVar

import numpy as np
from pydantic import BaseModel

from models.protocols import (
    Chat,
    ChatOptions,
    Choice,
    ContextOverflow,
    GenerationCancelled,
    Message,
    Reading,
    Reply,
    Span,
    Support,
    Usage,
    Vectors,
)

T = TypeVar("T")
Plain: TypeAlias = str | Mapping[str, Any] | BaseModel | Reply | BaseException
Made: TypeAlias = Plain | Callable[[Sequence[Message]], Plain]
Scripted: TypeAlias = Made | tuple[str, Made]

_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Call:
    """One call as the double saw it; ``labels`` is set for `ScriptedChat.choose`."""

    messages: tuple[Message, ...]
    options: ChatOptions = field(default_factory=ChatOptions)
    labels: tuple[str, ...] = ()


class _Script(Generic[T]):
    """Gives what it was told to, in order; as a context manager it fails if something is left over."""

    name = "scripted"

    def __init__(self, replies: Sequence[T | tuple[str, T]]) -> None:
        self._left = list(replies)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            self.assert_consumed()

    def assert_consumed(self) -> None:
        """Fail if something is left over."""
        if self._left:
            raise AssertionError(f"{len(self._left)} replies were never asked for: {self._left!r}")

    def _take(self, asked: str) -> T:
        """The next reply. Raises AssertionError where none is left, or it expects another text."""
        if not self._left:
            raise AssertionError(f"an unexpected call: …{asked[-400:]!r}")
        reply = self._left.pop(0)
        if not isinstance(reply, tuple):
            return reply
        expected, given = reply
        if expected not in asked:
            raise AssertionError(f"the script expects {expected!r} in: …{asked[-400:]!r}")
        return given


class ScriptedChat(_Script[Made]):
    """A chat model that gives the replies it was told to give, in order.

    Args:
        replies: Each is a text; a mapping or pydantic object (given as JSON); a `Reply`, for its
            reasoning and finish reason; an exception (raised); or a function of the messages that
            returns one of these. For `choose`, a mapping of labels to weights. In a pair with a text,
            that text must occur in the last message of the call.
        context_tokens: What `ContextOverflow` is measured against.

    Use it as a context manager: leaving it without an error fails if replies are left over.
    """

    def __init__(self, replies: Sequence[Scripted], *, context_tokens: int = 8192) -> None:
        super().__init__(replies)
        self.context_tokens = context_tokens
        self._prefix: list[str] = []
        self.calls: list[Call] = []

    def count_tokens(self, text: str) -> int:
        """Words and signs."""
        return len(_WORD.findall(text))

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """The next reply, streamed word by word; raises as a real model does."""
        self.calls.append(Call(tuple(messages), options))
        usage = self._read(messages, options.max_tokens, options.cancel)
        reply = self._next(messages)
        told = reply if isinstance(reply, Reply) else Reply(_text(reply), Usage())
        text = told.text
        pieces = re.findall(r"\S+\s*|\s+", text)
        for piece in pieces:
            if options.cancel is not None and options.cancel.is_set():
                raise GenerationCancelled("The scripted answer was cancelled.")
            if options.on_text is not None:
                options.on_text(piece)
        return replace(told, usage=Usage(usage.evaluated, usage.reused, len(pieces)))

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """The next reply, which must be a mapping of labels to weights.

        Raises what `generate` raises, and AssertionError if the reply is no such mapping.
        """
        self.calls.append(Call(tuple(messages), labels=tuple(options)))
        usage = self._read(messages, 1, cancel)
        reply = self._next(messages)
        if not isinstance(reply, Mapping):
            wanted = f"a choice among {list(options)} was asked for"
            raise AssertionError(f"{wanted}; the script has {reply!r}")  # noqa: TRY004
        weights = [float(reply.get(label, 0.0)) for label in options]
        total = sum(weights) or 1.0
        return Choice(tuple(weight / total for weight in weights), usage)

    def close(self) -> None:
        """Nothing to free."""

    def _next(self, messages: Sequence[Message]) -> str | Mapping[str, Any] | BaseModel | Reply:
        reply = self._take(messages[-1].content)
        if callable(reply) and not isinstance(reply, BaseModel | BaseException):
            reply = reply(messages)
        if isinstance(reply, BaseException):
            raise reply
        return reply

    def _read(self, messages: Sequence[Message], answer: int, cancel: threading.Event | None) -> Usage:
        if cancel is not None and cancel.is_set():
            raise GenerationCancelled("The scripted call was cancelled.")
        tokens = _WORD.findall("\n".join(message.content for message in messages))
        if len(tokens) + answer > self.context_tokens:
            raise ContextOverflow(
                f"{len(tokens)} prompt tokens and {answer} of answer exceed {self.context_tokens}.",
                "Ask something shorter.",
            )
        reused = 0
        for ours, theirs in zip(self._prefix, tokens[:-1], strict=False):
            if ours != theirs:
                break
            reused += 1
        self._prefix = tokens
        return Usage(evaluated=len(tokens) - reused, reused=reused)


class TaughtChat(ScriptedChat):
    """The same, as a model that was taught `agent.prompts.TAUGHT`."""

    @property
    def taught(self) -> Chat:
        """Itself."""
        return self


def _text(reply: str | Mapping[str, Any] | BaseModel) -> str:
    if isinstance(reply, BaseModel):
        return reply.model_dump_json()
    return reply if isinstance(reply, str) else json.dumps(reply)


class ScriptedCompleter(_Script[str]):
    """A completer that writes the texts it was given, in order, and keeps what it read in ``prompts``.

    In a pair of texts, the first must be part of what the second continues. ``during`` is called while it
    writes.
    """

    def __init__(
        self, texts: Sequence[str | tuple[str, str]], during: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__(texts)
        self.prompts: list[str] = []
        self.during = during

    def complete(self, text: str, max_tokens: int, cancel: threading.Event | None = None) -> Reply:
        """The next text; raises as a real model does, and as `ScriptedChat` without a fitting text."""
        self.prompts.append(text)
        written = self._take(text)
        self.during()
        if cancel is not None and cancel.is_set():
            raise GenerationCancelled("The scripted plan was cancelled.")
        return Reply(written, Usage(len(_WORD.findall(text)), 0, len(_WORD.findall(written))))


class HashEmbedder:
    """Unit vectors of hashed words: texts that share words are near, and equal texts have equal vectors."""

    def __init__(self, dimensions: int = 128) -> None:
        self.dimensions = dimensions

    @property
    def name(self) -> str:
        """Names the dimensions too, since they tell libraries apart."""
        return f"hash-{self.dimensions}"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape ``(len(texts), dimensions)``."""
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        """Shape ``(dimensions,)``."""
        vector = np.zeros(self.dimensions, dtype=np.float32)
        for word in _WORD.findall(text.casefold()) or [""]:
            digest = hashlib.blake2b(word.encode(), digest_size=8).digest()
            vector[int.from_bytes(digest[:4], "little") % self.dimensions] += 1.0
        return vector / np.float32(np.linalg.norm(vector))


_LEAST = 0.01
"""A reader is never quite sure that a passage holds no answer."""


class ScriptedReader(_Script[Support]):
    """A reader that gives scripted judgements of claims, in order, and finds no answers.

    One judgement per pair that `support` is asked about; with a text before it, the claim or its passage
    must contain that text.
    """

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """An answer in no passage is likely."""
        return [Reading(_LEAST, ()) for _ in passages]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """The next judgements. Raises AssertionError where none is left, or one expects another pair."""
        return [self._take(f"{claim}\n{passage}") for claim, passage in pairs]

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """Every answer is one."""
        return [_SUPPORTED for _ in pairs]


_SUPPORTED, _UNRELATED = Support(0.9, 0.05, 0.05), Support(0.02, 0.02, 0.96)


class WordReader:
    """Scores a passage by the share of the question's words it holds.

    ``marks`` are words to mark wherever a passage holds them, with their probability, by question.
    ``reads`` is said of every passage instead, ``supports`` of every claim, and ``judges`` of every answer.
    """

    name = "words"

    def __init__(
        self,
        marks: Mapping[str, tuple[str, float]] | None = None,
        *,
        reads: float | None = None,
        supports: Support | None = None,
        judges: Support | None = None,
    ) -> None:
        self._marks, self._reads = dict(marks or {}), reads
        self._supports, self._judges = supports, judges

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """One reading per passage."""
        words, probability = self._marks.get(question, ("", 0.0))
        readings: list[Reading] = []
        for passage in passages:
            at = passage.find(words) if words else -1
            spans = (Span(at, at + len(words), probability),) if at >= 0 else ()
            likely = max(_held(question, passage), probability if spans else _LEAST)
            readings.append(Reading(likely if self._reads is None else self._reads, spans))
        return readings

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """Supported where the passage holds more than half of the claim's words."""
        return [
            self._supports or (_SUPPORTED if _held(claim, passage) > 0.55 else _UNRELATED)
            for claim, passage in pairs
        ]

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """As `support`, whatever the question."""
        return [self._judges] * len(pairs) if self._judges else self.support(pairs)


def _held(text: str, passage: str) -> float:
    """Share of the words of ``text`` that ``passage`` holds."""
    wanted = set(_WORD.findall(text.casefold()))
    return len(wanted & set(_WORD.findall(passage.casefold()))) / max(1, len(wanted))
