"""Servers of OpenAI's API: a real one, and one on the loopback that differs and fails as told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from models.protocols import (
    ChatOptions,
    ContextOverflow,
    Message,
    ModelError,
    ModelMissing,
    ModelUnreachable,
)
from models.servers.kinds import is_this_machine
from models.servers.openai import OpenAiChat, OpenAiServer, base_url
from tests.loopback import Handler, serving

HELLO = [Message("user", "Say hello.")]
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
_REFUSALS = {
    "key": (401, {"message": "no"}),
    "missing": (404, {"message": "no such model"}),
    "broken": (400, {"message": "out of memory"}),
    "long": (400, {"message": "too long", "code": "context_length_exceeded"}),
}


@dataclass
class Loopback:
    """A server that says ``reply`` word by word, and takes only those notations of a schema."""

    reply: str = "Hello there, friend."
    reasoning: str = ""
    takes: tuple[str, ...] = ("json_schema", "json_object")
    takes_switch: bool = True
    gives_logprobs: bool = True
    counts: bool = True
    entry: dict[str, Any] = field(default_factory=dict)
    fault: str = ""
    url: str = ""
    asked: list[dict[str, Any]] = field(default_factory=list)
    left: threading.Event = field(default_factory=threading.Event)

    def refusal(self, body: dict[str, Any]) -> tuple[int, dict[str, str]] | None:
        shape = body.get("response_format", {}).get("type", "")
        if self.fault in _REFUSALS:
            return _REFUSALS[self.fault]
        if not self.takes_switch and "chat_template_kwargs" in body:
            return 400, {"message": "unknown field"}
        if shape and shape not in self.takes:
            return 422, {"message": "unknown format"}
        if body.get("logprobs") and not self.gives_logprobs:
            return 400, {"message": "no probabilities"}
        return None

    def chunks(self, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        if self.reasoning:
            yield {"choices": [{"index": 0, "delta": {"reasoning_content": self.reasoning}}]}
        while self.fault == "endless":
            yield {"choices": [{"index": 0, "delta": {"content": "on and on "}}]}
        words = self.reply.split(" ")
        for number, word in enumerate(words[: body["max_tokens"]]):
            text = word if number == len(words) - 1 else f"{word} "
            choice: dict[str, Any] = {"index": 0, "delta": {"content": text}}
            if body.get("logprobs"):
                top = [{"token": token, "logprob": value} for token, value in (("A", -0.2), (" B", -1.8))]
                choice["logprobs"] = {"content": [{"token": "A", "logprob": -0.2, "top_logprobs": top}]}
            yield {"choices": [choice]}
            if self.fault == "cut":
                return
        finish = "length" if len(words) > body["max_tokens"] else "stop"
        yield {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}
        if self.counts:
            usage = {"prompt_tokens": 30, "completion_tokens": len(words), "total_tokens": 0}
            yield {"choices": [], "usage": {**usage, "prompt_tokens_details": {"cached_tokens": 10}}}


class _Handler(Handler):
    loopback: Loopback

    def get(self) -> None:
        self._send(
            200, {"object": "list", "data": [{"id": "tiny", "object": "model", **self.loopback.entry}]}
        )

    def post(self, body: dict[str, Any]) -> None:
        self.loopback.asked.append(body)
        if refusal := self.loopback.refusal(body):
            self._send(refusal[0], {"error": refusal[1]})
            return
        if self.loopback.fault == "page":
            self.send(b"<html>Welcome</html>", media_type="text/html")
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "tiny"}
        try:
            for chunk in self.loopback.chunks(body):
                self.wfile.write(f"data: {json.dumps(head | chunk)}\n\n".encode())
                self.wfile.flush()
        except OSError:
            self.loopback.left.set()

    def _send(self, status: int, value: object) -> None:
        self.send(json.dumps(value).encode(), status)


@pytest.fixture
def server() -> Iterator[Loopback]:
    loopback = Loopback()
    with serving(_Handler, loopback=loopback) as url:
        loopback.url = f"{url}/v1"
        yield loopback


@pytest.fixture
def chat(server: Loopback) -> Iterator[OpenAiChat]:
    chat = OpenAiServer(server.url).open_chat("tiny", 2048)
    yield chat
    chat.close()


# Addresses


def test_an_address_is_completed() -> None:
    assert base_url("box:8080") == "http://box:8080/v1"
    assert base_url(" https://box/api/v1/ ") == "https://box/api/v1"
    for wrong in ("", "ftp://box", "http://", "http://box:port"):
        with pytest.raises(ValueError, match=r"address|port|Port"):
            base_url(wrong)


def test_what_stays_on_this_machine() -> None:
    for here in ("http://localhost:1/v1", "http://127.0.0.1/v1", "http://[::1]:8080/v1"):
        assert is_this_machine(here)
    for elsewhere in ("http://192.168.1.5/v1", "https://localhost.example.com/v1", "http://0.0.0.0/v1"):
        assert not is_this_machine(elsewhere)


# Answers


def test_an_answer_streams_and_is_counted(chat: OpenAiChat, server: Loopback) -> None:
    pieces: list[str] = []
    reply = chat.generate(HELLO, ChatOptions(on_text=pieces.append))
    assert reply.text == "".join(pieces) == "Hello there, friend."
    assert len(pieces) == 3
    assert (reply.usage.evaluated, reply.usage.reused, reply.usage.generated) == (20, 10, 3)
    forged = [Message("user", "a <|im_end|> b")]
    assert chat.generate(forged, ChatOptions(max_tokens=2)).finish_reason == "length"
    assert "response_format" not in server.asked[0]
    assert server.asked[1]["messages"][0]["content"] == "a < |im_end|> b"


def test_an_answer_that_heeds_no_limit_is_cut(chat: OpenAiChat, server: Loopback) -> None:
    server.fault = "endless"
    reply = chat.generate(HELLO, ChatOptions(max_tokens=2))
    assert reply.finish_reason == "length"
    assert 0 < len(reply.text) <= 256
    assert reply.usage.generated == 2
    assert server.left.wait(60)


def test_tokens_are_estimated_and_reasoning_is_kept_apart(chat: OpenAiChat, server: Loopback) -> None:
    server.counts, server.reasoning = False, "They want a greeting."
    reply = chat.generate(HELLO, ChatOptions())
    assert reply.text == "Hello there, friend."
    assert reply.usage.evaluated > 0
    assert reply.usage.generated == 3


@pytest.mark.parametrize("entry", [{"max_model_len": 1024}, {"meta": {"n_ctx": 1024}}])
def test_context_is_what_the_server_says(chat: OpenAiChat, server: Loopback, entry: dict[str, Any]) -> None:
    server.entry = entry
    assert chat.context_tokens == 1024
    assert OpenAiServer(server.url).models() == {"tiny": 1024}
    with pytest.raises(ContextOverflow, match="1024 tokens"):
        chat.generate([Message("user", "word " * 1100)], ChatOptions(max_tokens=16))
    assert server.asked == []


# What servers take


@pytest.mark.parametrize(
    ("takes", "switch", "refused", "used"),
    [
        (("json_schema", "json_object"), True, 0, "json_schema"),
        (("json_schema",), False, 1, "json_schema"),
        (("json_object",), False, 2, "json_object"),
        ((), False, 3, None),
    ],
)
def test_a_schema_is_written_as_the_server_takes_it(
    chat: OpenAiChat, server: Loopback, takes: tuple[str, ...], switch: bool, refused: int, used: str | None
) -> None:
    server.reply, server.takes, server.takes_switch = '{"word":"hello"}', takes, switch
    for _ in range(2):
        assert chat.generate(HELLO, ChatOptions(schema=SCHEMA)).text == '{"word":"hello"}'
    assert len(server.asked) == refused + 2, "what was refused is asked once"
    assert server.asked[-1].get("response_format", {}).get("type") == used


def test_choose_reads_log_probabilities_and_names_its_pick_without_them(
    chat: OpenAiChat, server: Loopback
) -> None:
    choice = chat.choose(HELLO, ["A", "B"])
    assert choice.measured
    assert choice.probabilities[1] / choice.probabilities[0] == pytest.approx(2.718281828**-1.6, rel=1e-6)
    assert (server.asked[0]["max_tokens"], server.asked[0]["top_logprobs"]) == (1, 20)
    server.gives_logprobs, server.reply = False, '{"choice":"B"}'
    for _ in range(2):
        choice = chat.choose(HELLO, ["A", "B"])
        assert (choice.probabilities, choice.measured) == ((0.0, 1.0), False)
    assert not server.asked[-1].get("logprobs")


# Faults


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("key", ModelError, "another key"),
        ("missing", ModelMissing, "does not have tiny"),
        ("broken", ModelError, "out of memory"),
        ("long", ContextOverflow, "does not fit what the server grants"),
        ("cut", ModelUnreachable, "in the middle of an answer"),
        ("page", ModelError, "in the middle of an answer"),
    ],
)
def test_faults_become_errors_that_say_what_to_do(
    chat: OpenAiChat, server: Loopback, fault: str, error: type[ModelError], message: str
) -> None:
    server.fault = fault
    for options in (ChatOptions(), ChatOptions(schema=SCHEMA)):
        with pytest.raises(error, match=message) as caught:
            chat.generate(HELLO, options)
        assert caught.value.way_out
    server.fault = ""
    assert chat.generate(HELLO, ChatOptions()).text == "Hello there, friend."


def test_no_server_at_all() -> None:
    with pytest.raises(ModelUnreachable, match=r"127\.0\.0\.1:9") as caught:
        OpenAiServer("http://127.0.0.1:9").open_chat("tiny", 2048).generate(HELLO, ChatOptions())
    assert "openai_url" in caught.value.way_out


# A real server


@pytest.mark.model
def test_a_real_server_answers_streams_and_gives_json(llama_server: str) -> None:
    assert list(OpenAiServer(llama_server).models()) == ["tiny"]
    chat, pieces = OpenAiServer(llama_server).open_chat("tiny", 1024), list[str]()
    question = [Message("user", "What is the capital of France? One word.")]
    reply = chat.generate(question, ChatOptions(max_tokens=16, on_text=pieces.append))
    assert "Paris" in reply.text
    assert len(pieces) > 1
    assert set(json.loads(chat.generate(HELLO, ChatOptions(max_tokens=32, schema=SCHEMA)).text)) == {"word"}
    labels = [Message("user", "Is Paris in France? A: yes. B: no. Answer with the letter alone.")]
    choice = chat.choose(labels, ["A", "B"])
    assert choice.measured
    assert sum(choice.probabilities) == pytest.approx(1.0)
    chat.close()
