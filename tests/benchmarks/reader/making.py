"""Makes the boxed reader: prepare, train, export, calibrate, measure, pack; goes on where it was killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models.boxed_reader import MANIFEST, MODEL, SHIPPED, TOKENIZER, BoxedReader, Calibration
from models.boxed_reader.windows import Windows
from policy.serving.folder import fingerprint
from tests.benchmarks.reader import training
from tests.benchmarks.reader.data import examples
from tests.benchmarks.reader.evaluation import Figures, calibration_of, measured, scores, table
from tests.benchmarks.reader.network import export, recovered
from tests.benchmarks.reader.rows import encoded, load, save
from tests.benchmarks.table import refilled

UNCALIBRATED: Final = Calibration((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.0))
_CARD: Final = "README.md"


def make(
    data: Path, multihop: Path, base: Path, work: Path, out: Path, *, minutes: float, processes: int
) -> Figures:
    """Make the folder that the package ships; returns the measured figures.

    Args:
        data: Folder of the data to read.
        multihop: Folder of the multi-hop train and dev files.
        base: Folder of the published cross-encoder, or of an earlier reader, which is then trained on.
        work: For what a killed run resumes from; holds ``reader.safetensors`` at the end.
        out: Where model, tokenizer, manifest and card go.
        minutes: How long to train.
        processes: That train at once, one for each core; they compute with one thread each.
    """
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    work.mkdir(parents=True, exist_ok=True)
    if not (work / training.BASE).is_file():
        save_file(recovered(base / MODEL), work / training.BASE)
    if not (work / training.ROWS).is_file():
        windows = Windows(Tokenizer.from_file(str(base / TOKENIZER)))
        save(encoded(examples(data, multihop), windows), work / training.ROWS)
    if not (work / training.TRAINED).is_file():
        launched = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
            str(processes), "-m", training.__name__, str(work), "--minutes", str(minutes),
        ]  # fmt: skip
        # Threads of one process would wait for each other at every layer; processes wait once a step.
        subprocess.run(launched, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)
    return _finish(data, multihop, base, work, out, minutes)


def _finish(data: Path, multihop: Path, base: Path, work: Path, out: Path, minutes: float) -> Figures:
    """Export what was trained, calibrate and measure it, and pack it with its card."""
    from safetensors.numpy import load_file

    model = work / MODEL
    export(load_file(work / training.TRAINED), model)
    groups = load(work / training.ROWS)
    seen = json.loads((work / training.SEEN).read_text(encoding="utf-8"))
    made = {
        **_earlier(base),
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
    card = (SHIPPED / _CARD).read_text(encoding="utf-8")
    rows = "\n".join(f"- {name}: {value}" for name, value in made.items())
    card = refilled(refilled(card, "made", rows), "figures", table(figures))
    (out / _CARD).write_text(card, encoding="utf-8")
    return figures


def _earlier(base: Path) -> dict[str, str]:
    """How the reader that was trained on was made; nothing of a published cross-encoder."""
    if not (base / MANIFEST).is_file():
        return {}
    manifest = json.loads((base / MANIFEST).read_text(encoding="utf-8"))
    return {"earlier training": manifest["made"]["training"]}


def pack(
    model: Path, tokenizer: Path, out: Path, calibration: Calibration, made: Mapping[str, Any]
) -> None:
    """Write model, tokenizer and manifest to ``out``; ``made``, how it was made, is kept for the card."""
    out.mkdir(parents=True, exist_ok=True)
    for source, name in ((model, MODEL), (tokenizer, TOKENIZER)):
        if source.resolve() != (out / name).resolve():
            shutil.copyfile(source, out / name)
    digests = {name: fingerprint(out / name) for name in (MODEL, TOKENIZER)}
    manifest = {"files": digests, "calibration": asdict(calibration), "made": dict(made)}
    (out / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
