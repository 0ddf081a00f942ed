"""Measures a taught model on the passages held out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from agent import prompts
from agent.steps.answering import abstains
from models.protocols import Chat, ChatOptions, Message
from policy.evaluation.measures import normalise
from tests.benchmarks.answerer.data import Branch, Tree
from tests.benchmarks.table import markdown_table

_TOKENS: Final = 80  # of an answer
_ABSENT: Final = "absent"


@dataclass(frozen=True, slots=True)
class Outcome:
    """A branch and what the model wrote."""

    branch: Branch
    text: str


def outcomes(chat: Chat, trees: Sequence[Tree]) -> list[Outcome]:
    """The outcome of each branch; ``chat`` is the model as it was taught."""
    made: list[Outcome] = []
    for tree in trees:
        for one in tree.branches:
            asked = Message("user", f"{tree.beginning}\n\n{one.asked}")
            messages = [Message("system", prompts.TAUGHT), asked]
            reply = chat.generate(messages, ChatOptions(max_tokens=_TOKENS))
            made.append(Outcome(one, reply.text))
    return made


def answers_table(made: Sequence[Outcome]) -> str:
    """By kind of question: how many, the share that hold the answer, and the share that was refused."""
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in made:
        if one.branch.answers or one.branch.kind == _ABSENT:
            groups[one.branch.kind].append(one)
            if one.branch.kind != _ABSENT:
                groups["answered"].append(one)
    lines: list[list[str]] = []
    for kind, group in sorted(groups.items()):
        right = "–" if kind == _ABSENT else f"{_share(map(holds, group)):.2f}"
        refused = _share(abstains(one.text) for one in group)
        lines.append([kind, str(len(group)), right, f"{refused:.2f}"])
    return markdown_table(["questions", "count", "hold the answer", "refused"], lines)


def holds(one: Outcome) -> bool:
    """Whether an answer has the words it must have."""
    said = f" {normalise(one.text)} "
    found = [f" {normalise(answer)} " in said for answer in one.branch.answers]
    return all(found) if one.branch.kind in {"list", "two"} else any(found)


def _share(outcomes: Iterable[bool]) -> float:
    listed = list(outcomes)
    return sum(listed) / len(listed) if listed else 0.0
