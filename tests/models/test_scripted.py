"""The doubles that ship: what they refuse matters as much as what they give."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from pydantic import BaseModel

from models.protocols import (
    ChatOptions,
    ContextOverflow,
    GenerationCancelled,
    Message,
    ModelError,
    Reply,
    Span,
    Usage,
)
from models.scripted import HashEmbedder, Scripted, ScriptedChat, WordReader


class Steps(BaseModel):
    steps: list[str]


def user(text: str) -> list[Message]:
    return [Message("system", "Be brief."), Message("user", text)]


def test_gives_its_replies_in_order_and_records_the_calls() -> None:
    replies: list[Scripted] = [
        "One two.",
        {"n": 3},
        Steps(steps=["a"]),
        lambda messages: messages[-1].content.upper(),
    ]
    with ScriptedChat(replies) as chat:
        texts = [chat.generate(user("q"), ChatOptions(max_tokens=9)).text for _ in range(4)]
    assert texts == ["One two.", '{"n": 3}', '{"steps":["a"]}', "Q"]
    assert [call.options.max_tokens for call in chat.calls] == [9] * 4
    assert chat.calls[0].messages[-1] == Message("user", "q")


def test_streams_in_pieces() -> None:
    pieces: list[str] = []
    with ScriptedChat(["Ann  met\nBob."]) as chat:
        reply = chat.generate(user("q"), ChatOptions(on_text=pieces.append))
    assert pieces == ["Ann  ", "met\n", "Bob."]
    assert reply.usage.generated == 3


def test_a_whole_reply_keeps_its_reasoning() -> None:
    with ScriptedChat([Reply("Yes", Usage(), "length", "Hm.")]) as chat:
        reply = chat.generate(user("q"), ChatOptions())
    assert (reply.text, reply.finish_reason, reply.reasoning) == ("Yes", "length", "Hm.")
    assert reply.usage.evaluated > 0


def test_an_unexpected_call_fails() -> None:
    with ScriptedChat([]) as chat, pytest.raises(AssertionError, match=r"unexpected call.*why"):
        chat.generate(user("why"), ChatOptions())


def test_a_reply_that_is_left_over_fails() -> None:
    chat = ScriptedChat(["never asked for"])
    with pytest.raises(AssertionError, match="never asked for"), chat:
        pass
    with pytest.raises(AssertionError, match="1 replies"):
        chat.assert_consumed()


def test_an_error_inside_is_not_hidden_by_what_is_left_over() -> None:
    with pytest.raises(ZeroDivisionError), ScriptedChat(["left"]):
        raise ZeroDivisionError


def test_a_keyed_reply_expects_its_message() -> None:
    with ScriptedChat([("colour", "Red."), ("shape", {"A": 1})]) as chat:
        assert chat.generate(user("Which colour?"), ChatOptions()).text == "Red."
        assert chat.choose(user("Which shape?"), ["A", "B"]).probabilities == (1.0, 0.0)
    with (
        ScriptedChat([("colour", "Red.")]) as other,
        pytest.raises(AssertionError, match="expects 'colour'"),
    ):
        other.generate(user("Which shape?"), ChatOptions())


def test_exceptions_are_raised() -> None:
    with ScriptedChat([ModelError("It broke."), lambda _: ModelError("Again.")]) as chat:
        with pytest.raises(ModelError, match=r"It broke\."):
            chat.generate(user("q"), ChatOptions())
        with pytest.raises(ModelError, match=r"Again\."):
            chat.generate(user("q"), ChatOptions())


def test_choose_wants_weights() -> None:
    with ScriptedChat([{"A": 1, "C": 3}, "A"]) as chat:
        assert chat.choose(user("q"), ["A", "B", "C"]).probabilities == (0.25, 0.0, 0.75)
        assert chat.calls[-1].labels == ("A", "B", "C")
        with pytest.raises(AssertionError, match="a choice among"):
            chat.choose(user("q"), ["A", "B"])


def test_append_only_prompts_reuse_their_prefix() -> None:
    with ScriptedChat(["x", "x", "x"]) as chat:
        first = chat.generate(user("one two three"), ChatOptions()).usage
        second = chat.generate(user("one two three four"), ChatOptions()).usage
        same = chat.generate(user("one two three four"), ChatOptions()).usage
    assert (first.evaluated, first.reused) == (6, 0)
    assert (second.evaluated, second.reused) == (1, 6)
    assert (same.evaluated, same.reused) == (1, 6)


def test_refuses_what_does_not_fit() -> None:
    with ScriptedChat(["x"], context_tokens=20) as chat:
        with pytest.raises(ContextOverflow):
            chat.generate(user("word " * 19), ChatOptions(max_tokens=4))
        chat.generate(user("word"), ChatOptions(max_tokens=4))
    assert chat.count_tokens("Ann's 3 cats.") == 6
    assert chat.name == "scripted"
    chat.close()


def test_cancelling() -> None:
    cancel = threading.Event()
    with ScriptedChat(["one two three", "x"]) as chat:
        with pytest.raises(GenerationCancelled):
            chat.generate(user("q"), ChatOptions(cancel=cancel, on_text=lambda _: cancel.set()))
        with pytest.raises(GenerationCancelled):
            chat.choose(user("q"), ["A"], cancel)
        chat.generate(user("q"), ChatOptions())


def test_hashed_words_are_near_where_they_are_shared() -> None:
    embedder = HashEmbedder(256)
    passages = embedder.embed_passages(["The cat sat on the mat.", "Revenue grew by ten percent."])
    query = embedder.embed_query("Where did the cat sit?")
    assert passages.shape == (2, 256) == (2, embedder.dimensions)
    assert passages.dtype == query.dtype == np.float32
    assert np.linalg.norm(passages, axis=1) == pytest.approx([1.0, 1.0])
    assert passages[0] @ query > passages[1] @ query
    assert np.array_equal(query, HashEmbedder(256).embed_query("Where did the cat sit?"))
    assert embedder.embed_passages([]).shape == (0, 256)
    assert np.linalg.norm(embedder.embed_query("")) == pytest.approx(1.0)
    assert embedder.name != HashEmbedder(64).name


def test_a_passage_that_holds_the_words_of_the_question_answers_it() -> None:
    reader = WordReader()
    readings = reader.read("cat mat", ["A cat on a mat.", "A cat.", "A dog."])
    assert [reading.probability for reading in readings] == [1.0, 0.5, 0.0]
    assert all(reading.spans == () for reading in readings)
    assert reader.name == "words"


def test_words_are_marked_where_they_stand() -> None:
    reader = WordReader({"who?": ("a cat", 0.8)})
    marked, without = reader.read("who?", ["It is a cat.", "It is a dog."])
    assert (marked.probability, marked.spans) == (0.8, (Span(6, 11, 0.8),))
    assert (without.probability, without.spans) == (0.0, ())
    assert reader.read("else?", ["It is a cat."])[0].spans == ()


def test_a_claim_is_supported_by_a_passage_that_holds_its_words() -> None:
    yes, no = WordReader().support([("A cat sat.", "The cat sat on a mat."), ("A dog ran.", "A cat.")])
    assert yes.supported > 0.5 > no.supported
    assert yes.supported + yes.refuted + yes.neither == pytest.approx(1)
