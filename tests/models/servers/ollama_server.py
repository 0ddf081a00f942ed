"""A server on this machine that speaks Ollama's published HTTP API, with faults on request.

`ScriptedBrain` says what a test tells it. What differs between Ollama's versions, and what goes wrong with
it, are the fields of `Behaviour`.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from operator import eq
from typing import Any, ClassVar, Literal

from tests.loopback import Handler, serving
from tests.scripted import HashEmbedder

Fault = Literal[
    "missing",  # 404, as for a model that was never pulled
    "broken",  # 500 before the answer
    "error-line",  # an error object in the middle of the stream
    "cut",  # the connection is closed in the middle of the stream
    "cut-cleanly",  # the stream ends in good order, but before it is done
    "garbage",  # a line that is no JSON
    "hang-first",  # nothing at all comes
    "hang-later",  # nothing more comes after the first piece
    "slow",  # a piece every 400 ms: all of a reply takes longer than a test waits for one of them
]
_HUNG_AT_MOST = 20.0


@dataclass
class Behaviour:
    """How this server differs from a recent, healthy one."""

    fault: Fault | None = None
    version: str = "0.12.11"
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


@dataclass
class Answer:
    """What is answered: tokens, each with the log probabilities of what might have come instead."""

    read: int
    pieces: Sequence[str]
    top: Sequence[tuple[str, float]]
    cached: int
    thinking: str


@dataclass
class ScriptedBrain:
    """Says ``replies`` in turn, then the last one again; a word is a token."""

    replies: list[str] = field(default_factory=lambda: ["Hello there, friend."])
    thinking: str = ""
    top: Sequence[tuple[str, float]] = (("A", -0.2), (" B", -1.8), ("The", -6.0))
    _said: int = 0
    _previous: list[str] = field(default_factory=list)

    def answer(self, body: Mapping[str, Any], context: int) -> Answer:
        words = " ".join(str(m["content"]) for m in body["messages"]).split()
        words = words[max(0, len(words) - context) :]
        cached = sum(takewhile(bool, map(eq, self._previous, words[:-1])))
        self._previous = words
        reply = self.replies[min(self._said, len(self.replies) - 1)]
        self._said += 1
        return Answer(len(words), _words(reply), self.top, cached, self.thinking)


@dataclass
class LoopbackOllama:
    """The server. ``requests`` lists what was asked: path and body."""

    brain: ScriptedBrain = field(default_factory=ScriptedBrain)
    behaviour: Behaviour = field(default_factory=Behaviour)
    models: list[str] = field(default_factory=lambda: ["tiny:latest"])
    requests: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    disconnected: threading.Event = field(default_factory=threading.Event)
    closing: threading.Event = field(default_factory=threading.Event)
    loaded: dict[str, int] = field(default_factory=dict)
    url: str = ""

    def asked(self, path: str) -> list[dict[str, Any]]:
        """The bodies of the requests to ``path``."""
        return [body for asked, body in self.requests if asked == path]


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
        digest = hashlib.sha256(b"weights").hexdigest()
        behaviour = self.loopback.behaviour
        if self.path == "/api/version":
            self._json({"version": behaviour.version})
        elif self.path == "/api/tags":
            self._json({"models": [_listed(name, digest) for name in self.loopback.models]})
        elif self.path == "/api/ps":
            told = behaviour.tells_loaded_context
            self._json(
                {
                    "models": [
                        _listed(name, digest) | ({"context_length": size} if told else {})
                        for name, size in self.loopback.loaded.items()
                    ]
                }
            )
        else:
            self._json({"error": "not found"}, 404)

    def post(self, body: dict[str, Any]) -> None:
        self.loopback.requests.append((self.path, body))
        name = _tagged(str(body.get("model", "")))
        if self.path != "/api/show" and self._faulty():
            return
        if name not in self.loopback.models or self.loopback.behaviour.fault == "missing":
            self._json({"error": f"model '{body.get('model')}' not found"}, 404)
        elif self.path == "/api/show":
            self._show()
        elif self.path == "/api/embed":
            self._embed(body)
        elif self.path == "/api/chat":
            self._chat(body, name)
        else:
            self._json({"error": "not found"}, 404)

    def _faulty(self) -> bool:
        fault, said = self.loopback.behaviour.fault, self.loopback.behaviour.says
        if said:
            self._json(json.loads(said))
            return True
        if fault == "broken":
            self._json({"error": "llama runner process has terminated: out of memory"}, 500)
        if fault == "hang-first":
            self._hang()
        return fault in {"broken", "hang-first"}

    def _hang(self) -> None:
        self.close_connection = True
        self.loopback.closing.wait(_HUNG_AT_MOST)

    def _show(self) -> None:
        behaviour = self.loopback.behaviour
        self._json(
            {
                "details": {"family": "qwen2", "format": "gguf"},
                "model_info": {
                    "general.architecture": "qwen2",
                    "qwen2.context_length": behaviour.trained_context,
                },
                "capabilities": ["completion", *(["thinking"] if behaviour.thinks else [])],
            }
        )

    def _embed(self, body: Mapping[str, Any]) -> None:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        given = self.loopback.behaviour.embeds
        # Not of unit length, as with some models.
        vectors = given if given is not None else (3 * HashEmbedder(32).embed_passages(texts)).tolist()
        self._json({"model": body["model"], "embeddings": vectors, "prompt_eval_count": len(texts)})

    def _chat(self, body: dict[str, Any], name: str) -> None:
        behaviour, think = self.loopback.behaviour, body.get("think")
        if think and not behaviour.thinks:
            self._json({"error": f'"{name}" does not support thinking'}, 400)
            return
        options = body.get("options") or {}
        context = min(int(options.get("num_ctx", 4096)), behaviour.trained_context)
        context = min(context, behaviour.grants_at_most or context)
        self.loopback.loaded[name] = context
        self._stream(self._lines(body, self.loopback.brain.answer(body, context), context))

    def _lines(self, body: Mapping[str, Any], answer: Answer, context: int) -> Iterator[dict[str, Any]]:
        behaviour = self.loopback.behaviour
        head = {"model": body["model"], "created_at": datetime.now(UTC).isoformat()}
        thinking = answer.thinking if body.get("think") is not False and behaviour.thinks else ""
        if thinking and behaviour.thinks_in_tags:
            yield head | _said(f"<think>\n{thinking}\n</think>\n\n")
        elif thinking:
            yield head | _said("", thinking=thinking)
        count, reason = 0, "stop"
        limit = int((body.get("options") or {}).get("num_predict", -1))
        for piece in answer.pieces:
            count += 1
            logprobs: dict[str, Any] = {}
            if body.get("logprobs") and behaviour.gives_logprobs:
                top = [{"token": t, "logprob": p, "bytes": [*t.encode()]} for t, p in answer.top]
                logprobs = {"logprobs": [{"token": piece, "logprob": -0.2, "top_logprobs": top}]}
            yield head | _said(piece) | logprobs
            if count == limit or answer.read + count >= context:
                reason = "length"
                break
        cached = {"prompt_eval_cached_count": answer.cached} if behaviour.tells_cached else {}
        read = answer.read - (answer.cached if behaviour.leaves_out_cached else 0)
        counts = {"done": True, "done_reason": reason, "prompt_eval_count": read, "eval_count": count}
        yield head | _said("") | cached | counts

    def _stream(self, lines: Iterator[dict[str, Any]]) -> None:
        fault = self.loopback.behaviour.fault
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
                        time.sleep(0.4)
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
    return {"message": {"role": "assistant", "content": text, **more}, "done": False}


def _listed(name: str, digest: str) -> dict[str, Any]:
    return {"name": name, "model": name, "size": 491400064, "digest": digest}


def _tagged(name: str) -> str:
    return name if ":" in name else f"{name}:latest"


def _words(text: str) -> list[str]:
    return [part + " " for part in text.split(" ")[:-1]] + text.split(" ")[-1:]
