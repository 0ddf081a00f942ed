"""Make and measure the boxed reader: ``make DATA …`` and ``evaluate DATA …`` after the module's name."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from models.boxed_reader import SHIPPED, BoxedReader
from models.catalogue import MS_MARCO_MINILM_L12
from models.library_loading import forbid_hubs
from tests.benchmarks.reader.evaluation import measured, scores, table
from tests.benchmarks.reader.making import make
from tests.benchmarks.table import keep_figures
from traces.paths import models_dir

_TITLE = "The boxed reader on texts kept out of its training"


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reader", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="train, calibrate, measure and pack a reader")
    evaluating = commands.add_parser("evaluate", help="measure a reader on what was held out")
    for command in (making, evaluating):
        command.add_argument("data", type=Path, help="folder of the data to read")
        command.add_argument("--multihop", type=Path, required=True, help="folder of the multi-hop files")
        command.add_argument("--results", type=Path, help="folder for reader.json and reader.md")
    base = MS_MARCO_MINILM_L12.location(models_dir())
    making.add_argument("--base", type=Path, default=base, help="folder to train on from")
    making.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    making.add_argument("--out", type=Path, default=SHIPPED, help="where the reader goes")
    making.add_argument("--minutes", type=float, default=180, help="how long to train")
    making.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    evaluating.add_argument("--reader", type=Path, default=SHIPPED, help="folder of the reader")
    given = parser.parse_args()
    forbid_hubs()
    if given.command == "make":
        figures = make(
            given.data,
            given.multihop,
            given.base,
            given.work,
            given.out,
            minutes=given.minutes,
            processes=given.processes,
        )
    else:
        figures = measured(scores(BoxedReader(given.reader), given.data, given.multihop))
    if given.results:
        keep_figures(given.results, "reader", _TITLE, figures, table(figures))
    sys.stdout.write(table(figures))


if __name__ == "__main__":
    main()
