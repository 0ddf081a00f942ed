"""Make and measure the adapter: ``make DATA …`` and ``evaluate DATA`` after the module's name."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from models.boxed_answerer import BASE, SHIPPED
from models.library_loading import forbid_hubs
from models.llama_cpp import LlamaCppChat
from tests.benchmarks.adapters.base import open_base
from tests.benchmarks.adapters.export import export
from tests.benchmarks.answerer.card import write_card
from tests.benchmarks.answerer.data import trees
from tests.benchmarks.answerer.evaluation import answers_table, outcomes, support_test, verdicts_table
from tests.benchmarks.answerer.training import RATE, SECONDS, train
from traces.paths import models_dir


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.answerer", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="train and export an adapter")
    evaluating = commands.add_parser("evaluate", help="measure an adapter and write its card")
    for command in (making, evaluating):
        command.add_argument("data", type=Path, help="folder of the data to read")
        command.add_argument("--base", type=Path, default=BASE.location(models_dir()))
    making.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    making.add_argument("--seconds", type=float, default=SECONDS, help="of training")
    making.add_argument("--rate", type=float, default=RATE, help="of learning, at its highest")
    making.add_argument("--out", type=Path, default=SHIPPED, help="where the adapter goes")
    evaluating.add_argument("--adapter", type=Path, default=SHIPPED)
    evaluating.add_argument("--passages", type=int, help="how many of those kept out; all if not given")
    given = parser.parse_args()
    forbid_hubs()
    if given.command == "make":
        base = open_base(given.base)
        learned = trees(given.data, held_out=False)
        export(
            train(learned, base, given.work, seconds=given.seconds, rate=given.rate), given.base, given.out
        )
        return
    chat = LlamaCppChat(given.base, name=BASE.name, context_tokens=4096, adapter=given.adapter).taught
    assert chat is not None  # it has an adapter
    kept = outcomes(chat, trees(given.data, held_out=True)[: given.passages])
    tested = outcomes(chat, support_test(given.data))
    tables = answers_table(kept), verdicts_table(kept), verdicts_table(tested)
    sys.stdout.write(write_card(given.adapter.parent, *tables))


if __name__ == "__main__":
    main()
