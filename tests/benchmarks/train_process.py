"""A training as a process of its own that writes each step: what `tests.benchmarks.training` measures."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from policy.training.course import train
from policy.training.progress import Began, DataSheet, Finished, HeldOut, Trained, TrainingEvent, Warned
from policy.training.progress import Verdict as Judged
from policy.training.request import TrainingRequest
from traces.errors import DeepthinkError

_FAILED = 1


def main(arguments: Sequence[str]) -> int:
    """Train as asked; the exit code."""
    try:
        for event in train(_request(arguments)):
            _say(_words(event))
    except DeepthinkError as error:
        _say(f"{error.title}: {error.message} {error.way_out}")
        return _FAILED
    return 0


def _request(arguments: Sequence[str]) -> TrainingRequest:
    parser = argparse.ArgumentParser(prog="tests.benchmarks.train_process")
    parser.add_argument("--method", choices=["forest", "reward"])
    parser.add_argument("--from", dest="sources", action="append", type=Path, default=[])
    parser.add_argument("--base", default="")
    parser.add_argument("--cost", type=float)
    parser.add_argument("--name", default="")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--activation", choices=["gate", "never", "force"], default="gate")
    given = {name: value for name, value in vars(parser.parse_args(arguments)).items() if value is not None}
    return TrainingRequest(**{**given, "sources": tuple(given["sources"])})


def _words(event: TrainingEvent) -> str:
    match event:
        case Began() | Warned():
            return event.message
        case DataSheet():
            return "\n".join(f"{name}: {figures}" for name, figures in event.rows.items())
        case Trained():
            return f"step {event.step} of {event.steps}: loss {event.loss:.4f}"
        case HeldOut():
            return (
                f"held-out value after step {event.step}: {event.utility:.4f}, default {event.default:.4f}"
            )
        case Judged():
            return f"gate {'passed' if event.passed else 'not passed'}: {event.reason}"
        case Finished():
            return f"{event.name} in {event.folder}{', active' if event.active else ''}"


def _say(what: str) -> None:
    sys.stderr.write(f"{what}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
