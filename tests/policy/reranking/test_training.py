"""Training: groups, the loss by hand, two steps on a tiny base that go on after a kill, and the folder."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from models.boxed_reranker import MANIFEST, BoxedReranker, load
from policy.reranking.command import kept_out
from policy.reranking.loss import group_loss
from policy.reranking.mining import Found, Mined
from policy.reranking.packing import CARD, pack
from policy.reranking.training import Group, fit, groups, untrained
from tests.models.tiny_bert import write_transformer


def question(pool: str = "musique_train", *, whole: bool = True, others: int = 5) -> Mined:
    found = [Found("gold", True, False, 0, 0.9, 0.9), Found("doubtful", False, True, 1, 0.8, 0.8)]
    found += [Found(f"other {i}", False, False, i + 2, 0.5, 0.5) for i in range(others)]
    return Mined(pool, "r", "q", whole, found)


def test_a_group_has_gold_and_other_negatives_each_round() -> None:
    made = groups([question()], negatives=2, rounds=2)
    assert [group.supports for group in made] == [[1, 0, 0]] * 2
    assert all(group.passages[0] == "gold" for group in made)
    drawn = [passage for group in made for passage in group.passages[1:]]
    assert len(set(drawn)) == 4
    assert "doubtful" not in drawn
    assert groups([question()], 2, 2) == made, "the same seed draws the same"


def test_rounds_end_with_the_negatives_and_2wiki_pairs_come_once() -> None:
    assert len(groups([question(others=3)], negatives=2, rounds=5)) == 2
    assert groups([question(others=0)], negatives=2, rounds=1) == []
    assert len(groups([question("2wikimultihopqa_train", whole=False)], negatives=1, rounds=3)) == 1


def test_a_tenth_of_the_records_is_kept_out_always_the_same() -> None:
    records = [str(number) for number in range(100)]
    out = kept_out(records)
    assert len(out) == 10
    assert kept_out(reversed(records)) == out


def test_the_loss_of_a_group_by_hand() -> None:
    import torch

    scores, supports = torch.tensor([2.0, 0.0, 1.0]), torch.tensor([True, False, False])
    listwise = -math.log(math.exp(2) / (math.exp(2) + 1 + math.e))
    single = (math.log1p(math.exp(-2)) + math.log(2) + math.log1p(math.e)) / 3
    assert float(group_loss(scores, supports, 0.5)) == pytest.approx(listwise + 0.5 * single, abs=1e-5)
    two = torch.tensor([True, False, True])
    won = [-math.log(math.exp(s) / (math.exp(s) + 1)) for s in (2, 1)]
    assert float(group_loss(scores, two, 0.0)) == pytest.approx(sum(won) / 2, abs=1e-5)


@pytest.mark.filterwarnings("ignore")  # the libraries' own deprecations
def test_two_steps_a_kill_and_the_packed_folder(tmp_path: Path) -> None:
    base, work, out = tmp_path / "base", tmp_path / "work", tmp_path / "out"
    write_transformer(base)
    made = [Group("what is the river", ["the river flows", "the bank"], [1, 0])] * 24
    model = untrained(base)
    before = trained_values(model)
    fit(model, made, work, steps=2)
    assert trained_values(model) != before
    frozen = [name for name, p in model[0].model.named_parameters() if not p.requires_grad]
    assert any("embeddings" in name for name in frozen)

    again = untrained(base)
    fit(again, made, work, steps=2)  # nothing is left to do: the checkpoint's weights are read back
    assert trained_values(again) == pytest.approx(trained_values(model), abs=1e-6)

    data = tmp_path / "train.jsonl"
    data.write_text("{}")
    pack(
        again,
        base,
        out,
        data=[data],
        calibration=(2.0, -1.0),
        training={"pairs": "48"},
        measured={"x": "1"},
    )
    manifest = json.loads((out / MANIFEST).read_text())
    assert manifest["data"].keys() == {"train.jsonl"}
    assert "| x | 1 |" in (out / CARD).read_text()
    assert sorted(path.name for path in out.iterdir()) == ["README.md", "adapter.safetensors", MANIFEST]

    pairs = [("what is the river", "the river flows into the sea"), ("what is the river", "the bank")]
    logits = [float(logit) for logit in again.predict(pairs, activation_fn=identity())]
    assert [float(x) for x in load(base, out).predict(pairs, activation_fn=identity())] == pytest.approx(
        logits, abs=0.05
    )
    scores = BoxedReranker(base, out).score(pairs[0][0], [passage for _, passage in pairs])
    assert scores == pytest.approx([1 / (1 + math.exp(1 - 2 * logit)) for logit in logits], abs=0.03)


def trained_values(model: Any) -> list[float]:
    parameters = model[0].model.named_parameters()
    return [float(p.detach().abs().sum()) for _, p in parameters if p.requires_grad]


def identity() -> Any:
    from torch import nn

    return nn.Identity()
