"""Ollama against a loopback server: the request, the bill, the faults, cancelling, embedding."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from models.protocols import (
    ChatOptions,
    ContextOverflow,
    GenerationCancelled,
    Message,
    ModelError,
    ModelMissing,
    ModelUnreachable,
)
from models.servers.chat import Patience
from models.servers.ollama import OllamaChat, OllamaServer, base_url
from tests.models.servers.ollama_server import Fault, LoopbackOllama

HELLO = [Message("system", "Be brief."), Message("user", "Say hello.")]
SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
SHORT = Patience(first_token=0.8, idle=0.8)

Open = Callable[..., OllamaChat]


@pytest.fixture
def open_chat(ollama: LoopbackOllama) -> Iterator[Open]:
    """Opens chats on the loopback server and closes them afterwards."""
    opened: list[OllamaChat] = []

    def make(patience: Patience | None = None, context_tokens: int = 8192) -> OllamaChat:
        opened.append(OllamaServer(ollama.url, patience).open_chat("tiny", context_tokens))
        return opened[-1]

    yield make
    for chat in opened:
        chat.close()
        chat.close()


def test_streams_the_answer_and_bills_it(ollama: LoopbackOllama, open_chat: Open) -> None:
    pieces: list[str] = []
    reply = open_chat().generate(HELLO, ChatOptions(max_tokens=64, on_text=pieces.append))
    assert reply.text == "Hello there, friend."
    assert "".join(pieces) == reply.text
    assert len(pieces) == 3
    assert (reply.usage.evaluated, reply.usage.reused, reply.usage.generated) == (4, 0, 3)
    assert reply.finish_reason == "stop"
    (body,) = ollama.asked("/api/chat")
    assert body["options"] == {"num_ctx": 8192, "num_predict": 64, "temperature": 0.0}
    assert body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hello."},
    ]
    assert "think" not in body
    assert "format" not in body
    cut = open_chat().generate(HELLO, ChatOptions(max_tokens=2, schema=SCHEMA))
    assert (cut.text, cut.finish_reason) == ("Hello there, ", "length")
    assert ollama.asked("/api/chat")[1]["format"] == SCHEMA


def test_cached_tokens_count_as_reused_where_that_is_told(ollama: LoopbackOllama, open_chat: Open) -> None:
    ollama.tells_cached = True
    chat = open_chat()
    chat.generate(HELLO, ChatOptions())
    usage = chat.generate(HELLO, ChatOptions()).usage
    assert (usage.evaluated, usage.reused) == (1, 3)


@pytest.mark.parametrize(("trained", "requested"), [(256, 8192), (8192, 256)])
def test_refuses_a_prompt_that_does_not_fit_before_asking(
    ollama: LoopbackOllama, open_chat: Open, trained: int, requested: int
) -> None:
    ollama.trained_context = trained
    chat = open_chat(context_tokens=requested)
    with pytest.raises(ContextOverflow, match="256 tokens") as caught:
        chat.generate([Message("user", "word " * 300)], ChatOptions(max_tokens=16))
    assert caught.value.way_out
    with pytest.raises(ContextOverflow):
        chat.generate(HELLO, ChatOptions(max_tokens=256))
    assert ollama.asked("/api/chat") == []
    chat.generate(HELLO, ChatOptions(max_tokens=16))
    assert ollama.asked("/api/chat")[0]["options"]["num_ctx"] == 256


def test_notices_that_the_server_cut_the_prompt_but_not_where_it_leaves_out_cached_tokens(
    ollama: LoopbackOllama, open_chat: Open
) -> None:
    ollama.leaves_out_cached = True
    chat, notebook = open_chat(), "word " * 300
    chat.generate([Message("user", notebook)], ChatOptions(max_tokens=16))
    usage = chat.generate([Message("user", notebook + "and now?")], ChatOptions(max_tokens=16)).usage
    assert usage.evaluated < 10
    ollama.leaves_out_cached, ollama.grants_at_most = False, 100
    with pytest.raises(ContextOverflow, match="read only 100 of at least"):
        open_chat().generate([Message("user", notebook)], ChatOptions(max_tokens=16))


# Thinking


@pytest.mark.parametrize("in_tags", [False, True])
@pytest.mark.parametrize("answer", ["Hello there, friend.", ""])
def test_thinking_is_kept_apart_unless_there_is_nothing_else(
    ollama: LoopbackOllama, open_chat: Open, in_tags: bool, answer: str
) -> None:
    ollama.thinks, ollama.thinks_in_tags = True, in_tags
    ollama.thinking, ollama.replies = "They want a greeting.", [answer]
    pieces: list[str] = []
    reply = open_chat().generate(HELLO, ChatOptions(on_text=pieces.append))
    assert reply.text == "".join(pieces) == (answer or "They want a greeting.")
    assert ollama.asked("/api/chat")[0]["think"] is True


def test_a_dropped_format_turns_thinking_back_on(ollama: LoopbackOllama, open_chat: Open) -> None:
    ollama.thinks = True
    ollama.replies = ["Sure! Hello.", '{"word": "hello"}', '{"word": "hello"}']
    chat = open_chat()
    for _ in range(3):
        chat.generate(HELLO, ChatOptions(schema=SCHEMA))
    assert [body["think"] for body in ollama.asked("/api/chat")] == [False, True, True]


# Choosing


def test_choose_reads_log_probabilities(ollama: LoopbackOllama, open_chat: Open) -> None:
    choice = open_chat().choose(HELLO, ["A", "B", "C"])
    assert choice.measured
    assert sum(choice.probabilities) == pytest.approx(1.0)
    assert choice.probabilities[1] / choice.probabilities[0] == pytest.approx(2.718281828**-1.6, rel=1e-6)
    assert choice.probabilities[2] < 0.01  # not listed: at most the least that is
    body = ollama.asked("/api/chat")[0]
    assert (body["logprobs"], body["top_logprobs"], body["options"]["num_predict"]) == (True, 20, 1)


def test_choose_falls_back_to_a_named_pick(ollama: LoopbackOllama, open_chat: Open) -> None:
    # No label is probable, and once none is picked.
    ollama.replies = ["The", '{"choice": "Y"}', "The", "I cannot decide.", "B", '{"choice": "B"}']
    choice = open_chat().choose(HELLO, ["X", "Y"])
    assert (choice.probabilities, choice.measured) == ((0.0, 1.0), False)
    with pytest.raises(ModelError, match="picked none of X, Y"):
        open_chat().choose(HELLO, ["X", "Y"])
    ollama.gives_logprobs = False
    chat = open_chat()
    choice = chat.choose(HELLO, ["A", "B"])
    assert (choice.probabilities, choice.measured) == ((0.0, 1.0), False)
    chat.choose(HELLO, ["A", "B"])
    assert ["logprobs" in body for body in ollama.asked("/api/chat")[4:]] == [True, False, False]


# Faults


def test_no_server_at_all() -> None:
    server = OllamaServer("127.0.0.1:9", SHORT)
    for ask in (
        lambda: server.open_chat("tiny", 8192).generate(HELLO, ChatOptions()),
        lambda: server.open_embedder("tiny").embed_query("who?"),
    ):
        with pytest.raises(ModelUnreachable, match=r"127\.0\.0\.1:9") as caught:
            ask()
        assert "ollama serve" in caught.value.way_out


@pytest.mark.parametrize(
    ("fault", "error", "message"),
    [
        ("missing", ModelMissing, "does not have the model tiny"),
        ("broken", ModelError, "out of memory"),
        ("page", ModelError, "<body> <h1>Error</h1> </body>"),
        ("error-line", ModelError, "while running the model"),
        ("cut", ModelUnreachable, "in the middle of an answer"),
        ("cut-cleanly", ModelUnreachable, "in the middle of an answer"),
        ("garbage", ModelUnreachable, "in the middle of an answer"),
        ("hang-first", ModelUnreachable, "before its first word"),
        ("hang-later", ModelUnreachable, "between two words"),
    ],
)
def test_faults_become_errors_that_say_what_to_do(
    ollama: LoopbackOllama, open_chat: Open, fault: Fault, error: type[ModelError], message: str
) -> None:
    chat = open_chat(patience=SHORT)
    chat.facts()
    ollama.fault = fault
    with pytest.raises(error, match=message) as caught:
        chat.generate(HELLO, ChatOptions())
    assert type(caught.value) is error
    assert caught.value.way_out
    ollama.fault = "slow" if fault == "hang-later" else None  # which is not hung
    assert chat.generate(HELLO, ChatOptions()).text == "Hello there, friend."


# Cancelling


@pytest.mark.parametrize("fault", ["hang-first", "hang-later"])
def test_cancel_ends_a_call_to_a_hung_server(ollama: LoopbackOllama, open_chat: Open, fault: Fault) -> None:
    chat, cancel = open_chat(), threading.Event()
    chat.facts()
    ollama.fault = fault
    threading.Timer(0.1, cancel.set).start()
    with pytest.raises(GenerationCancelled):
        chat.generate(HELLO, ChatOptions(cancel=cancel))


def test_cancel_while_waiting_for_another_call(ollama: LoopbackOllama, open_chat: Open) -> None:
    chat, first, second = open_chat(), threading.Event(), threading.Event()
    chat.facts()
    ollama.fault = "hang-first"

    def occupy() -> None:
        with pytest.raises(GenerationCancelled):
            chat.generate(HELLO, ChatOptions(cancel=first))

    busy = threading.Thread(target=occupy)
    busy.start()
    while not ollama.asked("/api/chat"):
        second.wait(0.01)
    second.set()
    with pytest.raises(GenerationCancelled):
        chat.generate(HELLO, ChatOptions(cancel=second))
    first.set()
    busy.join()


@pytest.mark.parametrize("error", [GenerationCancelled, ZeroDivisionError])
def test_a_call_that_ends_while_text_arrives_stops_the_server(
    ollama: LoopbackOllama, open_chat: Open, error: type[Exception]
) -> None:
    chat, cancel = open_chat(), threading.Event()

    def end(_: str) -> None:
        cancel.set()
        if error is ZeroDivisionError:
            raise error

    ollama.replies, ollama.fault = ["word " * 400, "Hello."], "slow"
    with pytest.raises(error) as caught:
        chat.generate(HELLO, ChatOptions(cancel=cancel, on_text=end))
    assert ollama.disconnected.wait(60)
    assert caught.traceback  # held on to: the connection must not wait for it to be forgotten
    assert chat.generate(HELLO, ChatOptions()).text


# The server itself


def test_the_server_is_found_however_its_address_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OLLAMA_HOST", raising=False)
    assert base_url() == "http://127.0.0.1:11434"
    assert base_url("0.0.0.0") == "http://127.0.0.1:11434"
    assert base_url("box:1234/") == "http://box:1234"
    assert base_url("http://box:1234/v1/") == "http://box:1234"
    assert base_url("https://me:secret@box/ollama") == "https://me:secret@box:443/ollama"
    assert base_url("http://[::1]:1234") == "http://[::1]:1234"
    monkeypatch.setenv("OLLAMA_HOST", "box:5")
    assert base_url() == "http://box:5"
    for host in ("http://h:abc", "http://h:99999", "http://[::1"):
        monkeypatch.setenv("OLLAMA_HOST", host)
        with pytest.raises(ModelUnreachable, match="OLLAMA_HOST is 'http://") as caught:
            OllamaServer()
        assert caught.value.way_out
        assert base_url("box:5") == "http://box:5"
        with pytest.raises(ValueError, match=r"(?i)port|IPv6"):
            base_url(host)
    assert OllamaServer.full_name("a/b") == "a/b:latest"
    assert OllamaServer.full_name("a/b:7b") == "a/b:7b"


@pytest.mark.parametrize("line", ["null", "[1]", "5", '"text"'])
def test_what_poses_as_ollama_is_no_server(ollama: LoopbackOllama, open_chat: Open, line: str) -> None:
    chat = open_chat()
    chat.facts()
    embedder = OllamaServer(ollama.url).open_embedder("tiny")
    ollama.says = line
    for ask in (
        lambda: chat.generate(HELLO, ChatOptions()),
        OllamaServer(ollama.url).about,
        lambda: embedder.embed_query("a cat"),
    ):
        with pytest.raises(ModelUnreachable, match="does not speak Ollama's API"):
            ask()


def test_no_proxy_is_used(ollama: LoopbackOllama, open_chat: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert open_chat().generate(HELLO, ChatOptions()).text


# Embedding


def test_vectors_have_unit_length_and_the_order_of_their_texts(ollama: LoopbackOllama) -> None:
    embedder = OllamaServer(ollama.url).open_embedder("tiny")
    assert embedder.name == "ollama:tiny"
    vectors = embedder.embed_passages([f"word{n}" for n in range(70)])
    assert [len(body["input"]) for body in ollama.asked("/api/embed")] == [32, 32, 6]
    query = embedder.embed_query("word69")
    assert (vectors.shape, query.shape) == ((70, 32), (32,))
    assert vectors.dtype == query.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(70))
    assert np.array_equal(vectors[69], query)


def test_questions_and_passages_are_marked_as_the_models_authors_want(ollama: LoopbackOllama) -> None:
    ollama.models.append("nomic-embed-text:latest")
    embedder = OllamaServer(ollama.url).open_embedder("nomic-embed-text")
    embedder.embed_query("who?")
    embedder.embed_passages(["Ann."])
    assert [body["input"] for body in ollama.asked("/api/embed")] == [
        ["search_query: who?"],
        ["search_document: Ann."],
    ]


@pytest.mark.parametrize(
    ("vectors", "why"),
    [([[1.0, 2.0], [1.0]], "differ in length"), ([[0.0, 0.0]], "zero"), ([], "0 vectors came for 1")],
)
def test_unusable_vectors_are_refused(ollama: LoopbackOllama, vectors: list[list[float]], why: str) -> None:
    ollama.embeds = vectors
    with pytest.raises(ModelError, match=why) as caught:
        OllamaServer(ollama.url).open_embedder("tiny").embed_query("who?")
    assert "ollama pull" in caught.value.way_out


def test_faults(ollama: LoopbackOllama) -> None:
    server = OllamaServer(ollama.url, Patience(connect=1.0, first_token=0.2))
    with pytest.raises(ModelMissing, match="does not have the model other"):
        server.open_embedder("other").embed_query("who?")
    ollama.fault = "broken"
    with pytest.raises(ModelError, match="out of memory"):
        server.open_embedder("tiny").embed_query("who?")
    ollama.fault = "hang-first"
    with pytest.raises(ModelUnreachable, match="silent"):
        server.open_embedder("tiny").embed_query("who?")
