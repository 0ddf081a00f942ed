"""A training run as its own process, which a test kills and continues."""

from __future__ import annotations

import argparse
from pathlib import Path

from policy.training import fitting
from policy.training.course import TrainingRequest, train

if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.benchmarks.train_process")
    parser.add_argument("--method", choices=["forest", "reward"], required=True)
    parser.add_argument("--from", dest="source", type=Path, required=True)
    parser.add_argument("--steps", type=int)
    given = parser.parse_args()
    fitting._SAVE_STEPS = 2  # the test waits for the first checkpoint
    for _ in train(TrainingRequest(given.method, (given.source,), steps=given.steps)):
        pass
