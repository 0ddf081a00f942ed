"""What BENCHMARKS.md and the cards of the boxed models say is what was measured."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.boxed_planner import planner
from models.boxed_reader import reader
from policy.evaluation.evaluating import Rows
from tests.benchmarks.evaluation import PAGE, ROWS, digest
from tests.benchmarks.planner.evaluation import table as of_planner
from tests.benchmarks.reader.evaluation import table as of_reader
from tests.benchmarks.table import RESULTS, refilled


def test_the_page_has_the_tables_of_the_committed_rows() -> None:
    text = PAGE.read_text("utf-8")
    assert refilled(text, "evaluation", digest(Rows(ROWS).all())) == text


@pytest.mark.parametrize(
    ("name", "folder", "table"),
    [("reader", reader.SHIPPED, of_reader), ("planner", planner.SHIPPED.parent, of_planner)],
)
def test_a_card_has_the_measured_figures(name: str, folder: Path, table: Callable[[Any], str]) -> None:
    figures = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    card = (folder / "README.md").read_text("utf-8")
    assert refilled(card, "figures", table(figures)) == card
