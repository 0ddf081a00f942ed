"""Routing by rules on the dev files: what they get wrong, what they leave open, how fast they are."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any

from agent.cognition.routing import by_rules

from agent.documents import sample_library
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA

_SETS = {"HotpotQA": "hotpotqa", "2WikiMultihopQA": "2wikimultihopqa", "MuSiQue": "musique"}
_MOST_WRONG = 0.03
_ROUNDS = 5


def measure() -> Table:
    """Routes without a model; the forms of questions were made on the train files only."""
    asked = {name: [str(r["question"]) for r in _records(file)] for name, file in _SETS.items()}
    everything = [question for questions in asked.values() for question in questions]
    plain, relations = _single_hop()
    rows: list[Row] = []
    for name, questions in [*asked.items(), ("all three", everything)]:
        wrong = _share(questions, "single")
        last = questions is everything
        rows.append(
            Row(
                f"multi-hop, {name}: sent to a single search",
                f"{wrong:.1%} of {len(questions)}",
                f"under {_MOST_WRONG:.0%}" if last else "",
                met=wrong < _MOST_WRONG if last else None,
            )
        )
    lower = [question.lower() for question in everything]
    rows += [
        Row("multi-hop, all three: known to be several look-ups", f"{_share(everything, 'deep'):.1%}"),
        Row("multi-hop, all three: left open", f"{_share(everything, ''):.1%}"),
        Row("the same in lower case: sent to a single search", f"{_share(lower, 'single'):.1%}"),
        Row(
            "one fact, MuSiQue's first steps: known to be one",
            f"{_share(plain, 'single'):.1%} of {len(plain)}",
        ),
        Row("the same: left open", f"{_share(plain, ''):.1%}"),
        Row(
            "one fact as a relation (“Jaws >> director”): known to be one",
            f"{_share(relations, 'single'):.1%} of {len(relations)}",
        ),
        Row("sample library: several steps, sent to a single search", _samples()),
        Row("time per question", f"{_microseconds([*everything, *plain]):.0f} µs"),
    ]
    notes = [
        "What the rules leave open is planned for as several look-ups, unless it is a short message "
        "without a name: that the model is asked about, whether it is talk or unclear.",
        "Questions that are sent to a single search: "
        + "; ".join(q for q in everything if _route(q) == "single"),
    ]
    return Table("routing", "Routing by rules", rows, notes)


def _records(name: str) -> list[dict[str, Any]]:
    lines = (DATA / "multihop" / f"{name}_dev.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _single_hop() -> tuple[list[str], list[str]]:
    """Sub-questions that need no other: as questions, and as "name >> relation"."""
    steps = [step["question"] for r in _records("musique") for step in r["question_decomposition"]]
    alone = sorted({str(question) for question in steps if "#" not in question})
    return [q for q in alone if ">>" not in q], [q for q in alone if ">>" in q]


def _route(question: str) -> str:
    routed = by_rules(question, [], may_clarify=False)
    return routed.route if routed else ""


def _share(questions: Sequence[str], route: str) -> float:
    return Counter(_route(question) for question in questions)[route] / len(questions)


def _samples() -> str:
    several = [q for q in sample_library.questions() if q.steps]
    wrong = sum(_route(question.question) == "single" for question in several)
    return f"{wrong} of {len(several)}"


def _microseconds(questions: Sequence[str]) -> float:
    """The least of several rounds: what else the machine does is not the rules' time."""
    taken: list[float] = []
    for _ in range(_ROUNDS):
        began = time.perf_counter()
        for question in questions:
            by_rules(question, [], may_clarify=False)
        taken.append((time.perf_counter() - began) / len(questions))
    return min(taken) * 1e6
