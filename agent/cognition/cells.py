"""Which figures a question asks for: the cells of a table, and the number a sentence gives for a year."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.cognition import proper_names, quantities, tables
from agent.cognition.support import content, place, understood
from agent.retrieval.terms import terms
from agent.state import Evidence

_CLAUSE = re.compile(r"(?<=[.!?;])\s|,\s|\s(?:and|but|while|from|after|before|compared)\s")
_CHANGE = re.compile(r"\b(?:chang|increas|decreas|grow|grew|rose|fell|declin)", re.IGNORECASE)
_UNIT = re.compile(r"\bin (?:thousands|millions|billions)\b", re.IGNORECASE)
_COVERED = 0.6  # share of what a question measures that a row's surroundings must name


@dataclass(frozen=True, slots=True)
class Reading:
    """The cells of one row that answer a question."""

    item: Evidence
    row: tables.Row
    cells: tuple[tuple[str, str], ...]
    years: int = 0  # how many were asked for

    @property
    def answer(self) -> str:
        """The value; with its column where that is one of several years asked for."""
        if len(self.cells) == 1 and not (self.years > 1 and quantities.years(self.cells[0][0])):
            return self.cells[0][1]
        return ", ".join(f"{cell} ({column})" for column, cell in self.cells)

    @property
    def sentence(self) -> str:
        """The row spelled out, under its heading, with the unit that stands above the table."""
        heading = f"{self.row.heading.rstrip(':')}: " if self.row.heading else ""
        head, _ = tables.parts(self.item["text"])
        unit = _UNIT.search(" ".join(head))
        shown = f", {unit.group().casefold()}" if unit else ""
        return f"{heading}{self.row.spelled(self.cells)}{shown}"


def read(question: str, measured: set[str], evidence: Sequence[Evidence]) -> Reading | None:
    """The cell the question names by row and column, where one table leaves no doubt.

    Args:
        question: Names the row by its label, and the column by its years or its words.
        measured: The terms of the question that say what is asked for
            (`agent.cognition.answering.asked`).
        evidence: Where to look.

    Returns:
        The best-named cells; None if no row is named, if its surroundings do not speak of what is
        measured, if the columns leave a choice, or if a name of the question stands nowhere.
    """
    if _CHANGE.search(question):
        return None  # what changed stands in further columns of the row, and all of it is wanted
    best: tuple[float, Reading] | None = None
    for item in evidence:
        if item["kind"] != "table" or not _all_named(question, item, evidence):
            continue
        for row in _named_rows(question, item):
            cells = tables.asked_cells(row, question)
            covered = _covered(measured - set(terms(row.label)), row, item)
            # One cell for each year that is asked for, else one.
            if not cells or len(cells) > max(1, len(quantities.years(question))) or covered < _COVERED:
                continue
            if best is None or covered > best[0]:
                best = (covered, Reading(item, row, tuple(cells), len(quantities.years(question))))
    return best[1] if best else None


def misread(text: str, cited: Sequence[Evidence]) -> str:
    """Why a number of ``text`` is another row's, column's or year's in its passages; "" if it is not."""
    return _wrong_cell(text, cited) or _wrong_year(text, cited)


def _wrong_year(text: str, cited: Sequence[Evidence]) -> str:
    """A number that prose gives for other years than ``text`` speaks of: "80 in 2026 and 200 in 2027"."""
    asked = quantities.years(text)
    if not asked:
        return ""
    clauses = [
        (item["number"], clause, quantities.quantities(clause))
        for item in cited
        for clause in (
            _CLAUSE.split(item["text"]) if item["kind"] != "table" else item["text"].splitlines()
        )
    ]
    for wanted in quantities.quantities(text):
        if wanted.shown in asked or wanted.calendar:
            continue
        said = [
            (number, quantities.years(clause))
            for number, clause, held in clauses
            if quantities.stands(wanted, held)
        ]
        if said and all(len(told) == 1 and not told & asked for _, told in said):
            number, told = said[0]
            return f"{wanted.shown} is for {next(iter(told))} in [{number}]"
    return ""


def _wrong_cell(text: str, cited: Sequence[Evidence]) -> str:
    """Only numbers that stand in no cited prose are looked at, and only rows that the text names."""
    prose = [q for item in cited if item["kind"] != "table" for q in quantities.quantities(content(item))]
    for item in cited:
        named = tables.named_rows(item["text"], text) if item["kind"] == "table" else []
        if not named:
            continue
        others = [c for c in cited if c is not item]
        elsewhere = [*prose, *(q for c in others for q in quantities.quantities(content(c)))]
        for wanted in quantities.quantities(text):
            if quantities.stands(wanted, [*elsewhere, *_around(item)]):
                continue
            columns = [
                column
                for row in named
                for column, cell in row.cells
                if quantities.stands(wanted, quantities.quantities(cell))
            ]
            if not columns:
                return f"{wanted.shown} does not stand in the row “{named[0].label}” of [{item['number']}]"
            asked = _years_beside(text, wanted)
            dated = [quantities.years(column) for column in columns]
            if asked and all(dated) and not any(asked.intersection(found) for found in dated):
                told = ", ".join(sorted(dated[0]))
                return f"{wanted.shown} is for {told} in [{item['number']}]"
    return ""


def _years_beside(text: str, wanted: quantities.Quantity) -> set[str]:
    """The years of the clause that a number stands in, or of the whole text where that has none."""
    clause = next(
        (c for c in _CLAUSE.split(text) if quantities.stands(wanted, quantities.quantities(c))), ""
    )
    return quantities.years(clause) or quantities.years(text)


def _all_named(question: str, item: Evidence, evidence: Sequence[Evidence]) -> bool:
    held = set(terms(content(item)))
    absent = [name for name in proper_names.names(question) if not proper_names.stands(name, held)]
    return not absent or understood(absent, item, evidence).issuperset(absent)


def _named_rows(question: str, item: Evidence) -> list[tables.Row]:
    """The rows named by their labels; else the one row that another cell of several words names."""
    named = tables.named_rows(item["text"], question)
    if named:
        return named
    wanted = set(terms(question))
    others = [
        row
        for row in tables.rows(item["text"])
        if any(len(set(terms(cell))) > 1 and wanted.issuperset(terms(cell)) for _, cell in row.cells)
    ]
    return others if len(others) == 1 else []


def _covered(measured: set[str], row: tables.Row, item: Evidence) -> float:
    """Share of ``measured`` that heading, head, cells and place of a row name; 1 if nothing is left."""
    if not measured:
        return 1.0
    head, _ = tables.parts(item["text"])
    around = set(terms(" ".join([*head, row.heading, row.line, place(item)])))
    return len(measured & around) / len(measured)


def _around(item: Evidence) -> list[quantities.Quantity]:
    """The numbers of a table's head and labels, and of where it stands: they are no values of a cell."""
    head, _ = tables.parts(item["text"])
    labels = [f"{row.label} {row.heading}" for row in tables.rows(item["text"])]
    return quantities.quantities(" ".join([place(item), *head, *labels]))
