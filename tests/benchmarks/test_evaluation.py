"""What BENCHMARKS.md and the cards of the boxed models say is what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models import boxed_planner, boxed_reader
from policy.evaluation.evaluating import Row, Rows
from tests.benchmarks.evaluation import PAGE, ROWS, SETS, digest
from tests.benchmarks.planner.evaluation import table as of_planner
from tests.benchmarks.reader.evaluation import table as of_reader
from tests.benchmarks.table import RESULTS, refilled


def test_the_page_has_the_tables_of_the_committed_rows() -> None:
    text = PAGE.read_text("utf-8")
    assert refilled(text, "evaluation", digest(Rows(ROWS).all())) == text


@pytest.mark.parametrize(
    ("name", "folder", "table"),
    [
        ("reader", boxed_reader.SHIPPED, of_reader),
        ("planner", boxed_planner.SHIPPED.parent, of_planner),
    ],
)
def test_a_card_has_the_measured_figures(name: str, folder: Path, table: Callable[[Any], str]) -> None:
    figures = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    card = (folder / "README.md").read_text("utf-8")
    assert refilled(card, "figures", table(figures)) == card


def _row(question: str, system: str, seconds: float, model: str = "m") -> Row:
    measures = {"f1": 0.5, "steps": 2.0, "evaluated": 1200.0, "seconds": seconds}
    return Row(SETS[0], question, system, model, "", measures=measures)


def test_the_seed_stands_beside_the_others_on_its_own_questions() -> None:
    rows = [_row("a", "seed", 90), _row("a", "lean", 20), _row("b", "lean", 40)]
    first, _, beside = digest(rows).partition("m, the questions that seed was asked")
    assert "| lean | 50.0 (2) | 2.0 | 1,200 | 30 |" in first
    assert "| seed |" not in first
    assert "| seed | 50.0 (1) | 2.0 | 1,200 | 90 |\n| lean | 50.0 (1) | 2.0 | 1,200 | 20 |" in beside


def test_the_default_model_is_told_of_first() -> None:
    names = ("llama.cpp:another", "llama.cpp:qwen2.5-coder-0.5b", "llama.cpp:qwen2.5-coder-1.5b")
    lines = digest([_row("a", "lean", 1, model) for model in names]).splitlines()
    heads = [line.partition(",")[0] for line in lines if line.startswith(("qwen", "another"))]
    assert heads == [name.partition(":")[2] for name in reversed(names)]
