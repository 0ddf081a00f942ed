"""Embedders and rerankers on ONNX Runtime and sentence-transformers: tiny ones made here, and real ones."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.catalogue import BGE_SMALL_EN, MS_MARCO_MINILM_L12, ModelEntry
from models.encoders import (
    CrossEncoderReranker,
    FolderModel,
    LocalEmbedder,
    OnnxEmbedder,
    OnnxModel,
    OnnxReranker,
    Recipe,
    open_embedder,
    open_reranker,
    read_recipe,
)
from models.fetch.pull import installed
from models.protocols import Embedder, Loadable, ModelError, ModelMissing, Reranker
from tests.models.encoders.tiny_onnx import write_embedder, write_reranker

_WORDS = ("the", "a", "river", "flows", "into", "sea", "bank", "holds", "money", "what", "is")
PASSAGES = ["the river is a sea", "the bank", "money", "a bank is a river"]
QUERY = "what is the river"
EITHER = pytest.mark.parametrize("runtime", ["onnx", "torch"])


def write_transformer(folder: Path, **config: Any) -> None:
    """A BERT of some thousand parameters; a classifier if ``num_labels`` is given."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel, BertTokenizerFast

    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = folder / "vocab.txt"
    vocabulary.write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS]))
    tokenizer = BertTokenizerFast(str(vocabulary), model_max_length=32)
    torch.manual_seed(0)
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
def embedders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder for each runtime; that for torch without a normalising module."""
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

    place = tmp_path_factory.mktemp("embedders")
    write_embedder(place / "onnx", "mean_tokens")
    write_transformer(place / "encoder")
    modules = [Transformer(str(place / "encoder")), Pooling(8, pooling_mode="mean")]
    SentenceTransformer(modules=modules, device="cpu").save(str(place / "torch"), create_model_card=False)
    return {runtime: place / runtime for runtime in ("onnx", "torch")}


@pytest.fixture(scope="module")
def rerankers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Likewise; their weights are random, so never how well they rank."""
    place = tmp_path_factory.mktemp("rerankers")
    write_reranker(place / "onnx")
    write_transformer(place / "torch", num_labels=1)
    return {runtime: place / runtime for runtime in ("onnx", "torch")}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An embedder for ONNX Runtime that a test may change."""
    write_embedder(tmp_path / "tiny")
    return tmp_path / "tiny"


# --- either runtime ----------------------------------------------------------------------------


@EITHER
def test_vectors_are_unit_length_and_in_the_order_of_the_texts(
    embedders: dict[str, Path], runtime: str
) -> None:
    embedder: Embedder = open_embedder(embedders[runtime])
    words = ["river", "sea", "bank", "money", "water"]
    texts = [" ".join(words[: 1 + number % 5]) + f" {number}" for number in range(33)]
    texts[2:4] = ["", "the city " * 10]
    vectors = embedder.embed_passages(texts)
    assert vectors.shape == (33, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    for position in (0, 2, 3, 31, 32):
        np.testing.assert_allclose(vectors[position], embedder.embed_query(texts[position]), atol=1e-5)


@EITHER
def test_a_score_hangs_on_its_passage_alone(rerankers: dict[str, Path], runtime: str) -> None:
    reranker: Reranker = open_reranker(rerankers[runtime])
    assert (reranker.name, reranker.score(QUERY, [])) == (runtime, [])
    assert isinstance(reranker, Loadable)
    passages = [*PASSAGES, "longer than the model reads " * 300]
    scores = reranker.score(QUERY, passages)
    assert scores == pytest.approx(reranker.score(QUERY, passages[::-1])[::-1], abs=1e-5)
    assert all(0 <= score <= 1 for score in scores)
    assert len({round(score, 4) for score in scores}) == len(passages)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (OnnxReranker, "no reranker"),
        (CrossEncoderReranker, "no reranker"),
        (partial(LocalEmbedder, name=""), "no embedding model"),
    ],
)
def test_a_folder_without_a_model_is_named_and_a_broken_one_explained_in_the_librarys_words(
    tmp_path: Path, kind: Callable[[Path], FolderModel], name: str
) -> None:
    with pytest.raises(ModelMissing, match=rf"nowhere.* {name}|{name} in .*nowhere"):
        kind(tmp_path / "nowhere").warm_up()
    (tmp_path / "model.onnx").write_text("not a network")
    (tmp_path / "tokenizer.json").write_text("{}")
    (tmp_path / "config.json").write_text('{"model_type": "bert", "hidden_size": 8')
    with pytest.raises(ModelError, match="could not be loaded: ") as caught:
        kind(tmp_path).warm_up()
    assert caught.value.__cause__ is not None
    assert not isinstance(caught.value, ModelMissing)


def test_a_network_of_another_kind_is_no_reranker(tmp_path: Path, folder: Path) -> None:
    write_reranker(tmp_path / "onnx", outputs=3)
    write_transformer(tmp_path / "torch", num_labels=3)
    for wrong in (tmp_path / "onnx", folder):
        with pytest.raises(ModelError, match="does not give one score"):
            OnnxReranker(wrong).score(QUERY, PASSAGES)
    with pytest.raises(ModelError, match="has 3 outputs; a reranker has one"):
        CrossEncoderReranker(tmp_path / "torch").score(QUERY, PASSAGES)


def test_the_kind_of_the_folder_decides_what_runs_it(folder: Path, tmp_path: Path) -> None:
    write_reranker(tmp_path / "ranks")
    assert isinstance(open_embedder(folder), OnnxEmbedder)
    assert isinstance(open_reranker(tmp_path / "ranks"), OnnxReranker)
    (folder / "model.safetensors").touch()
    (tmp_path / "ranks" / "pytorch_model.bin").touch()
    assert isinstance(open_embedder(folder), LocalEmbedder)
    assert isinstance(open_reranker(tmp_path / "ranks"), CrossEncoderReranker)


# --- on ONNX Runtime ---------------------------------------------------------------------------


def test_offsets_point_into_both_texts_and_long_pairs_are_cut(rerankers: dict[str, Path]) -> None:
    model, passage = OnnxModel(rerankers["onnx"], "reranker"), "the river is " * 200
    encoding = model.encode("what is", passage)
    assert len(encoding.ids) == 512
    found = [
        passage[start:end]
        for (start, end), sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True)
        if sequence == 1
    ]
    assert found == passage.split()[:507]
    assert [len(output) for output in model.run(encoding).values()] == [1]


def test_the_pooling_is_the_folders(tmp_path: Path) -> None:
    write_embedder(tmp_path / "cls", "cls_token")
    write_embedder(tmp_path / "mean", "mean_tokens")
    first, second = open_embedder(tmp_path / "cls").embed_passages(["river", "sea"])
    np.testing.assert_allclose(first, second, atol=1e-6)  # [CLS] is the same token everywhere
    first, second = open_embedder(tmp_path / "mean").embed_passages(["river", "sea"])
    assert not np.allclose(first, second, atol=1e-3)


def test_prompts_go_before_queries_or_passages_only(tmp_path: Path) -> None:
    write_embedder(tmp_path, "mean_tokens", {"query": "what is ", "passage": "the: "})
    assert read_recipe(tmp_path) == Recipe("mean", query="what is ", passage="the: ")
    embedder = open_embedder(tmp_path)
    bare = OnnxEmbedder(tmp_path, "bare", Recipe("mean"))
    np.testing.assert_array_equal(embedder.embed_query("sea"), bare.embed_query("what is sea"))
    np.testing.assert_array_equal(embedder.embed_passages(["sea"]), bare.embed_passages(["the: sea"]))


def test_a_pooling_that_nobody_tells_is_not_guessed(folder: Path) -> None:
    (folder / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]')
    with pytest.raises(ModelError, match="do not say that its vector"):
        open_embedder(folder).embed_query("sea")
    (folder / "modules.json").unlink()
    (folder / "1_Pooling" / "config.json").unlink()
    with pytest.raises(ModelError, match="do not say that its vector") as caught:
        open_embedder(folder).embed_query("sea")
    assert "1_Pooling/config.json" in caught.value.way_out


def test_threads_share_one_network(folder: Path) -> None:
    embedder = open_embedder(folder)
    alone = embedder.embed_passages(PASSAGES)
    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(embedder.embed_passages, [PASSAGES] * 4))
    for result in results:
        np.testing.assert_array_equal(result, alone)


# --- on torch ----------------------------------------------------------------------------------


def test_other_weights_under_the_same_folder_name_have_another_name(tmp_path: Path) -> None:
    names = []
    for number, last in enumerate("aab"):
        folder = tmp_path / str(number) / "mine"
        folder.mkdir(parents=True)
        (folder / "model.safetensors").write_bytes(b"a" * 50_000 + last.encode() * 50_000)
        names.append(open_embedder(folder).name)
    assert names[0] == names[1] != names[2]
    assert names[0].startswith("mine@")


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
def test_the_sigmoid_is_applied_exactly_once(tmp_path: Path, activation: str | None) -> None:
    saved: dict[str, Any] = {"sentence_transformers": {"activation_fn": activation}} if activation else {}
    write_transformer(tmp_path, num_labels=1, **saved)
    expected = [1 / (1 + math.exp(-logit)) for logit in logits(tmp_path)]
    assert CrossEncoderReranker(tmp_path).score(QUERY, PASSAGES) == pytest.approx(expected, abs=1e-5)
    assert len({round(score, 4) for score in expected}) == len(PASSAGES), "too alike to tell"


# --- the real ones -----------------------------------------------------------------------------


def real(entry: ModelEntry) -> Path:
    place = installed(entry)
    if place is None:
        pytest.fail(f"{entry.name} is missing: run “deepthink models pull {entry.name}”")
    return place


@pytest.mark.model
def test_the_default_embedder_finds_the_passage_that_answers() -> None:
    embedder = open_embedder(real(BGE_SMALL_EN))
    assert embedder.name == "bge-small-en"
    passages = embedder.embed_passages(
        ["The Danube ends in the Black Sea.", "A bank keeps its customers' money.", "Bread is baked."]
    )
    scores = passages @ embedder.embed_query("Which sea does the river Danube flow into?")
    assert scores.argmax() == 0
    assert scores[0] > scores[1] + 0.2


@pytest.mark.model
def test_the_default_reranker_tells_answers_from_mentions() -> None:
    right, mention, off = open_reranker(real(MS_MARCO_MINILM_L12)).score(
        "Who has to approve a discount of 15 percent?",
        [
            "Discounts between 10 and 20 percent are approved by the regional sales director.",
            "Discounts are granted in May.",
            "The river flows into the sea.",
        ],
    )
    assert right > 0.9
    assert right > mention > off
