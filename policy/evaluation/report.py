"""From rows to tables: means with intervals, losses by stage, and paired differences.

Every system is summarised on the questions it has answered; two are compared on those both have answered.
The order of the rows does not matter.
"""

from __future__ import annotations

import math
import os
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

import numpy as np

from policy.decisions import Floats
from policy.evaluation.evaluating import Row
from policy.evaluation.measures import STAGES
from policy.evaluation.systems import GUESS, SEED, SHALLOW, SYSTEMS
from policy.judging import Interval, means
from policy.serving.card import table_row

_BASELINES: Final = (SHALLOW, GUESS, SEED)
"""The systems that every system is compared with."""
_Answers: TypeAlias = dict[tuple[str, str], Row]
"""Rows of one system, by the set and the id of the question."""

_ANSWERS: Final = {
    "right": "right",
    "wrong": "wrong",
    "wrong, shown as supported": "wrong_supported",
    "flagged": "flagged",
    "refused, though answerable": "refused_wrongly",
    "unanswerable refused": "refused_rightly",
    "first words, s": "first_words",
}
_EVIDENCE: Final = {
    "recalled": "recalled",
    "held recall": "recall",
    "held precision": "precision",
    "noted": "noted",
    "cited recall": "citation_recall",
    "cited precision": "citation_precision",
}
_COST: Final = {
    "steps": "steps",
    "model calls": "calls",
    "tokens evaluated": "evaluated",
    "reused": "reused",
    "generated": "generated",
    "seconds": "seconds",
}
"""The columns of the tables: their headings, and the measure in each."""
_DIGITS: Final = {
    "steps": 2,
    "calls": 1,
    "evaluated": 0,
    "reused": 0,
    "generated": 0,
    "seconds": 1,
    "first_words": 1,
}
"""Digits after the point of measures that are counts; all others are shares, shown in hundredths."""
_WITH_INTERVAL: Final = frozenset({"right", "wrong_supported", "refused_rightly", "recall", "seconds"})

_READING: Final = (
    "Shares are in hundredths. An answer is right if it states a gold answer and no wrong value, or "
    "matches the patterns of its question. Brackets are 95 % percentile intervals of a bootstrap over "
    "questions.",
    "Each system is measured on the questions that it has answered; differences are paired, on those that "
    "both have. Rows may be of several machines: tokens do not depend on that, seconds do.",
    "Held and cited are passages against gold passages; recalled and noted are the shares of the gold "
    "passages among a run's search results, and cited by its findings.",
    "A wrong answer is counted at the first stage after which it could no longer be right.",
)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text: the first column holds names, the others numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


Section: TypeAlias = tuple[str, list[Table]]
"""The tables of one model on one set, or on all sets together, under a heading."""


def sections(rows: Iterable[Row]) -> list[Section]:
    """The tables of ``rows``, one per key, by model: each set first, then all of them together."""
    ordered = sorted(rows, key=lambda row: row.key)
    made: list[Section] = []
    for model in sorted({row.model for row in ordered}):
        of_model = [row for row in ordered if row.model == model]
        names = sorted({row.questions for row in of_model})
        for name in names:
            made.append((f"{name}, {model}", _tables([row for row in of_model if row.questions == name])))
        if len(names) > 1:
            made.append((f"all sets, {model}", _tables(of_model)))
    return made


def markdown(rows: Iterable[Row], command: str) -> str:
    """The report, with the command that made it, the day and the machine."""
    lines = ["# Whole systems on the same questions", ""]
    for heading, tables in sections(rows):
        lines += [f"## {heading}", ""]
        for table in tables:
            lines += markdown_table(table)
    lines += ["## How to read this", "", *(f"- {line}" for line in _READING), ""]
    facts = {"Command": command, "Date": f"{datetime.now(UTC):%Y-%m-%d}", "Machine": machine()}
    lines += ["## How it was made", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
    return "\n".join(lines)


def machine() -> str:
    """The machine in words."""
    python = sys.version.split()[0]
    return f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}), Python {python}"


def markdown_table(table: Table) -> list[str]:
    """The lines of ``table`` in Markdown."""
    rule = ["---", *["--:"] * (len(table.head) - 1)]
    return [f"### {table.title}", "", *map(table_row, (table.head, rule, *table.rows)), ""]


