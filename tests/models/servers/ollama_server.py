"""A server on this machine that speaks Ollama's published HTTP API, with faults on request."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import takewhile
from operator import eq
from typing import Any, ClassVar, Literal

from tests.loopback import Handler, serving
from tests.scripted import HashEmbedder

Fault = Literal[
    "missing",  # 404, as for a model that was never pulled
    "broken",  # 500 before the answer
    "page",  # 501 with lines of HTML, as another server answers
    "error-line",  # an error object in the middle of the stream
    "cut",  # the connection is closed in the middle of the stream
    "cut-cleanly",  # the stream ends in good order, but before it is done
    "garbage",  # a line that is no JSON
    "hang-first",  # nothing at all comes
    "hang-later",  # nothing more comes after the first piece
    "slow",  # a piece every 300 ms: all of a reply takes longer than a test waits for one of them
]
_HUNG_AT_MOST = 20.0


@dataclass
class LoopbackOllama:
    """A server that says ``replies`` in turn, then the last one again; a word is a token.

    What differs between Ollama's versions, and what goes wrong with it, are its other fields.
    """

    replies: list[str] = field(default_factory=lambda: ["Hello there, friend."])
    thinking: str = ""
    top: Sequence[tuple[str, float]] = (("A", -0.2), (" B", -1.8), ("The", -6.0))
    models: list[str] = field(default_factory=lambda: ["tiny:latest"])
    fault: Fault | None = None
    trained_context: int = 32768
    grants_at_most: int | None = None  # of num_ctx, without telling
    thinks: bool = False
    thinks_in_tags: bool = False
    gives_logprobs: bool = True
    tells_cached: bool = False
    leaves_out_cached: bool = False
    tells_loaded_context: bool = True
    embeds: Sequence[Sequence[float]] | None = None
    says: str = ""  # in place of every answer
    url: str = ""
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)  # path and body
    disconnected: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    loaded: dict[str, int] = field(default_factory=dict)  # each model's context
    read: list[str] = field(default_factory=list)  # the words of the last prompt

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The bodies of the requests to ``path``."""
        return [body for asked, body in self.requests if asked == path]

    def next_reply(self) -> list[str]:
        """Its words, each with the space after it."""
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        *words, last = reply.split(" ")
        return [*(f"{word} " for word in words), last]


@contextmanager
def loopback_ollama() -> Iterator[LoopbackOllama]:
    """A healthy server with one model."""
    loopback = LoopbackOllama()
    with serving(_Handler, loopback=loopback) as loopback.url:
        try:
            yield loopback
        finally:
            loopback.closing.set()


