"""A site and a SearXNG server on this machine, with faults on request.

Tests reach them through the explicit arguments of what they test: ``Fetcher(allowed_hosts={site.host})``
and ``Searxng(server.url)``.
"""

from __future__ import annotations

import json
import ssl
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit


@dataclass
class Answer:
    """What a path answers with.

    Attributes:
        body: Its pieces; ``pause`` seconds lie between two of them.
        length: What Content-Length says, if not the truth; None leaves the header out.
        waits: Seconds until it answers at all.
    """

    body: bytes | Iterable[bytes] = b""
    media_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    length: int | None = -1
    waits: float = 0.0


class Site:
    """Serves ``answers`` by path on a free port of this machine, and keeps what it was asked.

    Args:
        answers: Path, with its query if it has one, to answer; others are 404, ``/robots.txt`` too.
        tls: Answers https with this.
    """

    def __init__(self, answers: Mapping[str, Answer | bytes], tls: ssl.SSLContext | None = None) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self._over = threading.Event()
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                site.headers.append(dict(self.headers))
                found = site.answer(self.path)
                site.send(self, found)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is given
                """Nothing on the screen."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that goes away in the middle is what some tests are about."""

        self._server = Server(("127.0.0.1", 0), Handler)
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = int(self._server.server_address[1])
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"{'https' if tls else 'http'}://{self.host}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, path: str) -> Answer:
        """What ``path`` answers with."""
        found = self.answers.get(path, Answer(b"not here", status=404))
        return found if isinstance(found, Answer) else Answer(found)

    def send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        """Send it, with its faults."""
        self._over.wait(answer.waits)
        pieces = [answer.body] if isinstance(answer.body, bytes) else answer.body
        handler.send_response(answer.status)
        if answer.media_type is not None:
            handler.send_header("Content-Type", answer.media_type)
        if isinstance(answer.body, bytes) and answer.length is not None:
            handler.send_header(
                "Content-Length", str(len(answer.body) if answer.length < 0 else answer.length)
            )
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in pieces:
            if self._over.is_set():
                return
            handler.wfile.write(piece)
            handler.wfile.flush()
            if answer.pause:
                time.sleep(answer.pause)


class SearxngServer(Site):
    """Speaks the part of SearXNG's API that is used: ``/search?q=…&format=json``.

    Args:
        results: What every search finds: URL to title.
        fault: An answer to give instead.
    """

    def __init__(self, results: Mapping[str, str], fault: Answer | None = None) -> None:
        super().__init__({})
        self.results = dict(results)
        self.fault = fault
        self.queries: list[str] = []

    def answer(self, path: str) -> Answer:
        parts = urlsplit(path)
        query = parse_qs(parts.query)
        if self.fault is not None:
            return self.fault
        if parts.path != "/search" or query.get("format") != ["json"]:
            return Answer(b"<html>the page for people</html>")
        self.queries.append(query["q"][0])
        results = [
            {"url": url, "title": title, "content": f"… {title} …", "engine": "test", "score": 1.0}
            for url, title in self.results.items()
        ]
        body = json.dumps({"query": query["q"][0], "number_of_results": 0, "results": results})
        return Answer(body.encode(), "application/json")
