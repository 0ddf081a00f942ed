"""How a cross-encoder folder is used; its weights are random, so never how well it ranks."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.encoders.sentence_transformers import CrossEncoderReranker
from models.protocols import ModelError, ModelMissing, Reranker
from tests.models.encoders.tiny_bert import write_transformer

PASSAGES = ["the river flows into the sea", "the bank holds money", "a river", "the bank is a sea"]
QUERY = "what is the river"


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
    "activation",
    [None, "torch.nn.modules.linear.Identity", "torch.nn.modules.activation.Sigmoid"],
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
    forward = reranker.score(QUERY, PASSAGES)
    backward = reranker.score(QUERY, PASSAGES[::-1])
    assert forward == pytest.approx(backward[::-1], abs=1e-5)
    assert all(0 <= score <= 1 for score in forward)


def test_a_passage_longer_than_the_model_reads_is_cut(make: Callable[..., Path]) -> None:
    [score] = CrossEncoderReranker(make("tiny")).score(QUERY, ["the river flows " * 100])
    assert 0 <= score <= 1


def test_nothing_is_loaded_before_it_is_needed(make: Callable[..., Path]) -> None:
    reranker = CrossEncoderReranker(make("tiny"))
    assert reranker.name == "tiny"
    assert reranker.score(QUERY, []) == []
    assert not reranker.ready()
    reranker.warm_up()
    assert reranker.ready()


def test_a_classifier_is_not_taken_for_a_reranker(make: Callable[..., Path]) -> None:
    with pytest.raises(ModelError, match="has 3 outputs; a reranker has one"):
        CrossEncoderReranker(make("tiny", num_labels=3)).score(QUERY, PASSAGES)


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match=r"no reranker in .*nowhere"):
        CrossEncoderReranker(tmp_path / "nowhere").score(QUERY, PASSAGES)
