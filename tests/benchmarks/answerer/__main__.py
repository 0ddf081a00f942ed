"""Train and export an adapter: ``python -m tests.benchmarks.answerer DATA --work DIR --out FILE``."""

from __future__ import annotations

import argparse
from pathlib import Path

from models.catalogue import QWEN_CODER_1_5B
from models.offline import forbid_hubs
from tests.benchmarks.adapters.base import open_base
from tests.benchmarks.adapters.export import export
from tests.benchmarks.answerer.data import trees
from tests.benchmarks.answerer.training import RATE, SECONDS, train
from traces.paths import models_dir


def main() -> None:
    """Read the command line and do it."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.answerer", description=__doc__)
    parser.add_argument("data", type=Path, help="folder of the data to read")
    parser.add_argument("--base", type=Path, default=QWEN_CODER_1_5B.location(models_dir()))
    parser.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of training")
    parser.add_argument("--rate", type=float, default=RATE, help="of learning, at its highest")
    parser.add_argument("--out", type=Path, required=True, help="where the adapter goes")
    given = parser.parse_args()
    forbid_hubs()
    base = open_base(given.base)
    learned = trees(given.data, held_out=False)
    adapter = train(learned, base, given.work, seconds=given.seconds, rate=given.rate)
    export(adapter, given.base, given.out)


if __name__ == "__main__":
    main()
