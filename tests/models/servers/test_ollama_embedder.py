"""`OllamaEmbedder` against the loopback server."""

from __future__ import annotations

import numpy as np
import pytest

from models.protocols import ModelError, ModelMissing, ModelUnreachable
from models.servers.ollama import OllamaEmbedder
from models.servers.wire import Patience
from tests.models.servers.ollama_server import LoopbackOllama


def test_vectors_have_unit_length(ollama: LoopbackOllama) -> None:
    embedder = OllamaEmbedder("tiny", base_url=ollama.url)
    assert embedder.name == "ollama:tiny"
    assert embedder.dimensions == embedder.dimensions == 32
    assert len(ollama.asked("/api/embed")) == 1
    vectors = embedder.embed_passages(["a cat", "a dog"])
    query = embedder.embed_query("cat")
    assert vectors.shape == (2, 32)
    assert query.shape == (32,)
    assert vectors.dtype == query.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1.0, 1.0])
    assert vectors[0] @ query > vectors[1] @ query
    assert embedder.embed_passages([]).shape == (0, 32)


def test_many_passages_go_in_batches_and_keep_their_order(ollama: LoopbackOllama) -> None:
    embedder = OllamaEmbedder("tiny", base_url=ollama.url)
    texts = [f"word{n}" for n in range(70)]
    vectors = embedder.embed_passages(texts)
    assert [len(body["input"]) for body in ollama.asked("/api/embed")] == [32, 32, 6]
    assert np.array_equal(vectors[69], embedder.embed_query("word69"))


def test_questions_and_passages_are_marked_as_the_models_authors_want(ollama: LoopbackOllama) -> None:
    ollama.models.append("nomic-embed-text:latest")
    embedder = OllamaEmbedder("nomic-embed-text", base_url=ollama.url)
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
    ollama.behaviour.embeds = vectors
    with pytest.raises(ModelError, match=why) as caught:
        OllamaEmbedder("tiny", base_url=ollama.url).embed_query("who?")
    assert "ollama pull" in caught.value.way_out


def test_faults(ollama: LoopbackOllama) -> None:
    with pytest.raises(ModelMissing, match="does not have the model other"):
        OllamaEmbedder("other", base_url=ollama.url).embed_query("who?")
    ollama.behaviour.fault = "broken"
    with pytest.raises(ModelError, match="out of memory"):
        OllamaEmbedder("tiny", base_url=ollama.url).embed_query("who?")
    ollama.behaviour.fault = "hang-first"
    patience = Patience(connect=1.0, first_token=0.2)
    with pytest.raises(ModelUnreachable, match="silent"):
        OllamaEmbedder("tiny", base_url=ollama.url, patience=patience).embed_query("who?")
    with pytest.raises(ModelUnreachable, match=r"127\.0\.0\.1:9"):
        OllamaEmbedder("tiny", base_url="127.0.0.1:9").embed_query("who?")
