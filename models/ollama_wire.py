"""One HTTP connection to an Ollama server that another thread can cut, and that can be watched.

The Ollama client blocks in ``recv`` while a server loads a model, reads a long prompt or hangs; nothing
but shutting the socket down ends that. So every request gets a connection of its own, the blocking
iteration runs in a thread, and the calling thread watches the clock and the cancel event.
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


class Wire(httpx.BaseTransport):
    """An httpx transport for one request at a time.

    `last` is the last JSON line the server sent, whole: client libraries drop the fields they do not
    know. Proxies from the environment are not used; the server is on this machine or this network.
    """

    def __init__(self, patience: Patience) -> None:
        self._patience = patience
        self._inner = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self._cut = False
        self.last: Mapping[str, Any] = {}

    @property
    def timeouts(self) -> httpx.Timeout:
        """httpx's own time-outs: only connecting and sending; the rest is `Pump`'s."""
        return httpx.Timeout(None, connect=self._patience.connect, write=30.0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send one request over a connection of its own."""
        with self._lock:
            self._socket, self._cut, self.last = None, False, {}
        request.extensions = {**request.extensions, "trace": self._trace}
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Tapped(response.stream, self._note)
        return response

    def cut(self) -> None:
        """End whatever is being received, from any thread; the server notices and stops, too."""
        with self._lock:
            self._cut = True
            if self._socket is not None:
                with suppress(OSError):  # it is closed already
                    self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the pool."""
        self._inner.close()

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event != "connection.connect_tcp.complete":
            return
        with self._lock:
            self._socket = info["return_value"].get_extra_info("socket")
        if self._cut:
            self.cut()

    def _note(self, line: bytes) -> None:
        try:
            value = json.loads(line)
        except ValueError:
            return  # a line that was cut short; whoever reads the stream reports it
        if isinstance(value, dict):
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

        def work() -> None:
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
                self._wire.cut()
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
