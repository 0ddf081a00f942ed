"""Embedders and rerankers on ONNX Runtime: tiny ones made here, and the real ones of the catalogue."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from models.catalogue import BGE_SMALL_EN, MS_MARCO_MINILM_L12, ModelEntry
from models.encoders import (
    CrossEncoderReranker,
    LocalEmbedder,
    OnnxEmbedder,
    OnnxModel,
    OnnxReranker,
    Recipe,
    open_embedder,
    open_reranker,
    read_recipe,
)
from models.fetch import installed
from models.protocols import Embedder, Loadable, ModelError, ModelMissing, Reranker
from tests.models.encoders.tiny_onnx import write_embedder, write_reranker

PASSAGES = ["the river is a sea", "the bank", "money", "a bank is a river"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_embedder(tmp_path / "tiny")
    return tmp_path / "tiny"


@pytest.fixture
def reranker(tmp_path: Path) -> Path:
    write_reranker(tmp_path / "ranks")
    return tmp_path / "ranks"


# --- any network -------------------------------------------------------------------------------


def test_offsets_point_into_both_texts_and_long_pairs_are_cut(reranker: Path) -> None:
    model, passage = OnnxModel(reranker, "reranker"), "the river is " * 200
    encoding = model.encode("what is", passage)
    assert len(encoding.ids) == 512
    found = [
        passage[start:end]
        for (start, end), sequence in zip(encoding.offsets, encoding.sequence_ids, strict=True)
        if sequence == 1
    ]
    assert found == passage.split()[:507]
    assert [len(output) for output in model.run(encoding).values()] == [1]


def test_a_folder_without_a_network_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="holds no reranker"):
        OnnxReranker(tmp_path).score("what", PASSAGES)
    (tmp_path / "model.onnx").write_bytes(b"not a network")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="could not be loaded: ") as caught:
        OnnxReranker(tmp_path).score("what", PASSAGES)
    assert not isinstance(caught.value, ModelMissing)


def test_the_kind_of_the_folder_decides_what_runs_it(folder: Path, reranker: Path, tmp_path: Path) -> None:
    assert isinstance(open_embedder(folder), OnnxEmbedder)
    assert isinstance(open_reranker(reranker), OnnxReranker)
    (folder / "model.safetensors").touch()
    (reranker / "pytorch_model.bin").touch()
    assert isinstance(open_embedder(folder), LocalEmbedder)
    assert isinstance(open_reranker(reranker), CrossEncoderReranker)


# --- embedders ---------------------------------------------------------------------------------


def test_vectors_are_unit_length_and_in_the_order_of_the_texts(folder: Path) -> None:
    embedder: Embedder = open_embedder(folder)
    vectors = embedder.embed_passages(PASSAGES)
    assert vectors.shape == (4, 8)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    for text, vector in zip(PASSAGES, vectors, strict=True):
        np.testing.assert_array_equal(embedder.embed_query(text), vector)


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


# --- rerankers ---------------------------------------------------------------------------------


def test_a_score_hangs_on_its_passage_alone(reranker: Path) -> None:
    ranks: Reranker = open_reranker(reranker)
    scores = ranks.score("what is the river", PASSAGES)
    assert scores[::-1] == ranks.score("what is the river", PASSAGES[::-1])
    assert all(0 <= score <= 1 for score in scores)
    assert len(set(scores)) == len(PASSAGES)
    assert ranks.score("what", ["the river " * 1000]) != []


def test_nothing_is_loaded_before_it_is_needed(reranker: Path) -> None:
    ranks = open_reranker(reranker)
    assert ranks.name == "ranks"
    assert ranks.score("what", []) == []
    assert isinstance(ranks, Loadable)
    assert not ranks.ready()
    ranks.warm_up()
    assert ranks.ready()


def test_a_network_of_another_kind_is_no_reranker(tmp_path: Path, folder: Path) -> None:
    write_reranker(tmp_path, outputs=3)
    for wrong in (tmp_path, folder):
        with pytest.raises(ModelError, match="does not give one score"):
            OnnxReranker(wrong).score("what", PASSAGES)


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
