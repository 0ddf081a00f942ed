"""Makes the boxed reader: prepare, train, export, calibrate, measure, pack; goes on where it was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from models.boxed_reader import MANIFEST, MODEL, TOKENIZER, BoxedReader
from models.boxed_reader.windows import Windows
from tests.benchmarks.reader import training
from tests.benchmarks.reader.data import examples
from tests.benchmarks.reader.evaluation import calibration_of, measured, scores, table
from tests.benchmarks.reader.export import export
from tests.benchmarks.reader.network import recovered
from tests.benchmarks.reader.packing import UNCALIBRATED, made_of, pack, write_card, write_results
from tests.benchmarks.reader.rows import encoded, load, save
from traces.errors import DeepthinkError


class TrainingStopped(DeepthinkError):
    """Raised when a process of the training ended in a failure."""

    title = "The training stopped"


def make(
    data: Path, multihop: Path, base: Path, work: Path, out: Path, *, minutes: float, processes: int
) -> str:
    """Make the folder that the package ships; returns the measured figures as Markdown.

    Args:
        data: Folder of the data to read.
        multihop: Folder of the multi-hop train and dev files.
        base: Folder of the published cross-encoder, or of an earlier reader, which is then trained on.
        work: For what a killed run resumes from; holds ``reader.safetensors`` at the end.
        out: Where model, tokenizer, manifest and card go.
        minutes: How long to train.
        processes: That train at once, one for each core; they compute with one thread each.
    """
    work.mkdir(parents=True, exist_ok=True)
    prepare(data, multihop, base, work)
    if not (work / training.TRAINED).is_file():
        _train(work, minutes, processes)
    return finish(data, multihop, base, work, out, minutes)


def prepare(data: Path, multihop: Path, base: Path, work: Path) -> None:
    """Write the base's floats and the examples' tokens into ``work``, unless they are there."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    if not (work / training.BASE).is_file():
        save_file(recovered(base / MODEL), work / training.BASE)
    if not (work / training.ROWS).is_file():
        windows = Windows(Tokenizer.from_file(str(base / TOKENIZER)))
        save(encoded(examples(data, multihop), windows), work / training.ROWS)


def _train(work: Path, minutes: float, processes: int) -> None:
    """Threads of one process would wait for each other at every layer; processes wait once a step."""
    launched = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes),
        "-m", training.__name__, str(work), "--minutes", str(minutes),
    ]  # fmt: skip
    if subprocess.run(launched, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=False).returncode:
        raise TrainingStopped(
            "A process of the training ended in a failure; its words stand above.",
            "The same command goes on from the last checkpoint.",
        )


def finish(data: Path, multihop: Path, base: Path, work: Path, out: Path, minutes: float) -> str:
    """Export what was trained, calibrate and measure it, and pack it; the figures as Markdown."""
    from safetensors.numpy import load_file

    model = work / MODEL
    export(load_file(work / training.TRAINED), model)
    groups = load(work / training.ROWS)
    seen = json.loads((work / training.SEEN).read_text(encoding="utf-8"))
    made = {
        **({"earlier training": made_of(base)["training"]} if (base / MANIFEST).is_file() else {}),
        "training": f"{minutes:.0f} minutes on {seen['processes']} cores; {seen['groups']} questions and "
        f"claims of {len(groups)} prepared, {sum(map(len, groups))} passages",
        "loss": "cross-entropy of “answers”, of the right passage among those of a question, of start "
        "and end (half), of a claim's verdict",
        "weights": "int8, seven bits, a scale for each column; embeddings 8 bits",
    }
    tokenizer = base / TOKENIZER
    pack(model, tokenizer, out, UNCALIBRATED, made)
    scored = scores(BoxedReader(out), data, multihop)
    pack(model, tokenizer, out, calibration_of(scored), made)
    figures = measured(scored)
    write_results(work, figures)
    write_card(out, figures)
    return table(figures)
