"""Teaches an adapter by its own replies: right ones are preferred to wrong ones of the same question.

Round by round, some trees' questions are answered several times, code says which replies hold what they
must, and the probability of a right one is raised over that of a wrong one (DPO, Rafailov et al. 2023,
https://arxiv.org/abs/2305.18290, on fresh replies, as Lanchantin et al. 2025,
https://arxiv.org/abs/2506.21495), with the usual loss of the right one beside it. Needs a GPU.
"""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent.prompts import NOT_FOUND
from agent.steps.answering import abstains
from models.library_loading import trains_in_bfloat16
from policy.training.adapters import (
    Base,
    fill,
    load_tokenizer,
    read_exported,
    write_adapter,
)
from tests.benchmarks.answerer.data import (
    REPORT,
    Branch,
    Record,
    Tree,
    facts,
    hops,
    real,
    real_trees,
    written_trees,
)
from tests.benchmarks.answerer.evaluation import Outcome, holds
from tests.benchmarks.answerer.sampling import Reply, replies
from tests.benchmarks.answerer.training import (
    TOKENS,
    Packed,
    adapted,
    batches,
    falling,
    learn,
    pack,
    token_losses,
)

SECONDS: Final = 400.0
"""Of a training on an H100, mostly drawing replies: 13 rounds."""
RATE: Final = 2e-5
ROUND: Final = 96
"""Trees that are answered before the adapter learns from them."""
COPIES: Final = 8
"""Replies to a question: the likeliest one, and drawn ones."""
LONGEST: Final = 80
"""Tokens of a reply."""
_BETA: Final = 0.1
_IMITATED: Final = 0.2  # weight of the usual loss
_NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")
_WARM_UP: Final = 20  # steps
_DRAWS: Final = 2  # of the written passages


@dataclass(frozen=True, slots=True)
class Pair:
    """A right and a wrong reply to a question."""

    asked: str
    right: str
    wrong: str


def is_right(branch: Branch, reply: Reply) -> bool | None:
    """Whether a reply holds what it must and refuses where it must; None if it also has other numbers."""
    refused = abstains(reply.text)
    if not branch.answers:
        return refused
    if refused or not reply.ended or not holds(Outcome(branch, reply.text)):
        return False
    known = set(_NUMBER.findall(" ".join([branch.asked, branch.reply, *branch.answers])))
    return True if known.issuperset(_NUMBER.findall(reply.text)) else None


def pairs(tree: Tree, drawn: Sequence[Sequence[Reply]], draw: random.Random) -> Iterator[Pair]:
    """At most one pair of each question, with its own answer where no reply is right."""
    for branch, of_branch in zip(tree.branches, drawn, strict=True):
        if not branch.answers and branch.reply != NOT_FOUND:
            continue  # nothing says what is right
        judged = [(is_right(branch, one), one.text) for one in of_branch]
        right = [text for verdict, text in judged if verdict] or [branch.reply]
        wrong = [text for verdict, text in judged if verdict is False and text]
        if wrong and all(right):
            yield Pair(branch.asked, draw.choice(right), draw.choice(wrong))


def trees_to_prefer(data: Path, multihop: Path) -> list[Tree]:
    """Trees whose answers are known, in random order; their sentences are not needed.

    Tables of reports are taken whole, of texts, Wikipedia's tables and multi-hop questions fewer.
    """
    draw = random.Random(1)
    of_texts = real(data, held_out=False)
    reports = [one for one in of_texts if one["title"] == REPORT]
    texts = [one for one in of_texts if one["title"] != REPORT]
    cells = [_asked(one) for one in facts(data)]
    taken = ((reports, len(reports)), (texts, 800), (cells, 800), (hops(multihop), 400))
    drawn = [draw.sample(group, min(most, len(group))) for group, most in taken]
    trees = [tree for group in drawn for tree in real_trees(group)]
    for seed in range(_DRAWS):
        trees += written_trees(data, held_out=False, english=True, seed=seed)
        for again in range(2):  # there are few
            trees += written_trees(data, held_out=False, english=False, seed=2 * seed + again)
    draw.shuffle(trees)
    return trees


def _asked(record: Record) -> Record:
    """A record of Wikipedia with plain questions on its cells."""
    return {
        **record,
        "qas": [
            {**one, "question": one["question"] or "What is the {column} of {named}?".format(**one["cell"])}
            for one in record["qas"]
        ],
    }


