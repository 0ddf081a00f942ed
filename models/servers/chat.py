"""What the chat models of all servers share: calls, turns, thinking, choices, detecting truncated prompts.

A call can be cancelled by another thread and has time-outs between signs of life. The client libraries
block in ``recv`` while a server loads a model, reads a long prompt or hangs; only shutting down the socket
ends that. So every request gets its own connection, the blocking iteration runs in a thread, and the
calling thread watches the clock and the cancel event.
"""

from __future__ import annotations

import json
import math
import queue
import socket
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import takewhile
from operator import eq
from typing import Any, TypeVar

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

tls = cache(httpx.create_ssl_context)
"""The trusted certificates, which take longer to read than a request to this machine."""


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


class Wire(httpx.BaseTransport):
    """An httpx transport for one call, which can be cut before it is sent, while connecting and later.

    A call that was cut may not have sent its request yet, for example while its thread imports the client
    library: that request is then rejected.

    `last` is the last complete JSON line from the server: client libraries drop unknown fields.
    Proxies from the environment are not used; the server is on this machine or network.
    """

    def __init__(self, server: str, patience: Patience) -> None:
        self._server = server
        self._patience = patience
        self._inner = httpx.HTTPTransport(verify=tls(), limits=httpx.Limits(max_keepalive_connections=0))
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._response: httpx.Response | None = None
        self._is_cut = False
        self.last: Mapping[str, Any] = {}

    @property
    def timeouts(self) -> httpx.Timeout:
        """httpx's own time-outs: only for connecting and sending; `run` handles the rest."""
        return httpx.Timeout(None, connect=self._patience.connect, write=30.0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request over its own connection. Raises `httpx.ConnectError` if the call was cut."""
        if self._is_cut:
            raise httpx.ConnectError("The call was cut before it was sent.", request=request)
        request.extensions = {**request.extensions, "trace": self._keep_socket}
        self._response = self._inner.handle_request(request)
        assert isinstance(self._response.stream, httpx.SyncByteStream)
        self._response.stream = _Tapped(self._response.stream, self._remember_line)
        return self._response

    def cut(self) -> None:
        """End the call, from any thread; a server that has begun to answer notices and stops, too."""
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                with suppress(OSError):  # already closed
                    self._socket.shutdown(socket.SHUT_RDWR)

    def run(self, start: Callable[[], Iterator[T]], cancel: threading.Event | None) -> Generator[T]:
        """The items of ``start()``, which runs in its own thread and sends over this wire.

        Raises:
            GenerationCancelled: ``cancel`` was set; the call ends within a fraction of a second.
            ModelUnreachable: the server was silent for too long.
            Exception: whatever the iteration raises.
        """
        items: queue.Queue[T | None] = queue.Queue()

        def work() -> None:
            try:
                for item in start():
                    if self._is_cut:
                        break  # much may have arrived already
                    items.put(item)
            finally:
                items.put(None)
                if self._response is not None:
                    self._response.close()  # or a server that is still sending would not notice

        executor = ThreadPoolExecutor(1, thread_name_prefix="deepthink-server")
        future = executor.submit(work)
        completed = False
        try:
            item = self._next(items, cancel, self._patience.first_token, "before its first word")
            while item is not None:
                yield item
                item = self._next(items, cancel, self._patience.idle, "between two words")
            completed = True
            future.result()
        finally:
            if not completed:
                self.cut()
            executor.shutdown(wait=completed)

    def _next(
        self, items: queue.Queue[T | None], cancel: threading.Event | None, timeout: float, when: str
    ) -> T | None:
        deadline = time.monotonic() + timeout
        while True:
            if cancel is not None and cancel.is_set():
                raise GenerationCancelled("The call to the server was cancelled.")
            try:
                return items.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if time.monotonic() >= deadline:
                    raise ModelUnreachable(
                        f"{self._server} was silent for {timeout:.0f} seconds {when}.",
                        "Look at the server's log; a smaller model or context may help, or restart it.",
                    ) from None

    def _keep_socket(self, event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            with self._lock:
                self._socket = info["return_value"].get_extra_info("socket")
            if self._is_cut:
                self.cut()

    def _remember_line(self, line: bytes) -> None:
        with suppress(ValueError):  # an incomplete line; the reader of the stream reports it
            value = json.loads(line)
            if isinstance(value, dict):
                self.last = value


class _Tapped(httpx.SyncByteStream):
    """A response's stream that also passes on its lines."""

    def __init__(self, inner: httpx.SyncByteStream, note: Callable[[bytes], None]) -> None:
        self._inner = inner
        self._on_line = note

    def __iter__(self) -> Iterator[bytes]:
        partial_line = b""
        for chunk in self._inner:
            *lines, partial_line = (partial_line + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    self._on_line(line)
            yield chunk
        if partial_line.strip():
            self._on_line(partial_line)

    def close(self) -> None:
        self._inner.close()


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
    """Token counts of a call by the server."""

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

    def __init__(self, name: str, new_wire: Callable[[], Wire]) -> None:
        self.name = name
        self._new_wire = new_wire
        self._wire = new_wire()  # that of the last call
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
    def _parts(self, messages: Sequence[Message], options: ChatOptions, top: int = 0) -> Generator[Part]:
        """Stream an answer; with the ``top`` log probabilities per token. Closing it ends the call."""

    @abstractmethod
    def _bill(self, messages: Sequence[Message]) -> Bill:
        """The token counts of the last call. Raises `ModelUnreachable` if it did not end properly."""

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
        with closing(self._parts(messages, options)) as parts:
            for part in parts:
                answer.add(part.text[:characters_left], part.reasoning[:characters_left])
                characters_left -= len(part.text) + len(part.reasoning)
                if characters_left < 0:
                    break
        if characters_left < 0:  # the call was cut off, so the server has no counts
            usage = Usage(_prompt_tokens(messages), 0, options.max_tokens, time.perf_counter() - started)
            finish: FinishReason = "length"
        else:
            usage, finish = self._close_call(messages, started)
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

    def close(self) -> None:
        """End a running call; the server unloads the model on its own schedule."""
        self._wire.cut()

    def _choose_by_logprobs(
        self, messages: Sequence[Message], labels: Sequence[str], cancel: threading.Event | None
    ) -> Choice | None:
        started = time.perf_counter()
        top: Sequence[tuple[str, float]] = ()
        messages = _defuse_all(messages)
        self._refuse_overflow(messages, 1)
        one_token = ChatOptions(max_tokens=1, cancel=cancel)
        with closing(self._parts(messages, one_token, TOP_LOGPROBS)) as parts:
            for part in parts:
                top = top or part.top
        if not top:
            self._logprobs = False
            return None
        usage, _ = self._close_call(messages, started)
        return _from_logprobs(top, labels, usage)

    def _refuse_overflow(self, messages: Sequence[Message], answer: int) -> None:
        prompt = _prompt_tokens(messages)
        if prompt + answer > self.context_tokens:
            raise ContextOverflow(
                f"A prompt of about {prompt} tokens and an answer of {answer} do not fit the "
                f"{self.context_tokens} tokens of {self.name}.",
                "Give the model a larger context in the settings, or ask with less material.",
            )

    def _close_call(self, messages: Sequence[Message], started: float) -> tuple[Usage, FinishReason]:
        """The cost of the last call. Raises `ContextOverflow` if the prompt was truncated."""
        bill = self._bill(messages)
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
        return Usage(evaluated, reused, bill.generated, time.perf_counter() - started), bill.finish

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
