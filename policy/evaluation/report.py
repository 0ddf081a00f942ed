"""The summary as tables, and these as Markdown."""

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
    """How results were made: command, ISO day, machine, and what else a reader has to know."""

    command: str
    date: str
    machine: str
    notes: Sequence[str] = ()


def circumstances(command: str, notes: Sequence[str] = ()) -> Circumstances:
    """Here and now."""
    python = sys.version.split()[0]
    machine = f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}), Python {python}"
    return Circumstances(command, f"{datetime.now(UTC):%Y-%m-%d}", machine, notes)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of words: the first column holds names, the others numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


def markdown(scopes: Sequence[Scope], came: Circumstances) -> str:
    """The tables, the same lines for the same scopes and circumstances."""
    lines = ["# Whole systems on the same questions", ""]
    for scope in scopes:
        lines += [f"## {scope.name}, {scope.model}", ""]
        for table in tables(scope):
            lines += markdown_table(table)
    lines += ["## How to read this", "", *(f"- {line}" for line in (*_READING, *came.notes)), ""]
    facts = {"Command": came.command, "Date": came.date, "Machine": came.machine}
    lines += ["## How it was made", "", *(f"- {name}: {value}" for name, value in facts.items()), ""]
    return "\n".join(lines)


def markdown_table(table: Table) -> list[str]:
    """Its lines in Markdown."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    rule = ["---", *["--:"] * (len(table.head) - 1)]
    return [f"### {table.title}", "", line(table.head), line(rule), *map(line, table.rows), ""]


def tables(scope: Scope) -> list[Table]:
    """Answers, evidence, cost, where wrong answers were lost, and each system against each baseline."""
    of_kind = "right_"  # begins the name of a measure of the questions of one kind
    names = {name for one in scope.systems for name in one.measures if name.startswith(of_kind)}
    kinds = [(name.removeprefix(of_kind), name, 100.0, 1) for name in sorted(names)]
    groups = {
        "Answers": _ANSWERS,
        "Right, by kind of question": kinds,
        "Evidence": _EVIDENCE,
        "Cost": _COST,
    }
    made = [_by_system(title, columns, scope.systems) for title, columns in groups.items()]
    made.append(_losses(scope.systems))
    for baseline in dict.fromkeys(pair.baseline for pair in scope.against):
        pairs = [_pair(pair) for pair in scope.against if pair.baseline == baseline]
        head = ["system", "questions", "right", "right where both answer", "steps", "seconds"]
        made.append(Table(f"Compared with {baseline}", [*head, "tokens evaluated"], pairs))
    return [table for table in made if len(table.head) > 2]


def _by_system(title: str, columns: Sequence[_Column], systems: Sequence[Standing]) -> Table:
    """A row a system, without the columns that are empty in every row."""
    cells = {
        heading: [
            _mean(one.measures.get(name), factor, digits, wide=name in _WITH_INTERVAL) for one in systems
        ]
        for heading, name, factor, digits in columns
    }
    kept = {heading: column for heading, column in cells.items() if any(column)}
    rows = [
        [one.system, str(one.questions), *(column[i] for column in kept.values())]
        for i, one in enumerate(systems)
    ]
    return Table(title, ["system", "questions", *kept], rows)


def _losses(systems: Sequence[Standing]) -> Table:
    rows = [
        [
            one.system,
            str(one.questions),
            str(sum(one.lost.values())),
            *(str(one.lost.get(s, 0)) for s in STAGES),
        ]
        for one in systems
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
    """A difference of shares in hundredths: ``+12.3 [+4.0, +20.1]``; "–" where it is not known."""
    if interval is None or math.isnan(interval.estimate):
        return "–"
    return f"{100 * interval.estimate:+.1f} [{100 * interval.low:+.1f}, {100 * interval.high:+.1f}]"
