"""The protocol's results as Markdown to read and as JSON to compute with."""

from __future__ import annotations

import json
import math
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from policy.evaluation.bars import bars, percent
from policy.evaluation.bootstrap import Interval
from policy.evaluation.protocol import Results, Scope
from policy.evaluation.rows import Row

_PACKAGES = ("numpy", "torch", "transformers", "trl", "peft", "sentence-transformers", "llama-cpp-python")
_VERDICT = {None: "", True: "met", False: "**missed**"}
_COMPARED = ("policy", "threshold", "untrained", "judge")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """How results came about.

    Attributes:
        command: That made them.
        date: ISO day.
        machine: Cores, architecture, system, Python.
        versions: By package.
        notes: What else a reader has to know: data, seeds, what was chosen where.
    """

    command: str
    date: str
    machine: str
    versions: Mapping[str, str]
    notes: Sequence[str] = ()


def circumstances(command: str, notes: Sequence[str] = ()) -> Circumstances:
    """Here and now."""
    versions: dict[str, str] = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue  # an optional one; what was not installed was not used
    machine = (
        f"{os.cpu_count()} cores ({platform.machine()}, {platform.system()}), "
        f"Python {sys.version.split()[0]}"
    )
    return Circumstances(command, f"{datetime.now(UTC):%Y-%m-%d}", machine, versions, notes)


def keep(results: Results, favoured: Sequence[str], came: Circumstances, file: Path) -> None:
    """Write the Markdown to ``file``, and the JSON beside it.

    Args:
        results: Of the protocol.
        favoured: Policies for which every bar is told.
        came: How the results came about.
        file: Ends in ``.md``.

    Raises:
        KeyError: there is no policy of a favoured name.
    """
    file.write_text(markdown(results, favoured, came), "utf-8")
    file.with_suffix(".json").write_text(to_json(results, came), "utf-8")


def to_json(results: Results, came: Circumstances) -> str:
    """Everything there is; NaN is null."""
    whole = {"circumstances": asdict(came), **asdict(results)}
    return json_text(whole)


def json_text(value: Any) -> str:
    """A file of JSON: six digits, and null for what is no finite number."""
    return json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, 6) if math.isfinite(value) else None
    return value


def markdown(results: Results, favoured: Sequence[str], came: Circumstances) -> str:
    """The tables, the same lines for the same results."""
    settings = results.settings
    lines = ["# Policies by the protocol", ""]
    for name in favoured:
        lines += [f"## Bars: {name}", ""]
        told = [[bar.what, bar.result, _VERDICT[bar.met]] for bar in bars(results, name)]
        lines += [*_table(["bar", "measured", ""], told), ""]
    for scope in results.scopes:
        lines += _scope(scope, settings.cost)
    for scope in results.left_out:
        lines += _scope(scope, settings.cost, "trained without it")
    lines += [
        "## How to read this",
        "",
        f"- Brackets are 95 % percentile intervals of a paired bootstrap over questions "
        f"({settings.resamples} resamples, seed {settings.seed}).",
        "- The frontier of schedules is the upper concave hull of (mean steps, mean quality) of the best "
        "schedule over CONTINUE and REVISE of each length, chosen on training questions; it goes on flat "
        "to the right. ≥ marks a saving that is a lower bound: the schedules do not reach the quality.",
        "- Headroom: the share of what a clairvoyant gains over the schedules, in quality at equal steps, "
        f"in steps at equal quality, and in utility at {settings.cost:g} a step.",
        "- Too early: a state further on has more utility. Too long: an earlier state of its own path had "
        "no less. First stop: share of the voluntary stops that held all the evidence.",
        "- Thresholds were frozen on validation questions; only a judge's best threshold is picked in "
        "hindsight, in its favour.",
        *(f"- {note}" for note in came.notes),
        f"- `{came.command}` on {came.date}; {came.machine}, "
        + ", ".join(f"{package} {number}" for package, number in came.versions.items())
        + ".",
        "",
    ]
    return "\n".join(lines)


