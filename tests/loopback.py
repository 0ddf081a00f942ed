"""Servers on the loopback for tests: started, stopped, and silent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
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


@contextmanager
def serving(handler: type[Handler], **fields: object) -> Iterator[str]:
    """The address of a server whose handlers have these class attributes; closing waits for its threads."""
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Served", (handler,), fields)) as server:
        server.daemon_threads = False
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
