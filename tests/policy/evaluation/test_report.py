"""The report says what the summary says."""

from __future__ import annotations

import re

import pytest

from policy.evaluation.report import Circumstances, markdown
from policy.evaluation.rows import Row
from policy.evaluation.summary import Scope, summarise
from tests.policy.evaluation.made import HOTPOT, MODEL, MUSIQUE, rows

CAME = Circumstances("deepthink evaluate <b>", "2026-01-02", "2 cores", ["Seconds are of one machine."])


def _made() -> list[Row]:
    return [
        *rows("shallow", [0.0, 0.5], lost="recall", recall=0.5),
        *rows("lean learned", [1.0, 0.5], recall=1.0, seconds=20, flagged=0),
        *rows("shallow", [0.0], questions=MUSIQUE, lost="reading"),
    ]


@pytest.fixture(scope="module")
def summary() -> list[Scope]:
    return summarise(_made(), resamples=100)


def _lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_markdown_has_a_section_for_each_scope(summary: list[Scope]) -> None:
    told = markdown(summary, CAME)
    assert _lines(told, "## ") == [
        f"## {HOTPOT}, {MODEL}",
        f"## {MUSIQUE}, {MODEL}",
        f"## all sets, {MODEL}",
        "## How to read this",
        "## How it was made",
    ]


def test_markdown_tells_the_means_in_hundredths(summary: list[Scope]) -> None:
    learned = _lines(markdown(summary, CAME), "| lean learned | 2 | 75.0 [")
    assert len(learned) == 2  # of the set and of all sets
    assert re.fullmatch(r"\| lean learned \| 2 \| 75.0 \[50.0, 100.0\] \| 0.0 \|", learned[0])


def test_markdown_tells_the_paired_differences(summary: list[Scope]) -> None:
    (told, _) = _lines(markdown(summary, CAME), "| lean learned | 2 | +50.0")
    assert "| 0.00 [0.00, 0.00] | 10.0 [10.0, 10.0] |" in told


def test_markdown_tells_where_answers_were_lost(summary: list[Scope]) -> None:
    told = markdown(summary, CAME)
    assert "| shallow | 2 | 2 | 2 | 0 | 0 | 0 |" in told
    assert "| shallow | 3 | 3 | 2 | 0 | 0 | 1 |" in told


def test_columns_that_nobody_has_are_left_out(summary: list[Scope]) -> None:
    told = markdown(summary, CAME)
    assert "noted" not in "".join(_lines(told, "| system"))
    assert "held recall" in told


def test_circumstances_are_told(summary: list[Scope]) -> None:
    told = markdown(summary, CAME)
    for one in ("2026-01-02", "2 cores", "Seconds are of one machine."):
        assert one in told


def test_the_same_rows_give_the_same_report(summary: list[Scope]) -> None:
    again = summarise(reversed(_made()), resamples=100)
    assert markdown(again, CAME) == markdown(summary, CAME)


def test_a_bar_in_a_name_does_not_break_a_table() -> None:
    told = markdown(summarise(rows("a|b\nc", [1.0]), resamples=100), CAME)
    assert "| a\\|b c | 1 | 100.0 [100.0, 100.0] |" in told


def test_no_rows_give_a_report() -> None:
    assert "## How to read this" in markdown(summarise([]), CAME)
