"""Measures a planner on the natural questions that were kept out of its training."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import TypeAlias

from agent.steps.plan_text import MOST_TOKENS, Plan, parse, prompt
from models.protocols import Completer
from tests.benchmarks.planner.data import Example
from tests.benchmarks.table import markdown_table

Figures: TypeAlias = dict[str, dict[str, float]]
"""By kind of question, "all" included: how many, and the shares of `figures`."""


@dataclass(frozen=True, slots=True)
class Written:
    """What a planner made of an example, in seconds; no plan where it broke the form."""

    example: Example
    plan: Plan | None
    seconds: float


def written(planner: Completer, examples: Sequence[Example]) -> list[Written]:
    """The plan of each example, after one call that is not counted."""
    planner.complete(prompt(examples[0].request), 1)
    made = []
    for example in examples:
        began = time.perf_counter()
        text = planner.complete(prompt(example.request), MOST_TOKENS).text
        seconds = time.perf_counter() - began
        made.append(Written(example, parse(text, example.request), seconds))
    return made


def figures(plans: Iterable[Written]) -> Figures:
    """Of each kind of question: ``questions``; the shares with the right ``kind`` of plan (search, talk,
    ask) and ``number`` of look-ups; with a collection to choose, of the right ``collections``; the median
    ``seconds``.
    """
    groups: dict[str, list[Written]] = defaultdict(list)
    for one in plans:
        groups[one.example.kind].append(one)
        groups["all"].append(one)
    return {kind: _figures(group) for kind, group in sorted(groups.items())}


def table(measured: Figures) -> str:
    head = ["questions", "count", "right kind", "right number of look-ups", "right collections", "median s"]
    shares = ("kind", "number", "collections", "seconds")
    return markdown_table(
        head,
        [
            [kind, f"{row['questions']:.0f}", *(f"{row[one]:.2f}" if one in row else "–" for one in shares)]
            for kind, row in measured.items()
        ],
    )


def _figures(group: Sequence[Written]) -> dict[str, float]:
    choosing = [one for one in group if any(step["tool"] for step in one.example.plan.steps)]
    row = {
        "questions": float(len(group)),
        "kind": fmean(one.plan is not None and one.plan.kind == one.example.plan.kind for one in group),
        "number": fmean(_number(one.plan) == _number(one.example.plan) for one in group),
        "seconds": median(one.seconds for one in group),
    }
    if choosing:
        row["collections"] = fmean(_places(one.plan) == _places(one.example.plan) for one in choosing)
    return row


def _number(plan: Plan | None) -> int:
    return -1 if plan is None or plan.kind != "search" else len(plan.steps)


def _places(plan: Plan | None) -> list[str]:
    return [step["tool"] for step in plan.steps] if plan else []
