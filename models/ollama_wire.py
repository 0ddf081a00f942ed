"""One HTTP connection to an Ollama server that another thread can cut, and that can be watched.

The Ollama client blocks in ``recv`` while a server loads a model, reads a long prompt or hangs; nothing
but shutting the socket down ends that. So every request gets a connection of its own, the blocking
iteration runs in a thread, and the calling thread watches the clock and the cancel event. A thread that
is given up before it has a socket, as while it imports the client library, is refused its request.
"""

from __future__ import annotations

import json
import queue
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx

from models.protocols import GenerationCancelled, ModelUnreachable

T = TypeVar("T")
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a server may take, in seconds.

    Attributes:
        connect: To accept a connection.
        first_token: To load the model, read the prompt and give a first sign of life.
        idle: Between two signs of life after that.
    """

    connect: float = 5.0
    first_token: float = 300.0
    idle: float = 60.0


class Call:
    """One call over a wire, which can be cut before it is sent, while it connects and while it answers."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """Whether it has been given up."""
        return self._is_cut

    def connected(self, connection: socket.socket) -> None:
        """Its request goes over this socket."""
        with self._lock:
            self._socket = connection
        if self._is_cut:
            self.cut()

    def cut(self) -> None:
        """Give it up, from any thread; a server that has begun to answer notices and stops, too."""
        with self._lock:
            self._is_cut = True
            if self._socket is not None:
                with suppress(OSError):  # it is closed already
                    self._socket.shutdown(socket.SHUT_RDWR)


class Wire(httpx.BaseTransport):
    """An httpx transport for one call at a time.

    A call that was given up may still be on its way to its first request, in a thread of its own: what
    it asks then is not sent, though the next call has begun.

    `last` is the last JSON line the server sent, whole: client libraries drop the fields they do not
    know. Proxies from the environment are not used; the server is on this machine or this network.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._inner = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        self._call = Call()
        self._of_thread = threading.local()
        self.last: Mapping[str, Any] = {}

    @property
    def timeouts(self) -> httpx.Timeout:
        """httpx's own time-outs: only connecting and sending; the rest is `Pump`'s."""
        return httpx.Timeout(None, connect=self._patience.connect, write=30.0)

    def begin(self) -> Call:
        """A new call, from which `last` is told from now on."""
        self._call, self.last = Call(), {}
        return self._call

    def serve(self, call: Call) -> None:
        """Take what this thread asks from now on as part of ``call``."""
        self._of_thread.call = call

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request over a connection of its own.

        Raises:
            httpx.ConnectError: Its call was given up before.
        """
        call: Call = self._of_thread.call
        if call.is_cut:
            raise httpx.ConnectError("The call was given up before it was sent.", request=request)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                call.connected(info["return_value"].get_extra_info("socket"))

        request.extensions = {**request.extensions, "trace": trace}
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Tapped(response.stream, lambda line: self._note(call, line))
        return response

    def cut(self) -> None:
        """Give up the call that is under way, from any thread."""
        self._call.cut()

    def close(self) -> None:
        """Close the pool."""
        self._inner.close()

    def _note(self, call: Call, line: bytes) -> None:
        try:
            value = json.loads(line)
        except ValueError:
            return  # a line that was cut short; whoever reads the stream reports it
        if isinstance(value, dict) and call is self._call:
            self.last = value


class _Tapped(httpx.SyncByteStream):
    def __init__(self, inner: httpx.SyncByteStream, note: Callable[[bytes], None]) -> None:
        self._inner = inner
        self._note = note

    def __iter__(self) -> Iterator[bytes]:
        rest = b""
        for chunk in self._inner:
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                if line.strip():
                    self._note(line)
            yield chunk
        if rest.strip():
            self._note(rest)

    def close(self) -> None:
        self._inner.close()


class Pump(Generic[T]):
    """Runs a blocking iteration in a thread and hands its items over, with time-outs and cancel.

    Args:
        wire: The connection the iteration reads from; cut when it is given up.
        patience: The time-outs.
        cancel: Checked all the while.
    """

    def __init__(self, wire: Wire, patience: Patience, cancel: threading.Event | None) -> None:
        self._wire = wire
        self._patience = patience
        self._cancel = cancel
        self._heard = False

    def run(self, start: Callable[[], Iterator[T]]) -> Generator[T]:
        """The items of ``start()``.

        Raises:
            GenerationCancelled: once ``cancel`` is set, within a fraction of a second.
            ModelUnreachable: if the server says nothing for longer than it may.
            Exception: whatever the iteration raises.
        """
        items: queue.Queue[T | None] = queue.Queue()
        call = self._wire.begin()

        def work() -> None:
            self._wire.serve(call)
            try:
                for item in start():
                    items.put(item)
            finally:
                items.put(None)

        executor = ThreadPoolExecutor(1, thread_name_prefix="deepthink-ollama")
        running = executor.submit(work)
        ended = False
        try:
            while (item := self._next(items)) is not None:
                yield item
            ended = True
            running.result()
        finally:
            if not ended:
                call.cut()
            executor.shutdown(wait=ended)

    def _next(self, items: queue.Queue[T | None]) -> T | None:
        allowed = self._patience.idle if self._heard else self._patience.first_token
        deadline = time.monotonic() + allowed
        while True:
            if self._cancel is not None and self._cancel.is_set():
                raise GenerationCancelled("The call to Ollama was cancelled.")
            try:
                item = items.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                if time.monotonic() < deadline:
                    continue
                what = "between two words" if self._heard else "before its first word"
                raise ModelUnreachable(
                    f"Ollama was silent for {allowed:.0f} seconds {what}.",
                    "Look at Ollama's log; a smaller model or context may help, "
                    "or restart it with `ollama serve`.",
                ) from None
            self._heard = True
            return item