def _tables(rows: Sequence[Row]) -> list[Table]:
    """Answers, evidence, cost, losses by stage, and each system against each baseline."""
    answers: dict[str, _Answers] = {}
    for row in rows:
        answers.setdefault(row.system, {})[row.questions, row.question] = row
    order = [*(name for name in SYSTEMS if name in answers), *sorted(answers.keys() - SYSTEMS.keys())]
    answers = {system: answers[system] for system in order}
    measures = {system: means(_columns(of, list(of))) for system, of in answers.items()}
    kinds = sorted({name for of in measures.values() for name in of if name.startswith("right_")})
    groups = {
        "Answers": _ANSWERS,
        "Right, by kind of question": {name.removeprefix("right_"): name for name in kinds},
        "Evidence": _EVIDENCE,
        "Cost": _COST,
    }
    tables = []
    for title, columns in groups.items():
        cells = {
            heading: [_cell(of.get(name), name, wide=name in _WITH_INTERVAL) for of in measures.values()]
            for heading, name in columns.items()
        }
        nonempty = {heading: column for heading, column in cells.items() if any(column)}
        lines = [
            [system, str(len(of)), *(column[i] for column in nonempty.values())]
            for i, (system, of) in enumerate(answers.items())
        ]
        if nonempty:
            tables.append(Table(title, ["system", "questions", *nonempty], lines))
    lines = []
    for system, of in answers.items():
        lost = Counter(row.lost for row in of.values() if row.lost)
        counts = [len(of), lost.total(), *(lost[stage] for stage in STAGES)]
        lines.append([system, *map(str, counts)])
    tables.append(Table("Where wrong answers were lost", ["system", "questions", "wrong", *STAGES], lines))
    head = ["system", "questions", "right", "right where both answer", "steps", "seconds"]
    for baseline in _BASELINES:
        compared = [
            _compared(system, of, answers[baseline])
            for system, of in answers.items()
            if system != baseline and of.keys() & answers.get(baseline, {}).keys()
        ]
        if compared:
            tables.append(Table(f"Compared with {baseline}", [*head, "tokens evaluated"], compared))
    return tables


def _compared(system: str, ours: _Answers, theirs: _Answers) -> list[str]:
    """A row of paired differences, on the questions that both have answered."""
    shared = [question for question in ours if question in theirs]
    our_columns, their_columns = _columns(ours, shared), _columns(theirs, shared)
    gains = {name: our_columns[name] - their_columns[name] for name in our_columns if name in their_columns}
    abstained = [any(of[key].measures.get("abstained") for of in (ours, theirs)) for key in shared]
    if "right" in gains:
        gains["both"] = np.where(abstained, np.nan, gains["right"])
    differences = means(gains)
    return [
        system,
        str(len(shared)),
        _points(differences.get("right")),
        _points(differences.get("both")),
        *(_cell(differences.get(name), name, wide=True) for name in ("steps", "seconds", "evaluated")),
    ]


def _columns(answers: _Answers, questions: Sequence[tuple[str, str]]) -> dict[str, Floats]:
    """Each measure of the questions by name; NaN where it is unknown."""
    of = [answers[question].measures for question in questions]
    names = sorted({name for measures in of for name in measures})
    return {name: np.array([m.get(name, np.nan) for m in of], dtype=np.float64) for name in names}


def _cell(interval: Interval | None, measure: str, *, wide: bool) -> str:
    if interval is None or math.isnan(interval.estimate):
        return ""
    factor, digits = (1, _DIGITS[measure]) if measure in _DIGITS else (100, 1)
    estimate, low, high = (
        f"{factor * value:,.{digits}f}" for value in (interval.estimate, interval.low, interval.high)
    )
    return f"{estimate} [{low}, {high}]" if wide else estimate


def _points(interval: Interval | None) -> str:
    """A difference of shares in percentage points: ``+12.3 [+4.0, +20.1]``; "–" if unknown."""
    if interval is None or math.isnan(interval.estimate):
        return "–"
    return f"{100 * interval.estimate:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
