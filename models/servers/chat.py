"""What the chat models of all servers share: calls, turns, thinking, choices, detecting truncated prompts.

A call can be cancelled by another thread and has time-outs between signs of life, also while a server loads
a model, reads a long prompt or hangs. So it is an asynchronous iteration in an event loop of its own, which
the calling thread drives while it watches the clock and the cancel event.
"""

from __future__ import annotations

import asyncio
import json
import math
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import takewhile
from operator import eq
from typing import TypeVar

import httpx

from models.control_tokens import StreamedAnswer, control_pattern, defused
from models.protocols import (
    ChatOptions,
    Choice,
    ContextOverflow,
    FinishReason,
    GenerationCancelled,
    Message,
    ModelError,
    ModelUnreachable,
    Reply,
    Usage,
)
from models.token_estimate import at_least, at_most

_TURN_TOKENS = 8  # what a chat template adds to each message
_TOKEN_CHARACTERS = 128  # upper bound in any vocabulary; a server that sends more ignores the limit
_CONTROLS = control_pattern()
TOP_LOGPROBS = 20  # the maximum that servers support

T = TypeVar("T")
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits for a server, in seconds."""

    connect: float = 5.0  # until it accepts a connection
    first_token: float = 300.0  # to load the model, read the prompt and send a first sign of life
    idle: float = 60.0  # between two signs of life after that

    @property
    def quick(self) -> Patience:
        """For requests without generation: no time for loading a model."""
        return Patience(self.connect, self.idle, self.idle)

    def client(self, base_url: str = "") -> httpx.AsyncClient:
        """A client that limits the time to connect; `received` limits the rest.

        Proxies from the environment are not used: the server is on this machine or network.
        """
        timeouts = httpx.Timeout(None, connect=self.connect, write=30.0)
        return httpx.AsyncClient(base_url=base_url, timeout=timeouts, trust_env=False)


def received(
    items: AsyncGenerator[T], server: str, patience: Patience, cancel: threading.Event | None
) -> Generator[T]:
    """The items that a call to ``server`` receives; closing the generator ends the call.

    Raises:
        GenerationCancelled: ``cancel`` was set; the call ends within a fraction of a second.
        ModelUnreachable: the server was silent for too long.
        Exception: whatever the iteration raises.
    """
    timeout, when = patience.first_token, "before its first word"
    with asyncio.Runner(loop_factory=asyncio.new_event_loop) as runner:
        try:
            while (item := runner.run(_next(items, server, timeout, when, cancel))) is not None:
                yield item
                timeout, when = patience.idle, "between two words"
        finally:
            runner.run(items.aclose())


async def _next(
    items: AsyncGenerator[T], server: str, timeout: float, when: str, cancel: threading.Event | None
) -> T | None:
    """The next item, None at the end; an item that is still awaited when this raises is given up."""
    item = asyncio.ensure_future(anext(items, None))
    deadline = time.monotonic() + timeout
    try:
        while True:
            if cancel is not None and cancel.is_set():
                raise GenerationCancelled(f"The call to {server} was cancelled.")
            await asyncio.wait([item], timeout=POLL_SECONDS)
            if item.done():
                return await item
            if time.monotonic() >= deadline:
                raise ModelUnreachable(
                    f"{server} was silent for {timeout:.0f} seconds {when}.",
                    "Look at the server's log; a smaller model or context may help, or restart it.",
                )
    finally:
        item.cancel()
        await asyncio.wait([item])


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a streamed answer, and of the thoughts if the server separates them.

    ``top``: the likeliest tokens at this position with their log probabilities, if requested.
    """

    text: str = ""
    reasoning: str = ""
    top: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True, slots=True)
class Bill:
    """Token counts of a call by the server, after the last part of the answer."""

    read: int | None  # prompt tokens; None if unknown. ``whole``: whether they include the cached ones
    cached: int | None  # how many of them were not computed again; None if unknown
    generated: int  # tokens of the answer
    finish: FinishReason
    whole: bool


