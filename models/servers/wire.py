"""HTTP calls to a model server that another thread can cancel, with time-outs between signs of life.

The client libraries block in ``recv`` while a server loads a model, reads a long prompt or hangs; only
shutting down the socket ends that. So every request gets its own connection, the blocking iteration runs in
a thread, and the calling thread watches the clock and the cancel event.
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
from typing import Any, TypeVar

import httpx

from models.protocols import GenerationCancelled, ModelUnreachable

T = TypeVar("T")
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Patience:
    """Time limits for a server, in seconds.

    Attributes:
        connect: Until it accepts a connection.
        first_token: To load the model, read the prompt and send a first sign of life.
        idle: Between two signs of life after that.
    """

    connect: float = 5.0
    first_token: float = 300.0
    idle: float = 60.0

    @property
    def quick(self) -> Patience:
        """For requests without generation: no time for loading a model."""
        return Patience(self.connect, self.idle, self.idle)


class _Call:
    """A call, which can be cancelled before it is sent, while connecting and while answering."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None
        self.is_cut = False

    def connected(self, connection: socket.socket) -> None:
        with self._lock:
            self._socket = connection
        if self.is_cut:
            self.cut()

    def cut(self) -> None:
        """End the call, from any thread; a server that has begun to answer notices and stops, too."""
        with self._lock:
            self.is_cut = True
            if self._socket is not None:
                with suppress(OSError):  # already closed
                    self._socket.shutdown(socket.SHUT_RDWR)


class Wire(httpx.BaseTransport):
    """An httpx transport for one call at a time.

    A cancelled call may not have sent its request yet, for example while its thread imports the client
    library: that request is then rejected, even if the next call has begun.

    `last` is the last complete JSON line from the server: client libraries drop unknown fields.
    Proxies from the environment are not used; the server is on this machine or network.
    """

    def __init__(self, server: str, patience: Patience) -> None:
        self._server = server
        self._patience = patience
        self._inner = httpx.HTTPTransport(limits=httpx.Limits(max_keepalive_connections=0))
        self._call = _Call()
        self._of_thread = threading.local()
        self.last: Mapping[str, Any] = {}

    @property
    def timeouts(self) -> httpx.Timeout:
        """httpx's own time-outs: only for connecting and sending; `run` handles the rest."""
        return httpx.Timeout(None, connect=self._patience.connect, write=30.0)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request over its own connection. Raises `httpx.ConnectError` if it was cancelled."""
        call: _Call = self._of_thread.call
        if call.is_cut:
            raise httpx.ConnectError("The call was cut before it was sent.", request=request)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            if event == "connection.connect_tcp.complete":
                call.connected(info["return_value"].get_extra_info("socket"))

        request.extensions = {**request.extensions, "trace": trace}
        response = self._inner.handle_request(request)
        assert isinstance(response.stream, httpx.SyncByteStream)
        response.stream = _Tapped(response.stream, lambda line: self._remember_line(call, line))
        return response

    def cut(self) -> None:
        """End the running call, from any thread."""
        self._call.cut()

    def close(self) -> None:
        """Close the pool."""
        self._inner.close()

    def run(self, start: Callable[[], Iterator[T]], cancel: threading.Event | None) -> Generator[T]:
        """The items of ``start()``, which runs in its own thread and sends over this wire.

        Raises:
            GenerationCancelled: ``cancel`` was set; the call ends within a fraction of a second.
            ModelUnreachable: the server was silent for too long.
            Exception: whatever the iteration raises.
        """
        items: queue.Queue[T | None] = queue.Queue()
        call = self._call = _Call()
        self.last = {}

        def work() -> None:
            self._of_thread.call = call
            try:
                for item in start():
                    items.put(item)
            finally:
                items.put(None)

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
                call.cut()
            executor.shutdown(wait=completed)

    def _next(
        self, items: queue.Queue[T | None], cancel: threading.Event | None, timeout: float, when: str
    ) -> T | None:
        deadline = time.monotonic() + timeout
        while True:
            if cancel is not None and cancel.is_set():
                raise GenerationCancelled(f"The call to {self._server} was cancelled.")
            try:
                return items.get(timeout=POLL_SECONDS)
            except queue.Empty:
                if time.monotonic() >= deadline:
                    raise ModelUnreachable(
                        f"{self._server} was silent for {timeout:.0f} seconds {when}.",
                        "Look at the server's log; a smaller model or context may help, or restart it.",
                    ) from None

    def _remember_line(self, call: _Call, line: bytes) -> None:
        with suppress(ValueError):  # an incomplete line; the reader of the stream reports it
            value = json.loads(line)
            if isinstance(value, dict) and call is self._call:
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
