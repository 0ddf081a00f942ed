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
from http.server import BaseHTTPRequestHandler
from typing import ClassVar, Self
from urllib.parse import parse_qs, urlsplit

from tests.loopback import Handler, serving


@dataclass
class Answer:
    """What a path answers with."""

    body: bytes | Iterable[bytes] = b""  # or its pieces; ``pause`` seconds lie between two of them
    media_type: str | None = "text/html; charset=utf-8"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pause: float = 0.0
    length: int = 0  # what Content-Length says, if not the truth
    waits: float = 0.0  # seconds until it answers at all


class Site:
    """Serves ``answers`` on a free port of this machine, with ``tls`` https, and keeps what it was asked.

    ``answers`` are by path, with its query if it has one; others are 404, ``/robots.txt`` too.
    """

    url = ""

    def __init__(self, answers: Mapping[str, Answer | bytes], tls: ssl.SSLContext | None = None) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self._over = threading.Event()
        self._serving = serving(_Handler, tls, site=self)

    def __enter__(self) -> Self:
        self.url = self._serving.__enter__()
        return self

    def __exit__(self, *_raised: object) -> None:
        self._over.set()
        self._serving.__exit__(None, None, None)

    @property
    def host(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def answer(self, path: str) -> Answer:
        found = self.answers.get(path, Answer(b"not here", status=404))
        return found if isinstance(found, Answer) else Answer(found)

    def send(self, handler: BaseHTTPRequestHandler, answer: Answer) -> None:
        self._over.wait(answer.waits)
        handler.send_response(answer.status)
        if answer.media_type is not None:
            handler.send_header("Content-Type", answer.media_type)
        if isinstance(answer.body, bytes):
            handler.send_header("Content-Length", str(answer.length or len(answer.body)))
        for name, value in answer.headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        for piece in [answer.body] if isinstance(answer.body, bytes) else answer.body:
            if self._over.is_set():
                return
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(answer.pause)


class _Handler(Handler):
    site: ClassVar[Site]

    def get(self) -> None:
        self.site.asked.append(self.path)
        self.site.headers.append(dict(self.headers))
        self.site.send(self, self.site.answer(self.path))


class SearxngServer(Site):
    """Speaks the part of SearXNG's API that is used: ``/search?q=…&format=json``.

    ``results`` are what every search finds, URL to title; ``fault`` is an answer to give instead.
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
