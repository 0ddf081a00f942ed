"""What training a policy takes: the forest, and the encoder."""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from policy.decisions.reading import load_trees
from policy.training.encoder.fitting import EPOCHS
from tests.benchmarks import library as made
from tests.benchmarks.collecting.model_free import ModelFree, collect
from tests.benchmarks.few import few
from tests.benchmarks.process import Ran, beside_others, run
from tests.benchmarks.table import Row, Table
from traces import paths
from traces.store import Store

QUESTIONS: Final = 45  # fewer than 40 are not trained on
STEPS: Final = 12
BATCH: Final = 32  # states of a step of the encoder
STATES: Final = 7_000
MINUTES: Final = 30
GIGABYTES: Final = 4
_STEP: Final = re.compile(r"step (\d+) of (\d+): loss")


def measure() -> Table:
    """Each training as a process of its own, on the same collected questions."""
    load = beside_others()
    store = Store(paths.store_file())
    with tempfile.TemporaryDirectory() as folder:
        wanted = ModelFree(few("musique_train", QUESTIONS, Path(folder)))
        for _ in collect(wanted, store, made.embedder(), made.reader()):
            pass
    nodes = [node for tree in load_trees(store).trees for node in tree.nodes.values()]
    rows = [Row("collected", f"{QUESTIONS} questions, {len(nodes)} states")]
    sys.stderr.write("collected\n")
    rows += _forest(_trained("forest"), len(nodes))
    sys.stderr.write("forest trained\n")
    rows += _encoder(_trained("reward", "--steps", str(STEPS)), len(nodes))
    sys.stderr.write("encoder trained\n")
    return Table("training", "What training a policy takes", rows, [*_NOTES, *load])


def _trained(method: str, *options: str) -> Ran:
    command = [
        sys.executable,
        "-m",
        "tests.benchmarks.train_process",
        "--method",
        method,
        "--activation",
        "never",
    ]
    with tempfile.TemporaryDirectory() as home:
        return run([*command, "--from", str(paths.store_file()), *options], DEEPTHINK_HOME=home)


def _at(ran: Ran, begins: Callable[[str], object]) -> float:
    """When a line was written."""
    return next(seconds for seconds, line in ran.lines if begins(line))


def _step_seconds(ran: Ran) -> float:
    """Of a step after the first."""
    moments = [seconds for seconds, line in ran.lines if _STEP.match(line)]
    return (moments[-1] - moments[0]) / (len(moments) - 1)


def _forest(ran: Ran, states: int) -> list[Row]:
    began = _at(ran, lambda line: line.startswith("Training:"))
    ended = _at(ran, lambda line: line.startswith("Calibrating"))
    before = _at(ran, lambda _line: True)
    whole = (before + (ran.seconds - before) / states * STATES) / 60
    return [
        Row("forest: the whole command", f"{ran.seconds:.1f} s, {states / ran.seconds:.0f} states/s"),
        Row("forest: fitting alone", f"{ended - began:.1f} s"),
        Row("forest: peak memory", f"{ran.peak:.2f} GB", f"under {GIGABYTES} GB", ran.peak < GIGABYTES),
        Row(
            f"forest: {STATES:,} states, extrapolated",
            f"{whole:.1f} minutes",
            f"under {MINUTES} minutes",
            whole < MINUTES,
        ),
    ]


def _encoder(ran: Ran, states: int) -> list[Row]:
    step = _step_seconds(ran)
    began = _at(ran, lambda line: line.startswith("Training:"))
    ended = _at(ran, lambda line: line.startswith("Calibrating"))
    before = _at(ran, lambda _line: True)
    steps = EPOCHS * STATES / BATCH
    rest = (began - before) + (ran.seconds - ended)
    whole = (before + rest / states * STATES + steps * step) / 60
    return [
        Row(
            f"reward, {STEPS} steps: the whole command",
            f"{ran.seconds:.1f} s, {ran.processor:.1f} of the processors",
        ),
        Row(f"reward: a step of {BATCH} states", f"{step:.2f} s, {BATCH / step:.1f} states/s"),
        Row("reward: targets before, calibration, judgement and gate after", f"{rest:.1f} s"),
        Row("reward: peak memory", f"{ran.peak:.2f} GB", f"under {GIGABYTES} GB", ran.peak < GIGABYTES),
        Row(
            f"reward: {STATES:,} states, {EPOCHS:.0f} passes ({steps:.0f} steps), extrapolated",
            f"{whole:.1f} minutes",
            f"under {MINUTES} minutes",
            whole < MINUTES,
        ),
    ]


_NOTES: Final = [
    f"Questions: the first {QUESTIONS} of the MuSiQue train file, collected without a language model and "
    "among their own paragraphs, read by the boxed reader. A fifth is held out, as `train-policy` does.",
    "Each training is the same as `deepthink train-policy`, as a process of "
    "its own; seconds and memory are those of the whole process. A step's time is the mean of those after "
    "the first.",
    f"Extrapolated to {STATES:,} states, not measured: start-up as it was, the steps by their number, all "
    "else (targets, calibration, judgement, gate) as growing with the states. Memory is that of a batch, "
    "and is not extrapolated.",
]
