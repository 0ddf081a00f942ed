"""A tree's loss is that of its prompts one by one; a killed training goes on; trees hold what is taught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.prompts import NOT_FOUND
from tests.benchmarks.adapters.base import Base, load_tokenizer, load_weights
from tests.benchmarks.answerer import training
from tests.benchmarks.answerer.data import Branch, Tree, trees

pytestmark = pytest.mark.filterwarnings(  # PEFT asks transformers by the old name
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)

_BRANCHES = (
    Branch("QUESTION: rent", "It is 40.", "fact"),
    Branch("SENTENCE: It is 40.", "A", "supported", verdict=True),
    Branch("QUESTION: fee", NOT_FOUND, "absent"),
)
_TREES = [Tree(f"PASSAGES:\n[1] The rent is {number}.", _BRANCHES) for number in range(2)]


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 32 bits, and within the 512 positions of the small model."""
    monkeypatch.setattr(training, "trains_in_bfloat16", lambda: False)
    monkeypatch.setattr(training, "TAUGHT", "Answer.")


def test_the_loss_of_a_tree_is_that_of_its_prompts_one_by_one(base: Base) -> None:
    import torch

    model, tokenizer = load_weights(base.folder, exact=True), load_tokenizer(base.folder)
    beginning = _TREES[0].beginning
    with torch.inference_mode():
        whole, *alone = (
            float(training.loss(model, training.pack(tree, tokenizer)))
            for tree in (_TREES[0], *(Tree(beginning, (one,)) for one in _BRANCHES))
        )
    assert whole == pytest.approx(sum(alone), rel=1e-4)
    packed = training.pack(Tree(beginning, _BRANCHES[:1]), tokenizer)
    plain = model(input_ids=torch.tensor([packed.tokens])).logits[0, packed.places].detach()
    wanted = torch.nn.functional.cross_entropy(plain, torch.tensor(packed.wanted))
    assert alone[0] == pytest.approx(float(wanted), rel=1e-4)


def test_a_killed_training_goes_on_and_a_finished_one_is_not_done_again(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "TREES", 1)
    monkeypatch.setattr(training, "_SAVE_EVERY", 1)
    with monkeypatch.context() as patch:
        patch.setattr(training, "write_adapter", _killed)
        with pytest.raises(KeyboardInterrupt):
            training.train(_TREES[:1], base, tmp_path, seconds=1e9)
    for _ in range(2):
        training.train(_TREES, base, tmp_path, seconds=1e9)
    steps = [json.loads(line)["step"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert steps == [0, 1]


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_tree_has_the_answers_and_the_verdicts_on_its_passages(tmp_path: Path) -> None:
    (tmp_path / "written").mkdir()
    lines = [_record(number) for number in range(16)]
    text = "\n".join(map(json.dumps, lines))
    (tmp_path / "written/one.jsonl").write_text(text, encoding="utf-8")
    learned, kept = (trees(tmp_path, held_out=held_out) for held_out in (False, True))
    assert (len(learned), len(kept)) == (14, 2)
    for tree in (*learned, *kept):
        answers = sorted(one.kind for one in tree.branches if not one.verdict)
        assert answers == ["absent", "fact", "fact", "two"]
        (two,) = (one for one in tree.branches if one.kind == "two")
        assert all(one.reply in two.reply for one in tree.branches if one.kind == "fact")
        for one in tree.branches:
            assert one.verdict == (one.reply in "ABC")
            if one.kind == "fact":
                assert one.reply.removesuffix(".").split()[-1] in tree.beginning


def test_a_verdict_on_a_plain_sentence_depends_on_the_passage(tmp_path: Path) -> None:
    (tmp_path / "written").mkdir()
    text = "\n".join(json.dumps(_record(number)) for number in range(4))
    (tmp_path / "written/one.jsonl").write_text(text, encoding="utf-8")
    for tree in trees(tmp_path, held_out=False):
        said = {one.asked.removeprefix("SENTENCE: "): one.reply for one in tree.branches if one.verdict}
        shown = [number for number in range(4) if f"flat {number} " in tree.beginning]
        for number in shown:
            rent, fee = 100 + number, 900 + number
            assert said.pop(f"The rent is {rent}.") == said.pop(f"The fee is {fee}.") == "A"
            assert said.pop(f"The rent is {fee}.") == said.pop(f"The fee is {rent}.") == "B"
        assert said == {"supported": "A", "refuted": "B", "neither": "C"}


def _record(number: int) -> dict[str, Any]:
    rent, fee = 100 + number, 900 + number
    asked = [("rent", rent), ("fee", fee)]
    labels = ("supported", "refuted", "neither")
    return {
        "title": f"Lease {number}",
        "section": "Costs",
        "date": "2024-01-01",
        "context": f"The rent of flat {number} is {rent}. The fee is {fee}.",
        "qas": [
            {"question": f"{of}?", "answers": [str(it)], "kind": "fact", "sentence": f"The {of} is {it}."}
            for of, it in asked
        ]
        + [{"question": "Since when?", "answers": [], "kind": "absent", "sentence": ""}] * 2,
        "claims": [{"claim": f"{label}", "label": label} for label in labels],
    }
