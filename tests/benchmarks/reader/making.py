"""Makes and measures the boxed reader: ``make DATA …`` and ``evaluate DATA …`` after the module's name.

Making prepares, trains, exports, calibrates, measures and packs; a killed run goes on where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models.boxed_reader.reader import MANIFEST, MODEL, SHIPPED, TOKENIZER, BoxedReader, Calibration
from models.boxed_reader.windows import Windows
from models.catalogue import MS_MARCO_MINILM_L12
from models.library_loading import forbid_hubs
from policy.serving.folder import fingerprint
from tests.benchmarks.answerer.sentences import kept_sentences
from tests.benchmarks.reader import training
from tests.benchmarks.reader.data import examples
from tests.benchmarks.reader.evaluation import Figures, calibration_of, measured, scores, table
from tests.benchmarks.reader.network import export, recovered
from tests.benchmarks.reader.rows import encoded, load, save
from tests.benchmarks.table import keep_figures, refilled
from traces.paths import models_dir

UNCALIBRATED: Final = Calibration((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.0))
_CARD: Final = "README.md"
_EARLIER: Final = "earlier training"
_TITLE: Final = "The boxed reader on texts kept out of its training"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.reader", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="train, calibrate, measure and pack a reader")
    evaluating = commands.add_parser("evaluate", help="measure a reader on what was held out")
    for command in (making, evaluating):
        command.add_argument("data", type=Path, help="folder of the data to read")
        command.add_argument("--multihop", type=Path, required=True, help="folder of the multi-hop files")
        command.add_argument("--results", type=Path, help="folder for reader.json and reader.md")
    base = MS_MARCO_MINILM_L12.location(models_dir())
    making.add_argument(
        "--base", type=Path, default=base, help="a reader, or the published one, to train on"
    )
    making.add_argument(
        "--sentences", type=Path, help="texts.jsonl of an answerer's making: its sentences become claims"
    )
    making.add_argument("--work", type=Path, required=True, help="what a killed run goes on from")
    making.add_argument("--out", type=Path, default=SHIPPED, help="where the reader goes")
    making.add_argument(
        "--share", type=float, default=1.0, help="of the way from the base's weights to the trained ones"
    )
    making.add_argument("--minutes", type=float, default=180, help="how long to train")
    making.add_argument("--processes", type=int, default=os.cpu_count(), help="that train, a thread each")
    evaluating.add_argument("--reader", type=Path, default=SHIPPED, help="folder of the reader")
    given = parser.parse_args()
    forbid_hubs()
    if given.command == "make":
        _train(given)
        figures = _finish(given)
    else:
        figures = measured(scores(BoxedReader(given.reader), given.data, given.multihop))
    if given.results:
        keep_figures(given.results, "reader", _TITLE, figures, table(figures))
    sys.stdout.write(table(figures))


def _train(given: argparse.Namespace) -> None:
    """Prepare the rows and train, unless a killed run has done so; the work folder has the weights."""
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer

    base, work = given.base, given.work
    work.mkdir(parents=True, exist_ok=True)
    if not (work / training.BASE).is_file():
        save_file(recovered(base / MODEL), work / training.BASE)
    if not (work / training.ROWS).is_file():
        windows = Windows(Tokenizer.from_file(str(base / TOKENIZER)))
        sentence_of = kept_sentences(given.sentences) if given.sentences else None
        made = examples(given.data, given.multihop, sentence_of)
        save(encoded(made, windows), work / training.ROWS)
    if not (work / training.TRAINED).is_file():
        launched = [
            sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node",
            str(given.processes), "-m", training.__name__, str(work), "--minutes", str(given.minutes),
        ]  # fmt: skip
        # Threads of one process would wait for each other at every layer; processes wait once a step.
        subprocess.run(launched, env={**os.environ, "OMP_NUM_THREADS": "1"}, check=True)


def _finish(given: argparse.Namespace) -> Figures:
    """Export what was trained, calibrate and measure it, and pack it with its card."""
    from safetensors.numpy import load_file

    work, out = given.work, given.out
    model, tokenizer = work / MODEL, given.base / TOKENIZER
    old, new = load_file(work / training.BASE), load_file(work / training.TRAINED)
    # Between the two a network often does better on other texts than those it was trained on (Wortsman
    # et al. 2022, https://arxiv.org/abs/2109.01903).
    between = {name: old[name] + given.share * (new[name] - old[name]) for name in new if name in old}
    export({**new, **between}, model)
    groups = load(work / training.ROWS)
    seen = json.loads((work / training.SEEN).read_text(encoding="utf-8"))
    made = {
        **_earlier(given.base),
        "training": f"{given.minutes:.0f} minutes on {seen['device']}; {seen['groups']} questions "
        f"and claims of {len(groups)} prepared, {sum(map(len, groups))} passages",
        "loss": "cross-entropy of “answers”, of the right passage among those of a question, of start "
        "and end (half), of a claim's verdict",
        "taken": f"{given.share:.0%} of the way from the earlier weights to the trained ones",
        "weights": "int8, seven bits, a scale for each column; embeddings 8 bits",
    }
    pack(model, tokenizer, out, UNCALIBRATED, made)
    scored = scores(BoxedReader(out), given.data, given.multihop)
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
    made = json.loads((base / MANIFEST).read_text(encoding="utf-8"))["made"]
    before = [made[name] for name in (_EARLIER, "training") if name in made]
    return {_EARLIER: "; then ".join(before)}


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
