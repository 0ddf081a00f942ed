"""The report says what the summary says, escapes what it is given, and needs nothing else."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from policy.evaluation.bootstrap import Interval
from policy.evaluation.report import Circumstances
from policy.systems.ragas_summary import JudgedSet, JudgedSystem
from policy.systems.report import as_json, markdown, page
from policy.systems.rows import Row
from policy.systems.summary import Summary, summarise
from tests.policy.systems.made import HOTPOT, MODEL, MUSIQUE, row, rows

CAME = Circumstances(
    "deepthink evaluate <b>", "2026-01-02", "2 cores", {"numpy": "2.0"}, ["Seconds are of one machine."]
)


def _made() -> list[Row]:
    return [
        *rows("shallow", [0.0, 0.5], lost="recall", recall=0.5),
        *rows("lean learned", [1.0, 0.5], recall=1.0, seconds=20, flagged=0),
        *rows("shallow", [0.0], questions=MUSIQUE, lost="reading"),
    ]


@pytest.fixture(scope="module")
def summary() -> Summary:
    return summarise(_made(), 100)


def _lines(text: str, start: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(start)]


def test_markdown_has_a_section_for_each_scope(summary: Summary) -> None:
    told = markdown(summary, CAME)
    assert _lines(told, "## ") == [
        "## Bars",
        f"## {HOTPOT}, {MODEL}",
        f"## {MUSIQUE}, {MODEL}",
        f"## all sets, {MODEL}",
        "## How to read this",
        "## How it came about",
    ]


def test_markdown_tells_the_means_in_hundredths(summary: Summary) -> None:
    learned = _lines(markdown(summary, CAME), "| lean learned | 2 | 75.0 [")
    assert len(learned) == 2  # of the set and of all sets
    assert re.fullmatch(
        r"\| lean learned \| 2 \| 75.0 \[50.0, 100.0\] \| 50.0 \[.*\] \| 0.0 \|", learned[0]
    )


def test_markdown_tells_the_paired_differences(summary: Summary) -> None:
    (told, _) = _lines(markdown(summary, CAME), "| lean learned | 2 | +50.0")
    assert "| 1 / 0 | 1.000 | +0.00 [+0.00, +0.00] | 2.00 × [2.00, 2.00] | 1.00 × [1.00, 1.00] |" in told


def test_markdown_tells_where_answers_were_lost(summary: Summary) -> None:
    told = markdown(summary, CAME)
    assert "| shallow | 2 | 2 |  | 2 | 0 | 0 | 0 | 0 | 0 |" in told
    assert "| shallow | 3 | 3 |  | 2 | 0 | 0 | 0 | 0 | 1 |" in told


def test_columns_that_nobody_has_are_left_out(summary: Summary) -> None:
    told = markdown(summary, CAME)
    assert "reached" not in "".join(_lines(told, "| system"))
    assert "held recall" in told


def test_measures_of_others_have_a_table_of_their_own() -> None:
    told = markdown(summarise(rows("shallow", [1.0], faithfulness=0.25), 100), CAME)
    assert "### Further measures" in told
    assert "| shallow | 0.250 [0.250, 0.250] |" in told


def test_bars_that_are_not_measured_say_so(summary: Summary) -> None:
    assert "| not measured |" in markdown(summary, CAME)
    assert "| met |" not in markdown(summary, CAME)


def test_circumstances_are_told(summary: Summary) -> None:
    for told in (markdown(summary, CAME), page(summary, CAME)):
        for one in ("2026-01-02", "2 cores", "numpy 2.0", "Seconds are of one machine."):
            assert one in told


def test_the_same_rows_give_the_same_report(summary: Summary) -> None:
    again = summarise(reversed(_made()), 100)
    assert markdown(again, CAME) == markdown(summary, CAME)
    assert page(again, CAME) == page(summary, CAME)
    assert as_json(again, CAME) == as_json(summary, CAME)


def test_json_holds_the_numbers_and_no_nan(summary: Summary) -> None:
    told = json.loads(as_json(summary, CAME))
    assert told["circumstances"]["command"] == "deepthink evaluate <b>"
    assert [scope["name"] for scope in told["scopes"]] == [HOTPOT, MUSIQUE, "all sets"]
    learned = told["scopes"][0]["systems"][1]
    assert learned["measures"]["f1"]["estimate"] == 0.75
    assert told["bars"][MODEL][0]["met"] is None


class _Page(HTMLParser):
    """What the page is made of: elements, ids, links within it, and whether they are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.outside: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert not self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        if tag != "meta":
            self._open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            elif name in {"href", "src", "xlink:href"}:
                (self.targets if (value or "").startswith("#") else self.outside).append(value or "")
            assert not name.startswith("on")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def test_the_page_needs_nothing_else(summary: Summary) -> None:
    text = page(summary, CAME)
    found = _Page(text)
    assert not {"script", "link", "img", "iframe"} & set(found.elements)
    assert found.outside == []
    assert "@import" not in text
    assert set(re.findall(r"url\((.)", text)) == {"#"}


def test_the_page_has_plots_tables_and_every_target(summary: Summary) -> None:
    found = _Page(page(summary, CAME))
    # Two scatter plots a scope, and what was lost in each.
    assert found.elements.count("svg") == 9
    assert len(found.ids) == len(set(found.ids))
    assert {target[1:] for target in found.targets} <= set(found.ids)
    assert found.elements.count("h1") == 1


def test_the_page_is_light_or_dark_as_the_reader_has_it(summary: Summary) -> None:
    text = page(summary, CAME)
    assert "prefers-color-scheme: dark" in text
    assert '<meta name="color-scheme" content="light dark">' in text


def test_names_are_escaped_everywhere() -> None:
    name = '<img src=x onerror="alert(1)">'
    made = [row("q0", name, 0.0, questions=name, lost="plan"), row("q0", "shallow", 1.0, questions=name)]
    text = page(summarise(made, 100), CAME)
    assert name not in text
    assert "&lt;img src=x" in text
    assert "<b>" not in text
    assert "img" not in _Page(text).elements


def test_a_bar_in_a_name_does_not_break_a_table() -> None:
    told = markdown(summarise(rows("a|b\nc", [1.0]), 100), CAME)
    assert "| a\\|b c | 1 | 100.0 [100.0, 100.0] |" in told


def test_no_rows_give_a_report_that_says_so() -> None:
    nothing = summarise([], 100)
    assert "There are no rows." in page(nothing, CAME)
    _Page(page(nothing, CAME))
    assert "## How to read this" in markdown(nothing, CAME)


def test_a_judges_scores_stand_apart_and_say_whose_they_are(summary: Summary) -> None:
    mean = Interval(0.5, 0.25, 0.75, 3)
    system = JudgedSystem("shallow", 4, {"faithfulness": mean}, {"faithfulness": 4}, {"faithfulness": 1})
    judged = [JudgedSet(HOTPOT, MODEL, "tiny", ("0.4",), (system,))]
    told = markdown(summary, CAME, judged)
    assert "## RAGAS, judged by tiny: a weak judge" in told
    assert "| shallow | 4 | 50 [25, 75] of 3 |  |  |  | 1 of 4 |" in told
    assert "failed to give 1 of 4 scores (25.0 %)" in told
    assert json.loads(as_json(summary, CAME, judged))["ragas"][0]["judge"] == "tiny"
    shown = page(summary, CAME, judged)
    assert "RAGAS, judged by tiny: a weak judge" in shown
    assert len(_Page(shown).ids) == len(set(_Page(shown).ids))
    assert "RAGAS" not in markdown(summary, CAME)
