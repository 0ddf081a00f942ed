"""What the planner is trained on: requests with the plans that people would accept."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from agent.steps.plan_text import MOST_LOOKUPS, RESULT, Plan, PlanRequest, look_up
from agent.text.language import readable
from policy.training.plan_fitting import WRITTEN, lesson
from tests.benchmarks.reader.data import records

HELD_OUT_EVERY: Final = 10
"""Of the natural questions, every tenth is held out."""

REWRITTEN: Final = Path(__file__).with_name("break.jsonl")
"""Break's questions with their steps rewritten as questions; see the planner's card."""

_CHANGE: Final = re.compile(
    r"what (?P<is>is|was) the (?:percentage |total )?(?:change|increase ?/ ?\(decrease\)|difference) "
    r"(?:in|of) (?P<of>.+),? (?:from|between) (?P<first>[\w ]*?(?:19|20)\d\d) (?:to|and) "
    r"(?P<second>[\w ]*?(?:19|20)\d\d) ?\?",
    re.IGNORECASE,
)
_SINGLES: Final = {
    "natural-questions-a.jsonl": 100,
    "policyqa.jsonl": 60,
    "squad-2.0-train-part.jsonl": 100,
    "covid-qa.jsonl": 50,
}
_MOST_CHANGES: Final = 150
_MOST_STRATEGY: Final = 80
_MOST_TWO_WIKI: Final = 250
_TIMES: Final = 4
_JOINED: Final = 200


@dataclass(frozen=True, slots=True)
class Example:
    """A request with its plan; ``kind`` of question, as the natural plans name it, else the source."""

    kind: str
    request: PlanRequest
    plan: Plan


def natural(plans: Path, *, held_out: bool) -> list[Example]:
    """The natural questions: every `HELD_OUT_EVERY`-th line over all files is held out, or the others."""
    lines = [line for file in sorted((plans / "natural").glob("*.jsonl")) for line in records(file)]
    return [
        _example(row)
        for number, row in enumerate(lines)
        if (number % HELD_OUT_EVERY == HELD_OUT_EVERY // 2) == held_out
    ]


def examples(reading: Path, multihop: Path) -> list[Example]:
    """Everything to train on, shuffled, each twice: natural questions, and what teaches longer chains.

    The natural ones come four times as often, with other collections beside theirs.
    """
    draw = random.Random(0)
    lines = [*natural(reading / "plans", held_out=False), *map(_example, records(WRITTEN))]
    offered = [pair for example in lines for pair in example.request.collections]
    every = [_varied(example, offered, draw) for _ in range(_TIMES) for example in lines]
    every += _joined(lines, draw)
    every += _rewritten()
    every += _strategy(reading / "plans" / "decompositions.jsonl", draw)
    every += _musique(multihop / "musique_train.jsonl")
    every += draw.sample(list(_two_wiki(multihop / "2wikimultihopqa_train.jsonl")), _MOST_TWO_WIKI)
    every += _changes(reading / "tables", draw)
    every += _singles(reading, draw)
    every *= 2
    draw.shuffle(every)
    return every


def _varied(example: Example, offered: Sequence[tuple[str, str]], draw: random.Random) -> Example:
    """With its collections in another order, at times with another's beside them."""
    request = example.request
    if not request.collections:
        return example
    collections = list(request.collections)
    other = draw.choice(offered)
    if draw.random() < 0.3 and other[0] not in dict(collections):
        collections.append(other)
    draw.shuffle(collections)
    return replace(example, request=replace(request, collections=collections))


