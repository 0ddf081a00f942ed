"""Make and measure the boxed planner: ``make DATA …`` and ``evaluate DATA`` after the module's name."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models.boxed_planner.planner import BASE, SHIPPED, BoxedPlanner
from models.library_loading import forbid_hubs
from policy.training.adapters import export, open_base
from policy.training.plan_fitting import fit
from tests.benchmarks.planner.data import examples, natural
from tests.benchmarks.planner.evaluation import figures, table, written
from tests.benchmarks.table import keep_figures, refilled
from traces.paths import models_dir

_TITLE = "The boxed planner on natural questions kept out of its training"
_CARD = "README.md"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.planner", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="train, export and measure a planner")
    evaluating = commands.add_parser("evaluate", help="measure a planner and write its card")
    for command in (making, evaluating):
        command.add_argument("data", type=Path, help="folder of the data to read")
        command.add_argument("--base", type=Path, default=BASE.location(models_dir()))
        command.add_argument("--results", type=Path, help="folder for planner.json and planner.md")
    making.add_argument("--multihop", type=Path, required=True, help="folder of the multi-hop files")
    making.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    making.add_argument("--out", type=Path, default=SHIPPED, help="where the adapter goes")
    evaluating.add_argument("--adapter", type=Path, default=SHIPPED)
    given = parser.parse_args()
    forbid_hubs()
    adapter = given.adapter if given.command == "evaluate" else given.out
    if given.command == "make":
        rows = examples(given.data, given.multihop)
        base = open_base(given.base)
        trained = fit([(row.request, row.plan) for row in rows], base, given.work)
        export(trained, given.base, given.out)
    measured = figures(
        written(BoxedPlanner(given.base, adapter), natural(given.data / "plans", held_out=True))
    )
    card = refilled((SHIPPED.parent / _CARD).read_text(encoding="utf-8"), "figures", table(measured))
    (adapter.parent / _CARD).write_text(card, encoding="utf-8")
    if given.results:
        keep_figures(given.results, "planner", _TITLE, measured, table(measured))
    sys.stdout.write(table(measured))


if __name__ == "__main__":
    main()
