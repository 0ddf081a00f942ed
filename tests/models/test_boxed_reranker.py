"""The shipped adapter on a base: what is merged, what is checked first, and the shipped files."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import pytest

from models import boxed_reranker as boxed
from models.boxed_reranker import BASE_WEIGHTS, MANIFEST, NAME, SHIPPED, WEIGHTS, BoxedReranker, load
from models.catalogue import ALL_MINILM_L6_V2
from models.protocols import ModelError, ModelMissing, Reranker
from tests.models.tiny_bert import write_transformer

QUERY, PASSAGES = "what is the river", ["the river flows into the sea", "the bank holds money", "a river"]
LAYER = "bert.encoder.layer.0.attention.self.query"
SLOPE, INTERCEPT, SCALE = 1.5, -0.25, 2.0


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "base"
    write_transformer(folder)
    return folder


@pytest.fixture
def shipped(base: Path, tmp_path: Path) -> Path:
    """An adapter of rank 2 and a head for the tiny base."""
    import torch
    from safetensors.torch import save_file

    folder = tmp_path / "shipped"
    folder.mkdir()
    torch.manual_seed(1)
    weights = {
        f"{LAYER}.lora_A": torch.randn(2, 8),
        f"{LAYER}.lora_B": torch.randn(8, 2),
        # Small, so that no tanh is saturated and passages differ.
        "bert.pooler.dense.weight": 0.1 * torch.randn(8, 8),
        "bert.pooler.dense.bias": 0.1 * torch.randn(8),
        "classifier.weight": torch.randn(1, 8),
        "classifier.bias": torch.randn(1),
    }
    save_file({name: value.to(torch.bfloat16) for name, value in weights.items()}, folder / WEIGHTS)
    write_manifest(folder, base)
    return folder


def write_manifest(folder: Path, base_folder: Path, **changes: Any) -> None:
    told = {
        "base": {"sha256": digest(base_folder / BASE_WEIGHTS)},
        "files": {WEIGHTS: digest(folder / WEIGHTS)},
        "adapter": {"scale": SCALE, "tokens": 32},
        "calibration": {"slope": SLOPE, "intercept": INTERCEPT},
    }
    (folder / MANIFEST).write_text(json.dumps({**told, **changes}))


def by_hand(base: Path, shipped: Path) -> list[float]:
    """The calibrated scores, with the adapter applied to a network of our own making."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoTokenizer, BertForSequenceClassification

    network = BertForSequenceClassification.from_pretrained(
        base, num_labels=1, local_files_only=True
    ).eval()
    weights = {name: value.float() for name, value in load_file(shipped / WEIGHTS).items()}
    up, down = weights.pop(f"{LAYER}.lora_B"), weights.pop(f"{LAYER}.lora_A")
    state = network.state_dict()
    state[f"{LAYER}.weight"] = state[f"{LAYER}.weight"] + SCALE * up @ down
    network.load_state_dict({**state, **weights})
    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    scores = []
    for passage in PASSAGES:
        with torch.inference_mode():
            logit = float(network(**tokenizer(QUERY, passage, return_tensors="pt")).logits[0, 0])
        scores.append(1 / (1 + math.exp(-(SLOPE * logit + INTERCEPT))))
    return scores


def test_adapter_and_head_are_merged_and_the_score_is_calibrated(base: Path, shipped: Path) -> None:
    reranker: Reranker = BoxedReranker(base, shipped)
    assert reranker.name == NAME
    wanted = by_hand(base, shipped)
    asked = [(QUERY, passage) for passage in PASSAGES]
    exact = load(base, shipped).predict(asked, activation_fn=BoxedReranker(base, shipped)._activation())
    assert list(exact) == pytest.approx(wanted, abs=1e-4)
    scores = reranker.score(QUERY, PASSAGES)
    assert scores == pytest.approx(wanted, abs=0.02), "bfloat16 where the processor has it"
    assert len({round(score, 3) for score in scores}) == len(PASSAGES), "too alike to tell"


def test_a_base_with_other_weights_is_refused(base: Path, shipped: Path) -> None:
    write_manifest(shipped, base, base={"sha256": "0" * 64})
    with pytest.raises(ModelError, match=r"model\.safetensors is not what the reranker's manifest names"):
        BoxedReranker(base, shipped).score(QUERY, PASSAGES)


def test_a_changed_adapter_is_refused(base: Path, shipped: Path) -> None:
    with (shipped / WEIGHTS).open("ab") as stream:
        stream.write(b" ")
    with pytest.raises(ModelError, match="is not what the reranker's manifest names"):
        BoxedReranker(base, shipped).score(QUERY, PASSAGES)


def test_an_adapter_for_another_shape_is_refused(base: Path, shipped: Path) -> None:
    import torch
    from safetensors.torch import save_file

    save_file({"bert.encoder.layer.7.output.dense.bias": torch.zeros(8)}, shipped / WEIGHTS)
    write_manifest(shipped, base)
    with pytest.raises(ModelError, match="do not fit their base"):
        BoxedReranker(base, shipped).score(QUERY, PASSAGES)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"base": 1}'])
def test_a_damaged_manifest_is_told(base: Path, shipped: Path, text: str) -> None:
    (shipped / MANIFEST).write_text(text)
    with pytest.raises(ModelError, match=r"manifest in .* cannot be read"):
        BoxedReranker(base, shipped).score(QUERY, PASSAGES)


def test_a_missing_base_is_named(shipped: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelMissing, match="no reranker in"):
        BoxedReranker(tmp_path / "nowhere", shipped).score(QUERY, PASSAGES)


def test_it_is_on_offer_only_with_the_right_base(
    base: Path, shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert boxed.base_on_disk(tmp_path / "no-models", shipped) is None
    monkeypatch.setattr("models.boxed_reranker.installed", lambda _entry, _models: base)
    assert boxed.base_on_disk(folder=shipped) == base
    write_manifest(shipped, base, base={"sha256": "0" * 64})
    assert boxed.base_on_disk(folder=shipped) is None
    (shipped / MANIFEST).unlink()
    assert boxed.base_on_disk(folder=shipped) is None
    (shipped / WEIGHTS).unlink()
    assert boxed.base_on_disk(folder=shipped) is None


def test_what_is_shipped_is_whole_and_small() -> None:
    manifest = json.loads((SHIPPED / MANIFEST).read_text())
    assert {name: digest(SHIPPED / name) for name in manifest["files"]} == manifest["files"]
    assert manifest["files"].keys() == {WEIGHTS}
    assert manifest["base"]["sha256"] == next(
        file.sha256 for file in ALL_MINILM_L6_V2.files if file.path == BASE_WEIGHTS
    )
    assert (SHIPPED / WEIGHTS).stat().st_size < 8_000_000
    assert not list(SHIPPED.glob("*.bin")), "pickles are not shipped"
    assert manifest["base"]["sha256"] in (SHIPPED / "README.md").read_text()


@pytest.mark.model
def test_the_shipped_one_tells_what_answers_from_what_does_not() -> None:
    base = boxed.base_on_disk()
    assert base is not None
    scores = BoxedReranker(base).score(
        "Who directed the film Jaws?",
        [
            "Jaws. Jaws is a 1975 American thriller film directed by Steven Spielberg.",
            "Jaws 2. Jaws 2 is a 1978 film and the first sequel of a thriller about a shark.",
            "Great white shark. The great white shark is found in the coastal waters of all oceans.",
        ],
    )
    assert scores[0] == max(scores)
    assert scores[0] > 0.5 > scores[2]