def _scope(scope: Scope, cost: float, how: str = "") -> list[str]:
    title = f"## {scope.name}" + (f", {how}" if how else "")
    whole = "" if scope.whole == scope.questions else f", {scope.whole} of them with every path"
    compared = [row for row in scope.rows if row.kind in _COMPARED and row.standing is not None]
    return [
        title,
        "",
        f"{scope.questions} test questions{whole}; schedules chosen on {scope.trained}.",
        "",
        *_table(
            ["policy", *_COLUMNS], [[row.name, *(f(row) for f in _COLUMNS.values())] for row in scope.rows]
        ),
        "",
        "Against the frontier of schedules:",
        "",
        *_table(
            ["policy", *_AGAINST], [[row.name, *(f(row) for f in _AGAINST.values())] for row in compared]
        ),
        "",
        f"Utility at {cost:g} a step, less that of:",
        "",
        *_differences(compared),
        *_judged(scope),
        "",
    ]


def _mean(measure: str, digits: int = 3) -> Callable[[Row], str]:
    def told(row: Row) -> str:
        found = row.measures.get(measure)
        return "" if found is None else f"{found.estimate:.{digits}f}"

    return told


def _quality(row: Row) -> str:
    found = row.measures.get("quality")
    return "–" if found is None else f"{found.estimate:.3f} [{found.low:.3f}, {found.high:.3f}]"


def _utility(row: Row) -> str:
    return " / ".join(_number(value) for value in row.utility.values())


def _questions(row: Row) -> str:
    return f"{row.questions}" + (f" (+{row.unknown} not known)" if row.unknown else "")


_COLUMNS: Mapping[str, Callable[[Row], str]] = {
    "questions": _questions,
    "quality": _quality,
    "complete": _mean("complete"),
    "recall": _mean("recall"),
    "F1": _mean("f1"),
    "EM": _mean("em"),
    "steps": _mean("steps", 2),
    "tokens": _mean("tokens", 0),
    "utility at 0 / 0.01 / 0.02 / 0.05 / 0.1": _utility,
    "ms": lambda row: _number(row.milliseconds, 1),
    "too early": lambda row: _number(row.premature, 2),
    "too long": lambda row: _number(row.oversearched, 2),
    "first stop": lambda row: _number(row.first_stop, 2),
    "ECE": lambda row: "" if row.calibration is None else _number(row.calibration.ece),
    "Brier": lambda row: "" if row.calibration is None else _number(row.calibration.brier),
}


def _saving(row: Row) -> str:
    if row.standing is None:
        return ""
    found = row.standing.schedules
    return ("≥ " if found.reached < 0.5 and not math.isnan(found.saving.estimate) else "") + percent(
        found.saving
    )


_AGAINST: Mapping[str, Callable[[Row], str]] = {
    "quality at equal steps": lambda row: (
        "" if row.standing is None else _told(row.standing.schedules.gain)
    ),
    "complete at equal steps": lambda row: (
        "" if row.standing is None else _told(row.standing.complete.gain)
    ),
    "steps saved at equal quality": _saving,
    "headroom: quality": lambda row: "" if row.standing is None else percent(row.standing.headroom.quality),
    "headroom: steps": lambda row: "" if row.standing is None else percent(row.standing.headroom.steps),
    "headroom: utility": lambda row: "" if row.standing is None else percent(row.standing.headroom.utility),
}


def _differences(rows: Sequence[Row]) -> list[str]:
    names = list(dict.fromkeys(name for row in rows if row.standing for name in row.standing.utility))
    return _table(
        ["policy", *names],
        [
            [
                row.name,
                *(_told(row.standing.utility[n]) if n in row.standing.utility else "" for n in names),
            ]
            for row in rows
            if row.standing is not None
        ],
    )


def _judged(scope: Scope) -> list[str]:
    rows = [
        [
            row.name,
            against.judge,
            _told(against.quality),
            _told(against.complete),
            _told(against.steps),
            _told(against.swept.gain),
            _number(against.times_faster, 0),
        ]
        for row in scope.rows
        for against in row.judges
    ]
    head = [
        "policy",
        "judge",
        "quality",
        "complete",
        "steps",
        "quality against the judge swept",
        "times faster",
    ]
    return ["", "Against a judge, at no more steps than its own:", "", *_table(head, rows)] if rows else []


def _told(found: Interval) -> str:
    return "–" if math.isnan(found.estimate) else str(found)


def _number(value: float, digits: int = 3) -> str:
    return "" if math.isnan(value) else f"{value:.{digits}f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """A Markdown table, without the columns that are empty in every row."""
    kept = [i for i in range(len(head)) if i == 0 or any(row[i] for row in rows)]
    return [
        "| " + " | ".join(head[i] for i in kept) + " |",
        "| " + " | ".join("---" for _ in kept) + " |",
        *("| " + " | ".join(row[i] for i in kept) + " |" for row in rows),
    ]
