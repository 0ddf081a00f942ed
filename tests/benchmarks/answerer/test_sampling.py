"""Replies drawn for many trees at once are those of separate prompts."""

from __future__ import annotations

import pytest

from policy.training.adapters import Base, load_tokenizer, load_weights
from tests.benchmarks.answerer import training
from tests.benchmarks.answerer.data import Branch, Tree
from tests.benchmarks.answerer.sampling import replies

_TREES = [
    Tree(
        "PASSAGES:\n[1] The rent is 40.", (Branch("QUESTION: rent", "", "fact"), Branch("fee?", "", "fact"))
    ),
    Tree(
        "PASSAGES:\n[1] No.\n\n[2] The lift is closed on Monday.", (Branch("QUESTION: lift", "", "fact"),)
    ),
]


def test_the_likeliest_replies_are_those_of_separate_prompts(
    base: Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    monkeypatch.setattr(training, "TAUGHT", "Answer.")
    model, tokenizer = load_weights(base.folder, exact=True), load_tokenizer(base.folder)
    drawn = replies(model, tokenizer, _TREES, copies=3, longest=8)
    assert [len(of_tree) for of_tree in drawn] == [2, 1]
    for tree, of_tree in zip(_TREES, drawn, strict=True):
        for branch, (likeliest, *others) in zip(tree.branches, of_tree, strict=True):
            prompt = f"{training.beginning_text(tree)}{training.question_text(branch)}"
            coded = torch.tensor([tokenizer(prompt, add_special_tokens=False)["input_ids"]])
            alone = model.generate(coded, max_new_tokens=8, do_sample=False, pad_token_id=0)
            written = tokenizer.decode(alone[0, coded.shape[1] :], skip_special_tokens=True)
            assert likeliest.text == written.strip()
            assert len(others) == 2