class ServerChat(ABC):
    """A chat model on a server; calls from several threads wait for each other.

    Servers cannot count tokens without computing, so prompts are checked against an upper estimate.
    Whether the server then read the whole prompt is checked afterwards, since some silently drop the head
    of a prompt that is too long. An answer far beyond its limit is cut off.
    """

    def __init__(self, name: str, server: str, patience: Patience) -> None:
        self.name = name
        self._server_name = server
        self._patience = patience
        self._lock = threading.Lock()
        self._logprobs = True
        self._previous = ""

    @property
    @abstractmethod
    def context_tokens(self) -> int:
        """Tokens of prompt and answer together; may ask the server."""

    @abstractmethod
    def _prepare(self, cancel: threading.Event | None) -> None:
        """Ask the server for what is needed before a call."""

    @abstractmethod
    def _parts(
        self, messages: Sequence[Message], options: ChatOptions, top: int
    ) -> AsyncGenerator[Part | Bill]:
        """Stream an answer and at its end the bill; with the ``top`` log probabilities per token.

        Raises `ModelUnreachable` if the answer does not end properly.
        """

    def count_tokens(self, text: str) -> int:
        """An upper estimate."""
        return at_most(text)

    def generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        """Answer ``messages``; raises what `models.protocols.Chat` lists."""
        with self._exclusive(options.cancel):
            return self._generate(messages, options)

    def _generate(self, messages: Sequence[Message], options: ChatOptions) -> Reply:
        started = time.perf_counter()
        answer = StreamedAnswer(options.on_text)
        messages = _defuse_all(messages)
        self._refuse_overflow(messages, options.max_tokens)
        characters_left = options.max_tokens * _TOKEN_CHARACTERS
        bill: Bill | None = None
        with closing(self._stream(messages, options)) as parts:
            for part in parts:
                if isinstance(part, Bill):
                    bill = part
                    continue
                answer.add(part.text[:characters_left], part.reasoning[:characters_left])
                characters_left -= len(part.text) + len(part.reasoning)
                if characters_left < 0:
                    break
        if bill is None:  # the call was cut off, so the server has no counts
            usage = Usage(_prompt_tokens(messages), 0, options.max_tokens, time.perf_counter() - started)
            finish: FinishReason = "length"
        else:
            usage, finish = self._usage(bill, messages, started), bill.finish
        answer.finish(complete=finish == "stop")
        return Reply(answer.text, usage, finish)

    def choose(
        self, messages: Sequence[Message], options: Sequence[str], cancel: threading.Event | None = None
    ) -> Choice:
        """Choose one of the labels by the server's log probabilities of the first token.

        If the server provides none, the model names its choice under a schema, and the choice is marked as
        not measured.

        Raises what `models.protocols.Chat` lists, and `ModelError` if no label was chosen.
        """
        with self._exclusive(cancel):
            if self._logprobs and (choice := self._choose_by_logprobs(messages, options, cancel)):
                return choice
        schema = {
            "type": "object",
            "properties": {"choice": {"type": "string", "enum": list(options)}},
            "required": ["choice"],
        }
        reply = self.generate(messages, ChatOptions(max_tokens=32, schema=schema, cancel=cancel))
        pick = _parse_pick(reply.text, options)
        if pick is None:
            raise ModelError(
                f"{self.name} picked none of {', '.join(options)}: {reply.text[:80]!r}.",
                "Update the server or choose another model.",
            )
        weights = tuple(float(index == pick) for index in range(len(options)))
        return Choice(weights, reply.usage, measured=False)

    def close(self) -> None:  # noqa: B027
        """Do nothing: the server unloads the model on its own schedule."""

    def _stream(
        self, messages: Sequence[Message], options: ChatOptions, top: int = 0
    ) -> Generator[Part | Bill]:
        parts = self._parts(messages, options, top)
        return received(parts, self._server_name, self._patience, options.cancel)

    def _choose_by_logprobs(
        self, messages: Sequence[Message], labels: Sequence[str], cancel: threading.Event | None
    ) -> Choice | None:
        started = time.perf_counter()
        top: Sequence[tuple[str, float]] = ()
        messages = _defuse_all(messages)
        self._refuse_overflow(messages, 1)
        one_token = ChatOptions(max_tokens=1, cancel=cancel)
        usage = Usage()
        with closing(self._stream(messages, one_token, TOP_LOGPROBS)) as parts:
            for part in parts:
                if isinstance(part, Bill):
                    usage = self._usage(part, messages, started)
                else:
                    top = top or part.top
        if not top:
            self._logprobs = False
            return None
        return _from_logprobs(top, labels, usage)

    def _refuse_overflow(self, messages: Sequence[Message], answer: int) -> None:
        prompt = _prompt_tokens(messages)
        if prompt + answer > self.context_tokens:
            raise ContextOverflow(
                f"A prompt of about {prompt} tokens and an answer of {answer} do not fit the "
                f"{self.context_tokens} tokens of {self.name}.",
                "Give the model a larger context in the settings, or ask with less material.",
            )

    def _usage(self, bill: Bill, messages: Sequence[Message], started: float) -> Usage:
        """The cost of a call. Raises `ContextOverflow` if the prompt was truncated."""
        prompt = "\n".join(message.content for message in messages)
        # If cached tokens are not counted, only the new part of the prompt must be.
        common = sum(takewhile(bool, map(eq, self._previous, prompt)))
        counted_text = prompt if bill.whole else prompt[common:]
        least = at_least(counted_text)
        if bill.read is not None and bill.read < least:
            raise ContextOverflow(
                f"{self.name} read only {bill.read} of at least {least} tokens of the prompt: the server "
                f"grants it less than the {self.context_tokens} tokens asked for.",
                "Set a smaller context in the settings, or free memory on the server.",
            )
        self._previous = prompt
        reused = bill.cached or 0
        evaluated = max(0, (bill.read or 0) - reused)
        return Usage(evaluated, reused, bill.generated, time.perf_counter() - started)

    @contextmanager
    def _exclusive(self, cancel: threading.Event | None) -> Iterator[None]:
        while not self._lock.acquire(timeout=POLL_SECONDS):
            if cancel is not None and cancel.is_set():
                raise GenerationCancelled(f"The call to {self.name} was cancelled.")
        try:
            self._prepare(cancel)
            yield
        finally:
            self._lock.release()


