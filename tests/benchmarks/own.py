"""A person's own documents: six collections of real files, with questions as users type them.

    python -m tests.benchmarks.own [MODEL …] [--limit N] [--data DIR] [--work DIR]

This is the measure of every change to what is asked, read or answered. Rows hold ids, outcomes and counts
and no passages; they lie beside the tables. A finished question is not asked again: an empty work folder
measures the present code.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from policy.evaluation.evaluating import Row, Rows
from policy.evaluation.systems import GUESS, LEAN
from tests.benchmarks.table import RESULTS, markdown_table, write_rows
from tests.conftest import DATA
from tui.failures import EXIT_CODES
from tui.policy.evaluating import run

SYSTEMS = (GUESS, LEAN)
_TIMES = {"the first look": "first_look", "first words": "first_words", "the end": "seconds"}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.own", description=__doc__)
    parser.add_argument("models", nargs="*", default=["qwen2.5-coder-1.5b"])
    parser.add_argument("--limit", type=int, help="questions of each collection, by a fixed shuffle")
    parser.add_argument("--data", type=Path, default=DATA / "own", help="where the collections are")
    parser.add_argument("--work", type=Path, default=Path("build/own"), help="kept between runs")
    parser.add_argument("--name", default="own", help="of the files of results")
    options = parser.parse_args()
    work: Path = options.work
    tables = RESULTS / f"{options.name}.md"
    sets, systems = [str(options.data)], ",".join(SYSTEMS)
    code = run(sets, systems, options.models, options.limit, work=work, out=tables)
    if code == EXIT_CODES["cancelled"]:
        raise SystemExit(code)
    rows = sorted(Rows(work / "rows.jsonl").all(), key=lambda row: row.key)
    write_rows(RESULTS / f"{options.name}.rows.jsonl", rows)
    with tables.open("a", encoding="utf-8") as stream:
        stream.write(f"\n{times(rows)}")
    raise SystemExit(code)


def times(rows: Sequence[Row]) -> str:
    """Median seconds of each system's answers."""
    head = ["model", "system", "questions", *(f"median s to {what}" for what in _TIMES)]
    lines: list[list[str]] = []
    for model, system in sorted({(row.model, row.system) for row in rows}):
        own = [row.measures for row in rows if (row.model, row.system) == (model, system)]
        seconds = [_median([one[time] for one in own if time in one]) for time in _TIMES.values()]
        lines.append([model, system, str(len(own)), *seconds])
    return f"## Seconds\n\n{markdown_table(head, lines)}"


def _median(seconds: Sequence[float]) -> str:
    return f"{median(seconds):.1f}" if seconds else ""


if __name__ == "__main__":
    main()