def _joined(lines: Sequence[Example], draw: random.Random) -> Iterator[Example]:
    """Two questions typed as one: the look-ups of both."""
    alone = [
        one
        for one in lines
        if one.plan.kind == "search"
        and one.plan.question == one.request.question
        and one.request.question.endswith(("?", "？", "."))
        and not (one.request.history or one.request.findings or one.request.collections)
        and not any(RESULT.search(step["question"]) for step in one.plan.steps)
    ]
    for _ in range(_JOINED):
        first = draw.choice(alone)
        second = draw.choice(alone)
        if second is first or readable(second.request.question) != readable(first.request.question):
            continue
        question = f"{first.request.question} {second.request.question}"
        steps = [*first.plan.steps, *second.plan.steps]
        if len(steps) <= MOST_LOOKUPS:
            yield Example("joined", PlanRequest(question), Plan("search", question, steps))


def _example(row: dict[str, Any]) -> Example:
    return Example(row["kind"], *lesson(row))


def _plain(kind: str, question: str, lookups: Sequence[str], findings: Sequence[str] = ()) -> Example:
    plan = Plan("search", question, [look_up(asked) for asked in lookups])
    return Example(kind, PlanRequest(question, findings=findings), plan)


def _rewritten() -> list[Example]:
    return [_plain(row["source"], row["question"], row["steps"]) for row in records(REWRITTEN)]


def _strategy(path: Path, draw: random.Random) -> list[Example]:
    """StrategyQA's look-ups; a step over two results computes, and needs no document."""
    made = []
    for row in records(path):
        steps = [step for step in row["steps"] if len(RESULT.findall(step)) < 2]
        whole = row["steps"][: len(steps)] == steps and all(step.endswith("?") for step in steps)
        if row["source"] == "strategyqa" and whole and 1 < len(steps) < 4:
            made.append(_plain("strategyqa", row["question"], steps))
    return draw.sample(made, _MOST_STRATEGY)


def _musique(path: Path) -> Iterator[Example]:
    """MuSiQue's own steps where they are questions, and what is left of them after the first."""
    for row in records(path):
        steps = [re.sub(r" +([?.,])", r"\1", step["question"]) for step in row["question_decomposition"]]
        answers = [step["answer"] for step in row["question_decomposition"]]
        if any(">>" in step or not step.endswith("?") for step in steps):
            continue
        yield _plain("musique", row["question"], steps)
        if len(steps) == 2 and "#1" in steps[1]:
            known = [f"{steps[0]} {answers[0]}"]
            rest = [steps[1].replace("#1", answers[0])]
            yield _plain("musique-rest", row["question"], rest, known)


def _two_wiki(path: Path) -> Iterator[Example]:
    """2Wiki's own look-ups, where a later one names an earlier answer with that as ``#n``."""
    for row in records(path):
        asked: list[str] = []
        answers: list[str] = []
        for triple, pair in zip(row["evidences"], row["qa_pairs"], strict=False):
            question = pair["question"]
            for number, answer in enumerate(answers, 1):
                if answer not in row["question"]:
                    question = question.replace(answer, f"#{number}")
            asked.append(question)
            answers.append(triple[2])
        if len(asked) == len(row["evidences"]) and 1 < len(asked) < 5:
            yield _plain("2wiki", row["question"], asked)


def _changes(tables: Path, draw: random.Random) -> list[Example]:
    """TAT-QA's changes from one year to another: a look-up for each year."""
    made = []
    for file in sorted(tables.glob("tatqa_*.json")):
        for report in json.loads(file.read_text(encoding="utf-8")):
            for asked in report["questions"]:
                found = _CHANGE.fullmatch(asked["question"].strip())
                if found and asked["answer_type"] == "arithmetic":
                    of = found["of"].removeprefix("the ")
                    years = [found["first"], found["second"]]
                    steps = [f"What {found['is']} the {of} in {year}?" for year in years]
                    made.append(_plain("tatqa", asked["question"].strip(), steps))
    return draw.sample(made, min(len(made), _MOST_CHANGES))


def _singles(reading: Path, draw: random.Random) -> Iterator[Example]:
    """Questions that one passage answers: one look-up, as typed."""
    for name, count in _SINGLES.items():
        questions = [asked["question"].strip() for row in records(reading / name) for asked in row["qas"]]
        for question in draw.sample(questions, count):
            yield _plain("single", question, [question])
