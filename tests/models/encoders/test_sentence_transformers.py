"""Vectors and scores from sentence-transformers folders: of tiny models made here."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.encoders import CrossEncoderReranker, LocalEmbedder, open_embedder
from models.protocols import Embedder, ModelError, ModelMissing, Reranker

_WORDS = ("the", "a", "river", "flows", "into", "sea", "bank", "holds", "money", "what", "is")


def write_transformer(folder: Path, seed: int = 0, **config: Any) -> None:
    """A BERT of some thousand parameters; a classifier if ``num_labels`` is given."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS]))
    tokenizer = BertTokenizerFast(str(vocabulary), model_max_length=32)
    torch.manual_seed(seed)
    shape = BertConfig(
        vocab_size=len(_WORDS) + 5,
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        max_position_embeddings=32,
        initializer_range=1.0,
        **config,
    )
    kind = BertForSequenceClassification if "num_labels" in config else BertModel
    kind(shape).save_pretrained(folder)
    tokenizer.save_pretrained(folder)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sentence-transformers folder without a normalising module."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    folder = tmp_path_factory.mktemp("models") / "tiny"
    write_transformer(folder.with_name("encoder"))
    modules = [Transformer(str(folder.with_name("encoder"))), Pooling(8, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    return folder


PASSAGES = ["the river flows into the sea", "the bank holds money", "a river", "the bank is a sea"]
QUERY = "what is the river"


# --- any folder --------------------------------------------------------------------------------


def test_vectors_are_unit_length_and_in_the_order_of_the_texts(tiny: Path) -> None:
    embedder: Embedder = LocalEmbedder(tiny, "tiny")
    words = ["river", "sea", "bank", "money", "water"]
    texts = [" ".join(words[: 1 + number % 5]) + f" {number}" for number in range(33)]
    texts[2:4] = ["", "the city " * 10]
    vectors = embedder.embed_passages(texts)
    assert vectors.shape == (33, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    for position in (0, 2, 3, 31, 32):
        alone = embedder.embed_query(texts[position])
        np.testing.assert_allclose(vectors[position], alone, atol=1e-5)


def test_other_weights_under_the_same_folder_name_have_another_name(tmp_path: Path) -> None:
    for place in ("here", "there", "everywhere"):
        (tmp_path / place / "mine").mkdir(parents=True)
    here, there, everywhere = (tmp_path / place / "mine" for place in ("here", "there", "everywhere"))
    (here / "model.safetensors").write_bytes(b"a" * 100_000)
    (there / "model.safetensors").write_bytes(b"a" * 100_000)
    (everywhere / "model.safetensors").write_bytes(b"a" * 50_000 + b"b" * 50_000)
    assert open_embedder(here).name == open_embedder(there).name
    assert open_embedder(here).name != open_embedder(everywhere).name
    assert open_embedder(here).name.startswith("mine@")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    embedder = open_embedder(tmp_path / "nowhere")
    with pytest.raises(ModelMissing, match=r"no embedding model in .*nowhere"):
        embedder.embed_query("the river")
    with pytest.raises(ModelMissing, match=r"no reranker in .*nowhere"):
        CrossEncoderReranker(tmp_path / "nowhere").score(QUERY, PASSAGES)


def test_a_broken_folder_is_explained_in_the_librarys_words(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 8')
    with pytest.raises(ModelError, match="could not be loaded: ") as caught:
        LocalEmbedder(tmp_path, "broken").embed_query("the river")
    assert caught.value.__cause__ is not None
    assert not isinstance(caught.value, ModelMissing)


# --- rerankers: their weights are random, so never how well they rank -------------------------------


@pytest.fixture(scope="module")
def make(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    def write(name: str, **config: Any) -> Path:
        folder = tmp_path_factory.mktemp("rerankers") / name
        write_transformer(folder, num_labels=config.pop("num_labels", 1), **config)
        return folder

    return write


def logits(folder: Path) -> list[float]:
    """What the network itself says, without sentence-transformers."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True)
    found = []
    for passage in PASSAGES:
        with torch.inference_mode():
            output = model.eval()(**tokenizer(QUERY, passage, return_tensors="pt"))
        found.append(float(output.logits[0, 0]))
    return found


@pytest.mark.parametrize(
    "activation", [None, "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"]
)
def test_the_sigmoid_is_applied_exactly_once(make: Callable[..., Path], activation: str | None) -> None:
    saved = {"sentence_transformers": {"activation_fn": activation}} if activation else {}
    folder = make("tiny", **saved)
    reranker: Reranker = CrossEncoderReranker(folder)
    expected = [1 / (1 + math.exp(-logit)) for logit in logits(folder)]
    assert reranker.score(QUERY, PASSAGES) == pytest.approx(expected, abs=1e-5)
    assert len({round(score, 4) for score in expected}) == len(PASSAGES), "too alike to tell"


def test_scores_follow_the_order_of_the_passages(make: Callable[..., Path]) -> None:
    reranker = CrossEncoderReranker(make("tiny"))
    assert (reranker.name, reranker.score(QUERY, [])) == ("tiny", [])
    assert not reranker.ready(), "nothing is loaded before it is needed"
    passages = [*PASSAGES, "longer than the model reads " * 100]
    forward = reranker.score(QUERY, passages)
    assert forward == pytest.approx(reranker.score(QUERY, passages[::-1])[::-1], abs=1e-5)
    assert all(0 <= score <= 1 for score in forward)
    assert reranker.ready()


def test_a_classifier_is_not_taken_for_a_reranker(make: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match="has 3 outputs; a reranker has one"):
        CrossEncoderReranker(make("tiny", num_labels=3)).score(QUERY, PASSAGES)
