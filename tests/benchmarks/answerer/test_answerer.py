"""A batch's loss is that of its prompts; a killed training resumes; trees hold what is taught."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agent.prompts import NOT_FOUND
from policy.training.adapters import Base, export, load_tokenizer, load_weights, read_exported
from tests.benchmarks.answerer import training
from tests.benchmarks.answerer.blending import blend
from tests.benchmarks.answerer.data import Branch, Record, Tree, written_trees
from tests.benchmarks.answerer.sentences import completed, kept_sentences

pytestmark = pytest.mark.filterwarnings(  # PEFT asks transformers by the old name
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)

_BRANCHES = (
    Branch("QUESTION: rent", "It is 40.", "fact"),
    Branch("QUESTION: rent? fee?", "It is 40. It is 2.", "two"),
    Branch("QUESTION: fee", NOT_FOUND, "absent"),
)
_UNLIKE = [Tree("PASSAGES:\n[1] The rent is 40.", _BRANCHES[:2]), Tree("PASSAGES:\n[1] No.", _BRANCHES[2:])]
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
            float(training.loss(model, [training.pack(tree, tokenizer)]))
            for tree in (_TREES[0], *(Tree(beginning, (one,)) for one in _BRANCHES))
        )
        together = float(training.loss(model, [training.pack(tree, tokenizer) for tree in _UNLIKE]))
        one_by_one = sum(float(training.loss(model, [training.pack(tree, tokenizer)])) for tree in _UNLIKE)
    assert whole == pytest.approx(sum(alone), rel=1e-4)
    assert together == pytest.approx(one_by_one, rel=1e-4)
    packed = training.pack(Tree(beginning, _BRANCHES[:1]), tokenizer)
    plain = model(input_ids=torch.tensor([packed.tokens])).logits[0, packed.places].detach()
    wanted = torch.nn.functional.cross_entropy(plain, torch.tensor(packed.wanted))
    assert alone[0] == pytest.approx(float(wanted), rel=1e-4)


def test_a_killed_training_goes_on_and_a_finished_one_is_not_done_again(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "TOKENS", 1)  # a tree a batch
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


def test_the_mean_of_two_adapters_is_the_mean_of_what_they_change(base: Base, tmp_path: Path) -> None:
    files = []
    for name, trees in (("first", _TREES), ("second", _TREES[1:])):
        folder = training.train(trees, base, tmp_path / name, seconds=1e9, rate=0.5)
        files.append(tmp_path / f"{name}.gguf")
        export(folder, base.gguf, files[-1])
    blend(files[0], files[1], tmp_path / "mean.gguf")
    first, second, mean = (_changes(file) for file in (*files, tmp_path / "mean.gguf"))
    assert mean.keys() == first.keys() == second.keys()
    for name, change in mean.items():
        wanted = (first[name] + second[name]) / 2
        assert change == pytest.approx(wanted, abs=0.02 * abs(wanted).max())
    assert any(abs(change).max() > 0 for change in mean.values())


def _changes(file: Path) -> dict[str, Any]:
    """What an exported adapter adds to each matrix of its base."""
    matrices, alpha = read_exported(file)
    return {
        name: matrices[name.replace(".lora_a", ".lora_b")] @ matrix * (alpha / len(matrix))
        for name, matrix in matrices.items()
        if name.endswith(".lora_a")
    }


def test_a_tree_has_the_questions_that_its_passages_answer(tmp_path: Path) -> None:
    (tmp_path / "written").mkdir()
    text = "\n".join(json.dumps(_record(number)) for number in range(16))
    (tmp_path / "written/one.jsonl").write_text(text, encoding="utf-8")
    learned, held_out = (
        written_trees(tmp_path, held_out=held_out, english=True) for held_out in (False, True)
    )
    assert (len(learned), len(held_out)) == (14, 2)
    for tree in (*learned, *held_out):
        facts = {one.reply for one in tree.branches if one.kind == "fact"}
        assert all(one.removesuffix(".").split()[-1] in tree.beginning for one in facts)
        absent = [one for one in tree.branches if one.kind == "absent"]
        assert absent
        assert all(one.reply == NOT_FOUND for one in absent)
        shown = {word for word in tree.beginning.split() if word.isdecimal()}
        asked = {one.asked.strip("?").split()[-1] for one in absent if " flat " in one.asked}
        assert not shown & asked
        pairs = [one for one in tree.branches if one.kind == "two"]
        assert pairs
        assert all(sum(fact in pair.reply for fact in facts) == 2 for pair in pairs)


def test_a_sentence_is_used_if_it_holds_the_answer_and_brings_nothing_else(tmp_path: Path) -> None:
    record = _record(1)
    fact = {**record["qas"][0], "kind": "text", "sentence": ""}
    texts = [
        "The rent of flat 1 is 101.",
        "It is EUR 101.",
        "The rent of flat 1 is 101 since 2020.",
        "101.",
    ]
    asked = [
        Record({**record, "qas": [{**fact, "question": f"Rent of flat 1, {sign}?"}]}) for sign in "abcd"
    ]
    complete = completed(asked, [record], lambda _: texts, tmp_path / "texts.jsonl")
    assert [one["qas"][0]["sentence"] for one in complete] == texts[:1]
    again = completed(asked, [record], lambda _: [], tmp_path / "texts.jsonl")
    assert again == complete
    sentence_of = kept_sentences(tmp_path / "texts.jsonl")
    assert [sentence_of(one, one["qas"][0]) for one in asked] == [texts[0], "", "", ""]


@pytest.mark.parametrize(
    ("text", "is_used"),
    [
        (" What is the fee of flat 2? => The fee of flat 2 is 20", True),
        ("What is the fee? => The fee of flat 2 is 20.", False),  # of which flat?
        ("Is the fee of flat 2 20? => The fee of flat 2 is 20.", False),
        ("The fee of flat 2 is 20.", False),
    ],
)
def test_a_question_on_a_cell_names_its_row(text: str, is_used: bool, tmp_path: Path) -> None:
    cell = {"table": "Flats", "row": "flat = flat 2", "column": "fee", "named": "flat 2"}
    asked = {"question": "", "answers": ["20"], "kind": "table", "sentence": "", "cell": cell}
    record = {"title": "Flats", "context": "flat | fee\nflat 2 | 20", "qas": [asked]}
    complete = completed([record], [], lambda _: [text], tmp_path / "texts.jsonl")
    assert bool(complete) == is_used


def _record(number: int) -> dict[str, Any]:
    rent, fee = 100 + number, 900 + number
    return {
        "title": f"Lease {number}",
        "section": "Costs",
        "date": "2024-01-01",
        "context": f"The rent of flat {number} is {rent}. The fee is {fee}.",
        "qas": [
            {
                "question": f"{of} of flat {number}?",
                "answers": [str(it)],
                "kind": "fact",
                "sentence": f"The {of} is {it}.",
            }
            for of, it in (("rent", rent), ("fee", fee))
        ]
        + [{"question": "Since when?", "answers": [], "kind": "absent", "sentence": ""}] * 2,
    }