def prefer(trees: Sequence[Tree], base: Base, taught: Path, work: Path, *, seconds: float) -> Path:
    """Train the exported adapter ``taught`` on ``trees`` in their order, for about ``seconds`` at most.

    The rate of learning falls with the time that is used, or the trees, whichever is nearer to its end.
    Returns the folder of the new adapter in ``work``, beside the log of the rounds.
    """
    import torch

    work.mkdir(parents=True, exist_ok=True)
    model, tokenizer = _started(base, taught), load_tokenizer(base.folder)
    draw = random.Random(0)
    learned = [weight for weight in model.parameters() if weight.requires_grad]
    first = [weight.detach().clone() for weight in learned]
    optimiser = torch.optim.AdamW(learned, lr=RATE, weight_decay=0.0, betas=(0.9, 0.98))
    began, step = time.monotonic(), 0
    rounds = [trees[at : at + ROUND] for at in range(0, len(trees), ROUND)]
    for number, asked in enumerate(rounds):
        progress = max((time.monotonic() - began) / seconds, number / len(rounds))
        if progress >= 1:
            break
        with torch.autocast(model.device.type, torch.bfloat16, enabled=trains_in_bfloat16()):
            drawn = replies(model, tokenizer, asked, copies=COPIES, longest=LONGEST)
        compared = [
            _paired(tree, pairs(tree, of_tree, draw)) for tree, of_tree in zip(asked, drawn, strict=True)
        ]
        packed = [pack(tree, tokenizer) for tree in compared if tree.branches]
        total, won, count = 0.0, 0, 0
        for batch in batches([tree for tree in packed if tree.places], TOKENS):
            _exchange(learned, first)
            with torch.no_grad():
                before, _, _ = _sums(model, batch)
            _exchange(learned, first)
            step += 1
            losses, margins = _compared(_sums(model, batch), before)
            if not len(losses):
                continue
            learn(optimiser, losses.mean(), RATE * min(1.0, step / _WARM_UP) * falling(progress))
            total += float(losses.detach().sum())
            won += int((margins > 0).sum())
            count += len(losses)
        line = {
            "round": number,
            "right": round(_share_right(asked, drawn), 3),
            "loss": round(total / max(1, count), 4),
            "won": round(won / max(1, count), 3),
            "pairs": count,
            "seconds": int(time.monotonic() - began),
        }
        with (work / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
    write_adapter(model, base, work / "adapter")
    return work / "adapter"


def _started(base: Base, taught: Path) -> Any:
    """The base's weights with an exported adapter to continue from."""
    matrices, alpha = read_exported(taught)
    ranks = {
        rf"layers\.{name.split('.')[1]}\..*": len(matrix)
        for name, matrix in matrices.items()
        if name.endswith(".lora_a")
    }
    model = adapted(base, lora_alpha=int(alpha), rank_pattern=ranks)
    fill(model, taught, base.gguf)
    return model


def _share_right(trees: Sequence[Tree], drawn: Sequence[Sequence[Sequence[Reply]]]) -> float:
    """The share of the questions whose likeliest reply is right."""
    verdicts = [
        is_right(branch, likeliest)
        for tree, of_tree in zip(trees, drawn, strict=True)
        for branch, (likeliest, *_) in zip(tree.branches, of_tree, strict=True)
    ]
    return sum(map(bool, verdicts)) / len(verdicts)


def _paired(tree: Tree, compared: Iterable[Pair]) -> Tree:
    """The tree with each pair as two branches, first the right reply."""
    branches = (
        Branch(pair.asked, reply, "pair") for pair in compared for reply in (pair.right, pair.wrong)
    )
    return Tree(tree.beginning, tuple(branches))


def _exchange(learned: Sequence[Any], others: Sequence[Any]) -> None:
    for weight, other in zip(learned, others, strict=True):
        weight.data, other.data = other.data, weight.data


def _sums(model: Any, batch: Sequence[Packed]) -> tuple[Any, Any, list[tuple[int, int]]]:
    """Of each branch: its log probability, its tokens, and the tree and number of it."""
    import torch

    losses = token_losses(model, batch)
    owners = [(row, number) for row, tree in enumerate(batch) for number in tree.owners]
    places = {owner: place for place, owner in enumerate(dict.fromkeys(owners))}
    index = torch.tensor([places[owner] for owner in owners], device=losses.device)
    sums = torch.zeros(len(places), device=losses.device).index_add(0, index, -losses)
    return sums, torch.bincount(index, minlength=len(places)), list(places)


def _compared(now: tuple[Any, Any, list[tuple[int, int]]], before: Any) -> tuple[Any, Any]:
    """The loss of each pair that fitted in whole, and how much likelier the right reply became."""
    import torch

    sums, counts, branches = now
    places = {branch: place for place, branch in enumerate(branches)}
    right = [place for (row, number), place in places.items() if number % 2 and (row, number + 1) in places]
    wrong = [places[row, number + 1] for row, number in (branches[place] for place in right)]
    gains = sums - before
    margins = gains[right] - gains[wrong]
    imitation = -sums[right] / counts[right]
    return _IMITATED * imitation - torch.nn.functional.logsigmoid(_BETA * margins), margins
