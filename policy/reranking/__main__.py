"""Makes the boxed reranker: ``python -m policy.reranking --data DIR --work DIR --out DIR``."""

from __future__ import annotations

import argparse
from pathlib import Path

from models.catalogue import ALL_MINILM_L6_V2
from models.offline import forbid_hubs
from policy.reranking.command import train
from traces.paths import models_dir


def main() -> None:
    """Reads the command line and trains."""
    parser = argparse.ArgumentParser(prog="python -m policy.reranking", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder of the train and dev files")
    parser.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    parser.add_argument("--out", type=Path, required=True, help="where the weights go")
    parser.add_argument("--negatives", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--steps", type=int, default=-1, help="stop after so many; default: one pass")
    given = parser.parse_args()
    forbid_hubs()
    base = ALL_MINILM_L6_V2.location(models_dir())
    train(
        given.data,
        base,
        given.work,
        given.out,
        negatives=given.negatives,
        rounds=given.rounds,
        steps=given.steps,
    )


if __name__ == "__main__":
    main()
