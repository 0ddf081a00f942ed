"""Right replies become likelier than wrong ones; what is right is what the passages say."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from agent.prompts import NOT_FOUND
from policy.training.adapters import Base, export
from tests.benchmarks.answerer import preferring, training
from tests.benchmarks.answerer.data import Branch, Tree
from tests.benchmarks.answerer.preferring import Pair, is_right, pairs
from tests.benchmarks.answerer.sampling import Reply

pytestmark = pytest.mark.filterwarnings(  # PEFT asks transformers by the old name
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)

_RENT = Branch("QUESTION: What is the rent from 2025 on?", "The rent is 40 from 2025 on.", "fact", ("40",))
_ABSENT = Branch("QUESTION: What is the fee?", NOT_FOUND, "absent")


@pytest.mark.parametrize(
    ("branch", "text", "right"),
    [
        (_RENT, "It is 40.", True),
        (_RENT, "From 2025 on, it is 40.", True),
        (_RENT, "It is 40, and 38 before.", None),
        (_RENT, "It is 38.", False),
        (_RENT, NOT_FOUND, False),
        (_ABSENT, NOT_FOUND, True),
        (_ABSENT, "The fee is 2.", False),
    ],
)
def test_what_is_right(branch: Branch, text: str, right: bool | None) -> None:
    assert is_right(branch, Reply(text, ended=True)) is right


def test_an_answer_that_does_not_end_is_wrong() -> None:
    assert is_right(_RENT, Reply("It is 40 and", ended=False)) is False


def test_a_question_that_was_never_answered_rightly_is_paired_with_its_own_answer() -> None:
    tree = Tree("PASSAGES:\n[1] The rent is 40.", (_RENT, _ABSENT))
    drawn = [[Reply("It is 38.", ended=True)], [Reply(NOT_FOUND, ended=True)]]
    assert list(pairs(tree, drawn, random.Random(0))) == [Pair(_RENT.asked, _RENT.reply, "It is 38.")]


def test_an_adapter_learns_from_its_own_replies(
    base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (training, preferring):
        monkeypatch.setattr(module, "trains_in_bfloat16", lambda: False)
    monkeypatch.setattr(training, "TAUGHT", "Answer.")
    monkeypatch.setattr(preferring, "ROUND", 2)
    monkeypatch.setattr(preferring, "LONGEST", 6)
    monkeypatch.setattr(preferring, "RATE", 1e-2)
    trees = [Tree(f"PASSAGES:\n[1] The rent is {number}.", (_RENT, _ABSENT)) for number in range(16)]
    folder = training.train(trees, base, tmp_path, seconds=1e9, rate=1e-4)
    export(folder, base.gguf, tmp_path / "first.gguf")
    folder = preferring.prefer(trees, base, tmp_path / "first.gguf", tmp_path / "work", seconds=1e9)
    rounds = [json.loads(line) for line in (tmp_path / "work" / "log.jsonl").read_text().splitlines()]
    assert rounds[0]["pairs"] == 4
    assert rounds[-1]["loss"] < rounds[0]["loss"]
    assert rounds[-1]["won"] == 1.0
