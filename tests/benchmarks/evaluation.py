"""Whole systems on the dev files, for hours if need be: on from the committed rows, and back into them.

    python -m tests.benchmarks.evaluation [MODEL …] [--data DIR] [--work DIR]

Rows hold ids, outcomes and counts and no passages. They lie beside the tables, so another machine goes on
where this one stopped; what is to be asked anew is removed from there. Everything that is told of them, the
table of BENCHMARKS.md too, is made from them.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from policy.evaluation.report import points
from policy.evaluation.rows import Row, Rows, write
from policy.evaluation.summary import (
    CLOSED_BOOK,
    CRAG,
    GUESS,
    SEARCH,
    SEED_SYSTEM,
    SHALLOW,
    Against,
    Scope,
    Standing,
    Summary,
    multihop,
    summarise,
)
from tests.benchmarks.table import RESULTS
from tests.conftest import DATA
from tui.policy.evaluating import Wanted, run_evaluation, show_tables

PAGE = Path(__file__).parents[2] / "BENCHMARKS.md"
ROWS = RESULTS / "evaluation.rows.jsonl"
TABLES = RESULTS / "evaluation.md"
SETS = ("hotpotqa_dev", "2wikimultihopqa_dev", "musique_dev")
_SLOW = {SEED_SYSTEM: 10}
ASKED = {"qwen2.5-coder-1.5b": (40, _SLOW), "qwen2.5-coder-0.5b": (100, _SLOW)}
"""Questions of each set by the model, and of the systems that take too long for all of them."""

RULES, PLAN_DONE, LEARNED, ORACLE = "lean rules", "lean plan done", "lean learned", "oracle"
"""Stopping rules, of which the committed rows of an earlier version tell."""

_BEGIN, _END = "<!-- evaluation: made by tests.benchmarks.evaluation -->", "<!-- /evaluation -->"
_WHERE = (
    "On the dev files, all paragraphs of a file in one library; a question that a system finds nothing\n"
    "for counts as wrong. `search-and-guess` is `search-and-answer` without leave to find nothing; the\n"
    "`oracle` stops when the gold evidence is complete. Rows may be of several machines, each as fast as\n"
    "it is: tokens do not depend on that, seconds do. Where answers were lost, what was cited, the\n"
    "differences with their intervals are in\n"
    "[`tests/benchmarks/results/evaluation.md`](tests/benchmarks/results/evaluation.md)."
)
_TOLD = (CLOSED_BOOK, SHALLOW, SEARCH, GUESS, CRAG, RULES, PLAN_DONE, LEARNED, ORACLE)
_BESIDE_SEED = (SEARCH, GUESS, SEED_SYSTEM, LEARNED)
_RIVALS = (SHALLOW, SEARCH, GUESS, SEED_SYSTEM, RULES, ORACLE)


def main() -> None:
    """Go on with the models that are named, one after the other, until all is done or it is stopped."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.evaluation", description=__doc__)
    parser.add_argument("models", nargs="*", choices=[*ASKED, []], help="default: all")
    parser.add_argument("--data", type=Path, default=DATA / "multihop", help="where the dev files are")
    parser.add_argument("--work", type=Path, default=Path("build/evaluation"), help="kept between runs")
    told = parser.parse_args()
    work: Path = told.work
    merge(ROWS, work / "rows.jsonl")
    files = tuple(str(told.data / f"{name}.jsonl") for name in SETS)
    for model in told.models or ASKED:
        limit, few = ASKED[model]
        wanted = Wanted(files, (), (model,), limit, few, 0, work, None)
        try:
            code = run_evaluation(wanted)
        finally:
            keep(work / "rows.jsonl")
            show_tables(work, wanted.command, TABLES)
        if code:
            raise SystemExit(code)


def merge(committed: Path, work: Path) -> None:
    """Bring the committed rows into a work folder's, where a row of its own stands for the same."""
    have = Rows(work)
    for row in Rows(committed).all():
        if have.get(row.key) is None:
            have.add(row)


def keep(rows: Path) -> None:
    """Put the rows beside the tables, and what they say into the PAGE."""
    found = sorted(Rows(rows).all(), key=lambda row: row.key)
    if not found:
        return
    write(ROWS, map(asdict, found))
    text = PAGE.read_text("utf-8")
    PAGE.write_text(with_digest(text, found), "utf-8")


def with_digest(readme: str, rows: Iterable[Row]) -> str:
    """BENCHMARKS.md with what the rows say between its two marks."""
    before, _, rest = readme.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}\n{digest(list(rows))}\n{_END}{after}"


def digest(rows: Sequence[Row]) -> str:
    """Two tables for each model: F1 on each set and what an answer takes; the second beside the seed.

    The seed is asked fewer questions: a mean of its seconds stands only beside means of the same questions.
    """
    summary = summarise(rows, _RIVALS)
    if not summary.models:
        return "No rows are committed yet: `make evaluation` makes them, and the table that stands here."
    asked = {(row.model, row.questions, row.question) for row in rows if row.system == SEED_SYSTEM}
    beside = summarise(row for row in rows if (row.model, row.questions, row.question) in asked)
    told: list[str] = []
    for model in sorted(summary.models, key=_place):
        told += [_table(summary, model, _TOLD, "F1 in points (questions)"), _leads(summary, model)]
        if model in beside.models:
            told.append(_table(beside, model, _BESIDE_SEED, f"the questions that {SEED_SYSTEM} was asked"))
    return "\n\n".join([*told, _WHERE])


def _place(model: str) -> int:
    """Where a model is told of: as in `ASKED`, the product's default first, and any other after those."""
    names = [*ASKED]
    bare = _bare(model)
    return names.index(bare) if bare in names else len(names)


def _bare(model: str) -> str:
    return model.partition(":")[2] or model


def _table(summary: Summary, model: str, systems: Sequence[str], title: str) -> str:
    pooled = _pooled(summary, model)
    sets = pooled.sets
    single = [scope for scope in summary.scopes if scope.model == model and scope.name in sets]
    head = [
        "system",
        *(f"F1 {name.removesuffix('_dev')}" for name in sets),
        "steps",
        "tokens read",
        "seconds",
    ]
    lines = [
        f"{_bare(model)}, {title}",
        "",
        f"| {' | '.join(head)} |",
        f"| --- |{' --: |' * (len(head) - 1)}",
    ]
    for name in systems:
        cost = _standing(pooled, name)
        if cost is not None:
            cells = [_f1(_standing(scope, name)) for scope in single]
            cells += [_mean(cost, "steps", 1), _mean(cost, "evaluated", 0), _mean(cost, "seconds", 0)]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _leads(summary: Summary, model: str) -> str:
    """What the learned policy is ahead by, with the number of questions that both have."""
    pooled = _pooled(summary, model)
    pairs = [pair for name in _RIVALS if (pair := pooled.pair(LEARNED, name))]
    told = [
        f"- {points(pair.differences['f1'])} to `{pair.baseline}` on {pair.questions} questions; "
        f"{_of_answered(pair)}"
        for pair in pairs
    ]
    title = f"`{LEARNED}` in F1 points, on all sets (95 % intervals):"
    return "\n".join([title, "", *told])


def _of_answered(pair: Against) -> str:
    """The difference in F1 on the questions that both answer, in words."""
    count = pair.answered.questions
    return f"{points(pair.answered)} on the {count} that both answer" if count else "none that both answer"


def _pooled(summary: Summary, model: str) -> Scope:
    mine = [scope for scope in summary.scopes if scope.model == model]
    sets = multihop(scope.name for scope in mine)
    return next(scope for scope in mine if scope.sets == sets)


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
