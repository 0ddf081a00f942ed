"""Whole systems on the dev files, for hours if need be: on from the committed rows, and back into them.

    python -m tests.benchmarks.evaluation [MODEL …] [--data DIR] [--work DIR]

Rows hold ids, outcomes and counts and no passages. They lie beside the tables, so another machine goes on
where this one stopped. Everything that is told of them, the README's table too, is made from them.
"""

from __future__ import annotations

import argparse
import math
import shutil
from collections.abc import Iterable
from pathlib import Path

from policy.systems.bars import points
from policy.systems.rows import Row, Rows
from policy.systems.summary import (
    CLOSED_BOOK,
    CRAG,
    JUDGE,
    LEARNED,
    ORACLE,
    SEARCH,
    SEED_SYSTEM,
    SHALLOW,
    Scope,
    Standing,
    Summary,
    multihop,
    summarise,
)
from tests.benchmarks.table import RESULTS
from tests.conftest import DATA
from tui.evaluating import Wanted, run_evaluation

README = Path(__file__).parents[2] / "README.md"
ROWS = RESULTS / "evaluation.rows.jsonl"
TABLES = RESULTS / "evaluation.md"
SETS = ("hotpotqa_dev", "2wikimultihopqa_dev", "musique_dev")
_SLOW = {SEED_SYSTEM: 10, JUDGE: 10}
ASKED = {"qwen2.5-coder-1.5b": (40, _SLOW), "qwen2.5-coder-0.5b": (100, _SLOW)}
"""Questions of each set by the model, and of the systems that take too long for all of them."""

_BEGIN, _END = "<!-- evaluation: made by tests.benchmarks.evaluation -->", "<!-- /evaluation -->"
_WHERE = (
    "On the dev files, all paragraphs of a file in one library. Everything else, where answers were lost,\n"
    "what was cited, every difference with its interval and the bars that were missed, is in\n"
    "[`tests/benchmarks/results/evaluation.md`](tests/benchmarks/results/evaluation.md)."
)
_TOLD = (CLOSED_BOOK, SHALLOW, SEARCH, CRAG, SEED_SYSTEM, LEARNED, ORACLE)


def main() -> None:
    """Go on with the models that are named, one after the other, until all is done or it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.evaluation", description=__doc__)
    parser.add_argument("models", nargs="*", choices=[*ASKED, []], help="default: all")
    parser.add_argument("--data", type=Path, default=DATA / "multihop", help="where the dev files are")
    parser.add_argument("--work", type=Path, default=Path("build/evaluation"), help="kept between runs")
    told = parser.parse_args()
    work: Path = told.work
    work.mkdir(parents=True, exist_ok=True)
    if ROWS.exists() and not (work / "rows.jsonl").exists():
        shutil.copy(ROWS, work / "rows.jsonl")
    files = tuple(str(told.data / f"{name}.jsonl") for name in SETS)
    for model in told.models or ASKED:
        limit, few = ASKED[model]
        try:
            code = run_evaluation(Wanted(files, (), (model,), limit, few, 0, work, TABLES))
        finally:
            keep(work / "rows.jsonl")
        if code:
            raise SystemExit(code)


def keep(rows: Path) -> None:
    """Put the rows beside the tables, and what they say into the README."""
    if not rows.exists():
        return
    found = sorted(Rows(rows).all(), key=lambda row: row.key)
    ROWS.unlink(missing_ok=True)
    kept = Rows(ROWS)
    for row in found:
        kept.add(row)
    text = README.read_text("utf-8")
    README.write_text(with_digest(text, found), "utf-8")


def with_digest(readme: str, rows: Iterable[Row]) -> str:
    """The README with what the rows say between its two marks."""
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{digest(summarise(rows))}\n{_END}{after}"


def digest(summary: Summary) -> str:
    """A table for each model: F1 on each set, and what an answer takes on all of them."""
    if not summary.models:
        return "No rows are committed yet: `make evaluation` makes them, and the table that stands here."
    return "\n\n".join([*(_of_model(summary, model) for model in summary.models), _WHERE])


def _of_model(summary: Summary, model: str) -> str:
    mine = [scope for scope in summary.scopes if scope.model == model]
    sets = multihop(scope.name for scope in mine)
    single = [scope for scope in mine if scope.name in sets]
    pooled = next(scope for scope in mine if scope.sets == sets)
    head = [
        "system",
        *(f"F1 {name.removesuffix('_dev')}" for name in sets),
        "steps",
        "tokens read",
        "seconds",
    ]
    lines = [
        f"{model.partition(':')[2] or model}, F1 in points (questions)",
        "",
        f"| {' | '.join(head)} |",
        f"| --- |{' --: |' * (len(head) - 1)}",
    ]
    for name in _TOLD:
        cost = _standing(pooled, name)
        if cost is not None:
            cells = [_f1(_standing(scope, name)) for scope in single]
            cells += [_mean(cost, "steps", 1), _mean(cost, "evaluated", 0), _mean(cost, "seconds", 0)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    leads = [
        f"{points(pair.differences['f1'])} over {name}"
        for name in (SHALLOW, SEARCH, SEED_SYSTEM, ORACLE)
        if (pair := pooled.pair(LEARNED, name))
    ]
    return "\n".join(
        [*lines, "", f"`{LEARNED}` on all of them: {', '.join(leads)} (95 % intervals, F1 points)."]
    )


def _standing(scope: Scope, system: str) -> Standing | None:
    return next((one for one in scope.systems if one.system == system), None)


def _f1(standing: Standing | None) -> str:
    if standing is None:
        return "–"
    return f"{100 * standing.measures['f1'].estimate:.1f} ({standing.questions})"


def _mean(standing: Standing, name: str, digits: int) -> str:
    found = standing.measures.get(name)
    return "–" if found is None or math.isnan(found.estimate) else f"{found.estimate:,.{digits}f}"


if __name__ == "__main__":
    main()
