"""Make and measure the boxed reader: ``make DATA …`` and ``evaluate DATA …`` after the module's name."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from models.boxed_reader import SHIPPED, BoxedReader
from models.catalogue import MS_MARCO_MINILM_L12
from models.offline import forbid_hubs
from tests.benchmarks.reader.evaluation import measured, scores, table
from tests.benchmarks.reader.making import make
from tests.benchmarks.reader.packing import write_results
from traces.paths import models_dir


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reader", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="train, calibrate, measure and pack a reader")
    evaluating = commands.add_parser("evaluate", help="measure a reader on what was held out")
    for command in (making, evaluating):
        command.add_argument("data", type=Path, help="folder of the data to read")
        command.add_argument("--multihop", type=Path, required=True, help="folder of the multi-hop files")
    making.add_argument("--base", type=Path, help="folder to train on from; default: ms-marco-minilm-l12")
    making.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    making.add_argument("--out", type=Path, default=SHIPPED, help="where the reader goes")
    making.add_argument("--minutes", type=float, default=180, help="how long to train")
    making.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    evaluating.add_argument("--reader", type=Path, default=SHIPPED, help="folder of the reader")
    evaluating.add_argument("--results", type=Path, help="folder for reader.json and reader.md")
    given = parser.parse_args()
    forbid_hubs()
    if given.command == "make":
        sys.stdout.write(
            make(
                given.data,
                given.multihop,
                given.base or MS_MARCO_MINILM_L12.location(models_dir()),
                given.work,
                given.out,
                minutes=given.minutes,
                processes=given.processes,
            )
        )
        return
    figures = measured(scores(BoxedReader(given.reader), given.data, given.multihop))
    text = table(figures)
    if given.results:
        write_results(given.results, figures)
    sys.stdout.write(text)


if __name__ == "__main__":
    main()
