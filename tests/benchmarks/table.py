"""A table of measurements: printed, and kept as Markdown with how it came about."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from policy.evaluation import evaluating
from policy.evaluation.report import machine

RESULTS = Path(__file__).parent / "results"
_PACKAGES = "duckdb llama-cpp-python langgraph sentence-transformers torch rank-bm25 textual".split()


@dataclass(frozen=True)
class Row:
    """One measurement; ``met`` is None where no bar was set."""

    what: str
    result: str
    bar: str = ""
    met: bool | None = None

    @classmethod
    def at_most(cls, what: str, value: float, shape: str, bar: float | None) -> Row:
        """A value, written in a shape such as ``{:.1f} s``, that should not be above the bar, if any."""
        if bar is None:
            return cls(what, shape.format(value))
        return cls(what, shape.format(value), shape.format(bar), met=value <= bar)


@dataclass(frozen=True)
class Table:
    """The measurements of one benchmark, kept in a file of its name, with notes on how to read them."""

    name: str
    title: str
    rows: list[Row]
    notes: list[str] = field(default_factory=list)
    command: str = ""

    def markdown(self) -> str:
        """The table with machine, versions, command and date."""
        verdicts = {None: "", True: "met", False: "**missed**"}
        cells = [[row.what, row.result, row.bar, verdicts[row.met]] for row in self.rows]
        circumstances = _circumstances(self.command or f"python -m tests.benchmarks {self.name}")
        notes = [f"- {note}\n" for note in (*self.notes, circumstances)]
        return "".join(
            [f"# {self.title}\n\n", markdown_table(["what", "result", "bar", ""], cells), "\n", *notes]
        )

    def keep(self) -> Path:
        RESULTS.mkdir(exist_ok=True)
        path = RESULTS / f"{self.name}.md"
        path.write_text(self.markdown(), "utf-8")
        return path


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table whose first column has names and whose others have numbers."""
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _circumstances(command: str) -> str:
    packages = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return f"`{command}` on {datetime.now(UTC):%Y-%m-%d}; {machine()}, {packages}."


def write_rows(file: Path, rows: Iterable[evaluating.Row]) -> None:
    """Write an evaluation's rows without the words of the answers; the file is replaced as a whole."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8") as out:
        for row in rows:
            out.write(json.dumps(asdict(replace(row, answer="")), ensure_ascii=False) + "\n")
    part.replace(file)


def keep_figures(folder: Path, name: str, title: str, figures: Mapping[str, Any], table: str) -> None:
    """Write the figures to ``NAME.json`` in a folder, and their table to ``NAME.md``."""
    (folder / f"{name}.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    (folder / f"{name}.md").write_text(f"# {title}\n\n{table}", encoding="utf-8")


def refilled(page: str, name: str, part: str) -> str:
    """A page with ``part`` between its marks ``<!-- NAME… -->`` and ``<!-- /NAME -->``."""
    marks = re.compile(rf"(<!-- {name}\b.*?-->\n).*?(\n<!-- /{name} -->)", re.DOTALL)
    (found,) = marks.finditer(page)
    return f"{page[: found.end(1)]}{part.strip()}{page[found.start(2) :]}"