class _Handler(Handler):
    protocol_version = "HTTP/1.1"
    loopback: ClassVar[LoopbackOllama]

    def get(self) -> None:
        self.loopback.requests.append((self.path, {}))
        if self._faulty():
            return
        loaded = self.loopback.loaded if self.path == "/api/ps" else dict.fromkeys(self.loopback.models, 0)
        told = self.path == "/api/ps" and self.loopback.tells_loaded_context
        self._json(
            {
                "version": "0.12.11",
                "models": [
                    {"name": name, "digest": "0f", **({"context_length": size} if told else {})}
                    for name, size in loaded.items()
                ],
            }
        )

    def post(self, body: dict[str, Any]) -> None:
        server = self.loopback
        server.requests.append((self.path, body))
        name = body["model"] if ":" in body["model"] else f"{body['model']}:latest"
        if self.path != "/api/show" and self._faulty():
            return
        if name not in server.models or server.fault == "missing":
            self._json({"error": f"model '{body['model']}' not found"}, 404)
        elif self.path == "/api/show":
            capabilities = ["completion", *["thinking"] * server.thinks]
            info = {"general.architecture": "qwen2", "qwen2.context_length": server.trained_context}
            self._json({"model_info": info, "capabilities": capabilities})
        elif self.path == "/api/embed":
            # Not of unit length, as with some models.
            vectors = server.embeds
            if vectors is None:
                vectors = (3 * HashEmbedder(32).embed_passages(body["input"])).tolist()
            self._json({"model": body["model"], "embeddings": vectors})
        elif body.get("think") and not server.thinks:
            self._json({"error": f'"{name}" does not support thinking'}, 400)
        else:
            context = min(body["options"]["num_ctx"], server.trained_context)
            server.loaded[name] = min(context, server.grants_at_most or context)
            self._stream(self._lines(body, server.loaded[name]))

    def _faulty(self) -> bool:
        fault, said = self.loopback.fault, self.loopback.says
        if said:
            self._json(json.loads(said))
        elif fault == "broken":
            self._json({"error": "llama runner process has terminated: out of memory"}, 500)
        elif fault == "page":
            self._json({"error": "<body>\n    <h1>Error</h1>\n</body>"}, 501)
        elif fault == "hang-first":
            self._hang()
        return bool(said) or fault in {"broken", "page", "hang-first"}

    def _hang(self) -> None:
        self.close_connection = True
        self.loopback.closing.wait(_HUNG_AT_MOST)

    def _lines(self, body: Mapping[str, Any], context: int) -> Iterator[dict[str, Any]]:
        server = self.loopback
        words = " ".join(message["content"] for message in body["messages"]).split()
        words = words[max(0, len(words) - context) :]
        cached = sum(takewhile(bool, map(eq, server.read, words[:-1])))
        server.read = words
        thinking = server.thinking if body.get("think") is not False and server.thinks else ""
        if thinking and server.thinks_in_tags:
            yield _said(f"<think>\n{thinking}\n</think>\n\n")
        elif thinking:
            yield _said("", thinking=thinking)
        count, reason = 0, "stop"
        for piece in server.next_reply():
            count += 1
            logprobs: dict[str, Any] = {}
            if body.get("logprobs") and server.gives_logprobs:
                top = [{"token": t, "logprob": p, "bytes": [*t.encode()]} for t, p in server.top]
                logprobs = {"logprobs": [{"token": piece, "logprob": -0.2, "top_logprobs": top}]}
            yield _said(piece) | logprobs
            if count == body["options"]["num_predict"] or len(words) + count >= context:
                reason = "length"
                break
        told = {"prompt_eval_cached_count": cached} if server.tells_cached else {}
        read = len(words) - (cached if server.leaves_out_cached else 0)
        counts = {"done": True, "done_reason": reason, "prompt_eval_count": read, "eval_count": count}
        yield _said("") | told | counts

    def _stream(self, lines: Iterator[dict[str, Any]]) -> None:
        fault = self.loopback.fault
        self.send_response(200)
        self.send_header("Content-Type", "application/x-ndjson")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for number, line in enumerate(lines):
                if number and fault == "error-line":
                    self._line({"error": "an error was encountered while running the model"})
                elif number and fault == "cut":
                    self.close_connection = True
                    return
                elif number and fault == "cut-cleanly":
                    break
                elif number and fault == "garbage":
                    self._chunk(b'{"model": "tiny", "mess\n')
                elif number and fault == "hang-later":
                    self._hang()
                    return
                else:
                    if fault == "slow":
                        time.sleep(0.3)
                    self._line(line)
            self._chunk(b"")
        except OSError:
            self.loopback.disconnected.set()
            self.close_connection = True

    def _line(self, value: Mapping[str, Any]) -> None:
        self._chunk(json.dumps(value).encode() + b"\n")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        self.wfile.flush()

    def _json(self, value: Mapping[str, Any], status: int = 200) -> None:
        with suppress(OSError):  # the client has gone
            self.send(json.dumps(value).encode(), status)


def _said(text: str, **more: str) -> dict[str, Any]:
    return {"model": "tiny", "message": {"role": "assistant", "content": text, **more}, "done": False}
