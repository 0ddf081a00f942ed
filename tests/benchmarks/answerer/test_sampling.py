"""Replies drawn for many trees at once are those of separate prompts."""

from __future__ import annotations

import pytest

from policy.training.adapters import Base, load_tokenizer, load_weights
from tests.benchmarks.answerer import sampling, training
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


@pytest.mark.parametrize("ends", [False, True])
def test_the_likeliest_replies_are_those_of_separate_prompts(
    base: Base, monkeypatch: pytest.MonkeyPatch, ends: bool
) -> None:
    import torch

    monkeypatch.setattr(training, "TAUGHT", "Answer.")
    monkeypatch.setattr(sampling, "_REMOVED_EVERY", 2)
    model, tokenizer = load_weights(base.folder, exact=True), load_tokenizer(base.folder)

    def alone(tree: Tree, branch: Branch) -> list[int]:
        prompt = f"{training.beginning_text(tree)}{training.question_text(branch)}"
        coded = torch.tensor([tokenizer(prompt, add_special_tokens=False)["input_ids"]])
        reply = model.generate(coded, max_new_tokens=8, do_sample=False, eos_token_id=[], pad_token_id=0)
        return [int(token) for token in reply[0, coded.shape[1] :]]

    # This model never ends a reply; a token that it does write stands for the end.
    first = alone(_TREES[0], _TREES[0].branches[0])
    end = first[2] if ends else -1
    monkeypatch.setattr(type(tokenizer), "convert_tokens_to_ids", lambda *_: end)
    drawn = replies(model, tokenizer, _TREES, copies=3, longest=8)
    assert [len(of_tree) for of_tree in drawn] == [2, 1]
    for tree, of_tree in zip(_TREES, drawn, strict=True):
        for branch, (likeliest, *others) in zip(tree.branches, of_tree, strict=True):
            tokens = alone(tree, branch)
            written = tokens[: tokens.index(end)] if end in tokens else tokens
            assert likeliest.ended == (end in tokens)
            assert likeliest.text == tokenizer.decode(written, skip_special_tokens=True).strip()
            assert len(others) == 2
