"""Servers on the loopback for tests: started, stopped, and silent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ssl import SSLContext
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """Answers with `get` and `post`. Logs nothing: tests say what went wrong themselves."""

    def get(self) -> None:
        """Answer a GET."""

    def post(self, body: dict[str, Any]) -> None:
        """Answer a POST of JSON."""

    def do_GET(self) -> None:
        self.get()

    def do_POST(self) -> None:
        self.post(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it
        """Say nothing."""

    def send(self, content: bytes, status: int = 200, media_type: str = "application/json") -> None:
        """A whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Nothing: a client that goes away in the middle is what some tests are about."""


@contextmanager
def serving(handler: type[Handler], tls: SSLContext | None = None, **fields: object) -> Iterator[str]:
    """The address of a server whose handlers have these class attributes; closing waits for its threads."""
    with _Server(("127.0.0.1", 0), type("Served", (handler,), fields)) as server:
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
