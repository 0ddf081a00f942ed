"""Measures a taught model on the written passages kept out, and on the test of the support head."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent import notebook, prompts
from agent.steps.answering import abstains
from models.protocols import Chat, ChatOptions, Message
from policy.evaluation.measures import normalise
from tests.benchmarks.answerer.data import LABELS, Branch, Tree
from tests.benchmarks.reader.data import records

_TOKENS: Final = 80  # of an answer
_ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model made of a branch: the answer it wrote, or the probabilities of the three letters."""

    branch: Branch
    text: str = ""
    probabilities: tuple[float, ...] = ()


def outcomes(chat: Chat, trees: Sequence[Tree]) -> list[Outcome]:
    """The outcome of each branch; ``chat`` is the model as it was taught."""
    made: list[Outcome] = []
    for tree in trees:
        for one in tree.branches:
            asked = Message("user", f"{tree.beginning}\n\n{one.asked}")
            messages = [Message("system", prompts.TAUGHT), asked]
            if one.verdict:
                choice = chat.choose(messages, tuple(LABELS.values()))
                made.append(Outcome(one, probabilities=choice.probabilities))
            else:
                reply = chat.generate(messages, ChatOptions(max_tokens=_TOKENS))
                made.append(Outcome(one, reply.text))
    return made


def support_test(folder: Path) -> list[Tree]:
    """The claims of the support test, each with its passage."""
    return [
        Tree(
            prompts.passages([f"[1] {notebook.fenced(one['passage'])}"]),
            (Branch(prompts.sentence(one["claim"]), LABELS[one["label"]], one["label"], verdict=True),),
        )
        for one in records(folder / "support_test.jsonl")
    ]


def answers_table(made: Sequence[Outcome]) -> str:
    """By kind of question: how many, the share that hold the answer, and the share that was refused."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in made:
        if not one.branch.verdict and (one.branch.answers or one.branch.kind == _ABSENT):
            groups[one.branch.kind].append(one)
            if one.branch.kind != _ABSENT:
                groups["answered"].append(one)
    lines = ["| questions | | hold the answer | refused |", "| --- | --: | --: | --: |"]
    for kind, group in sorted(groups.items()):
        right = "–" if kind == _ABSENT else f"{_share(map(holds, group)):.2f}"
        refused = _share(abstains(one.text) for one in group)
        lines.append(f"| {kind} | {len(group)} | {right} | {refused:.2f} |")
    return "\n".join(lines) + "\n"


def holds(one: Outcome) -> bool:
    """Whether an answer has the words it must have."""
    said = f" {normalise(one.text)} "
    found = [f" {normalise(answer)} " in said for answer in one.branch.answers]
    return all(found) if one.branch.kind == "list" else any(found)


def verdicts_table(made: Sequence[Outcome], thresholds: Sequence[float] = (0.3, 0.4, 0.5, 0.6, 0.7)) -> str:
    """By threshold: shares of supported claims that reach it, and of the others that do not."""
    judged = [one for one in made if one.branch.verdict]
    true = [one.probabilities[0] for one in judged if one.branch.reply == LABELS["supported"]]
    false = [one.probabilities[0] for one in judged if one.branch.reply != LABELS["supported"]]
    lines = [
        f"| from | supported claims kept ({len(true)}) | others refused ({len(false)}) |",
        "| --: | --: | --: |",
    ]
    for threshold in thresholds:
        kept = _share(one >= threshold for one in true)
        refused = _share(one < threshold for one in false)
        lines.append(f"| {threshold} | {kept:.2f} | {refused:.2f} |")
    return "\n".join(lines) + "\n"


def _share(outcomes: Iterable[bool]) -> float:
    listed = list(outcomes)
    return sum(listed) / len(listed) if listed else 0.0