def _defuse_all(messages: Sequence[Message]) -> list[Message]:
    """The messages without control tokens: servers interpret them anywhere in a prompt."""
    return [replace(message, content=defused(message.content, _CONTROLS)) for message in messages]


def _prompt_tokens(messages: Sequence[Message]) -> int:
    """An upper estimate of the tokens of a prompt."""
    return sum(at_most(message.content) + _TURN_TOKENS for message in messages)


def _parse_pick(text: str, labels: Sequence[str]) -> int | None:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = text
    if isinstance(answer, dict):
        answer = answer.get("choice")
    answer = str(answer).strip().strip("\"'().")
    return labels.index(answer) if answer in labels else None


def _from_logprobs(top: Sequence[tuple[str, float]], labels: Sequence[str], usage: Usage) -> Choice | None:
    """Probabilities of the labels; an unlisted one gets the lowest listed probability, its upper bound.

    None if no label is listed: then the model would have answered something else.
    """
    likelihoods = dict.fromkeys(labels, 0.0)
    for token, logprob in top:
        if token.strip() in likelihoods:
            likelihoods[token.strip()] += math.exp(logprob)
    if not any(likelihoods.values()):
        return None
    least = math.exp(min(logprob for _, logprob in top))
    weights = [likelihoods[label] or least for label in labels]
    return Choice(tuple(weight / sum(weights) for weight in weights), usage)
