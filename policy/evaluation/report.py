"""The summary as tables, and the tables as Markdown."""

from __future__ import annotations

import math
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from policy.evaluation.measures import STAGES
from policy.evaluation.summary import Against, Scope, Standing
from policy.evaluation.systems import GUESS, SEARCH
from policy.judging.bootstrap import Interval

_Column = tuple[str, str, float, int]  # heading, measure, factor, digits

_ANSWERS: Final[Sequence[_Column]] = (
    ("right", "right", 100, 1),
    ("wrong", "wrong", 100, 1),
    ("wrong, shown as supported", "wrong_supported", 100, 1),
    ("flagged", "flagged", 100, 1),
    ("refused, though answerable", "refused_wrongly", 100, 1),
    ("unanswerable refused", "refused_rightly", 100, 1),
    ("first words, s", "first_words", 1, 1),
)
_EVIDENCE: Final[Sequence[_Column]] = (
    ("recalled", "recalled", 100, 1),
    ("held recall", "recall", 100, 1),
    ("held precision", "precision", 100, 1),
    ("noted", "noted", 100, 1),
    ("cited recall", "citation_recall", 100, 1),
    ("cited precision", "citation_precision", 100, 1),
)
_COST: Final[Sequence[_Column]] = (
    ("steps", "steps", 1, 2),
    ("model calls", "calls", 1, 1),
    ("tokens evaluated", "evaluated", 1, 0),
    ("reused", "reused", 1, 0),
    ("generated", "generated", 1, 0),
    ("seconds", "seconds", 1, 1),
)
_WITH_INTERVAL: Final = frozenset({"right", "wrong_supported", "refused_rightly", "recall", "seconds"})

_READING: Final = (
    "Shares are in hundredths. An answer is right if it states a gold answer and no wrong value, or "
    "matches the patterns of its question. Brackets are 95 % percentile intervals of a bootstrap over "
    "questions.",
    "Each system is measured on the questions that it has answered; differences are paired, on those that "
    "both have. Rows may be of several machines: tokens do not depend on that, seconds do.",
    "Held and cited are passages against gold passages; recalled and noted are the shares of the gold "
    "passages among a run's search results, and cited by its findings.",
    f"{SEARCH} may write that nothing was found; {GUESS} is the same without that leave.",
    "A wrong answer is counted at the first stage after which it could no longer be right.",
)


@dataclass(frozen=True, slots=True)
class Circumstances:
    """The circumstances of the results: command, ISO day, machine, and notes for the reader."""

    command: str
    date: str
    machine: str
    notes: Sequence[str] = ()


def circumstances(command: str, notes: Sequence[str] = ()) -> Circumstances:
    """The current day and machine."""
    python = sys.version.split()[0]
    machine = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}), Python {python}"
    return Circumstances(command, f"{datetime.now(UTC):%Y-%m-%d}", machine, notes)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of text: the first column holds names, the others numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def markdown(scopes: Sequence[Scope], conditions: Circumstances) -> str:
    """The report; deterministic for its arguments."""
    lines = ["# Whole systems on the same questions", ""]
    for scope in scopes:
        lines += [f"## {scope.name}, {scope.model}", ""]
        for table in tables(scope):
            lines += markdown_table(table)
    lines += ["## How to read this", "", *(f"- {line}" for line in (*_READING, *conditions.notes)), ""]
    facts = {"Command": conditions.command, "Date": conditions.date, "Machine": conditions.machine}
    lines += ["## How it was made", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
    return "\n".join(lines)


def markdown_table(table: Table) -> list[str]:
    """The lines of ``table`` in Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rule = ["---", *["--:"] * (len(table.head) - 1)]
    return [f"### {table.title}", "", line(table.head), line(rule), *map(line, table.rows), ""]


def tables(scope: Scope) -> list[Table]:
    """Answers, evidence, cost, losses by stage, and each system against each baseline."""
    prefix = "right_"  # prefix of the measures by kind of question
    names = {name for standing in scope.systems for name in standing.measures if name.startswith(prefix)}
    kinds = [(name.removeprefix(prefix), name, 100.0, 1) for name in sorted(names)]
    groups = {
        "Answers": _ANSWERS,
        "Right, by kind of question": kinds,
        "Evidence": _EVIDENCE,
        "Cost": _COST,
    }
    results = [_by_system(title, columns, scope.systems) for title, columns in groups.items()]
    results.append(_losses(scope.systems))
    for baseline in dict.fromkeys(pair.baseline for pair in scope.against):
        pairs = [_pair(pair) for pair in scope.against if pair.baseline == baseline]
        head = ["system", "questions", "right", "right where both answer", "steps", "seconds"]
        results.append(Table(f"Compared with {baseline}", [*head, "tokens evaluated"], pairs))
    return [table for table in results if len(table.head) > 2]


def _by_system(title: str, columns: Sequence[_Column], systems: Sequence[Standing]) -> Table:
    """A row per system, without columns that are empty in every row."""
    cells = {
        heading: [
            _mean(standing.measures.get(name), factor, digits, wide=name in _WITH_INTERVAL)
            for standing in systems
        ]
        for heading, name, factor, digits in columns
    }
    nonempty = {heading: column for heading, column in cells.items() if any(column)}
    rows = [
        [standing.system, str(standing.questions), *(column[i] for column in nonempty.values())]
        for i, standing in enumerate(systems)
    ]
    return Table(title, ["system", "questions", *nonempty], rows)


def _losses(systems: Sequence[Standing]) -> Table:
    rows = [
        [
            standing.system,
            str(standing.questions),
            str(sum(standing.lost.values())),
            *(str(standing.lost.get(stage, 0)) for stage in STAGES),
        ]
        for standing in systems
    ]
    return Table("Where wrong answers were lost", ["system", "questions", "wrong", *STAGES], rows)


def _pair(pair: Against) -> list[str]:
    gains = pair.differences
    counts = (("steps", 2), ("seconds", 1), ("evaluated", 0))
    return [
        pair.system,
        str(pair.questions),
        points(gains.get("right")),
        points(pair.answered.get("right")),
        *(_mean(gains.get(name), 1, digits, wide=True) for name, digits in counts),
    ]


def _mean(interval: Interval | None, factor: float, digits: int, *, wide: bool) -> str:
    if interval is None or math.isnan(interval.estimate):
        return ""
    estimate, low, high = (
        f"{factor * value:,.{digits}f}" for value in (interval.estimate, interval.low, interval.high)
    )
    return f"{estimate} [{low}, {high}]" if wide else estimate


def points(interval: Interval | None) -> str:
    """A difference of shares in percentage points: ``+12.3 [+4.0, +20.1]``; "–" if unknown."""
    if interval is None or math.isnan(interval.estimate):
        return "–"
    return f"{100 * interval.estimate:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
