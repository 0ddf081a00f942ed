"""The one command that makes the boxed reranker: mine, train, calibrate, measure, pack.

What is mined stays in a working folder and is not mined again, and training goes on from its newest
checkpoint there: a killed run loses minutes, not all.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from models.boxed_reranker import load, narrow
from models.local_embedder import open_embedder
from policy.reranking.measuring import (
    Floats,
    calibration_error,
    fit_calibration,
    interval,
    recall_at,
)
from policy.reranking.mining import Mined, mine, read_mined, write_mined
from policy.reranking.packing import pack
from policy.reranking.questions import SETS, read_pool
from policy.reranking.training import GROUPS, fit, groups, untrained

MINED: Final = 30  # passages a question
DEPTH: Final = 10  # that are reranked, as the graph does by default
TOP: Final = 3
_KEPT_OUT: Final = 10  # every tenth record is kept out of training, for the calibration


def train(
    data: Path, base: Path, work: Path, out: Path, *, negatives: int = 5, rounds: int = 1, steps: int = -1
) -> None:
    """Makes the folder that the package ships.

    Args:
        data: Where the train and dev files of the question sets are.
        base: The folder of all-MiniLM-L6-v2.
        work: For what a killed run goes on from.
        out: Where the weights, manifest and card go.
        negatives: Hard negatives of a group.
        rounds: How often each question comes, each time with other negatives.
        steps: Stop training after so many, going over the groups again if need be; -1 for one pass.

    Raises:
        OSError: a file cannot be read or written.
        ModelError: the base cannot be loaded.
    """
    work.mkdir(parents=True, exist_ok=True)
    learned = [one for name in SETS for one in _mined(data / f"{name}_train.jsonl", base, work)]
    taught, untaught = split(learned)
    made = groups(taught, negatives, rounds)
    share = steps * GROUPS / len(made) if steps > 0 else 1.0
    pairs = round(share * sum(len(group.passages) for group in made))
    _say(f"{len(taught)} questions, {len(made)} groups, {pairs} pairs are read")
    model = untrained(base)
    began = time.monotonic()
    fit(model, made, work / "checkpoints", steps=steps)
    minutes = (time.monotonic() - began) / 60
    _say(f"trained in {minutes:.1f} minutes")
    told = {
        "made by": "`python -m policy.reranking`, with sentence-transformers' CrossEncoderTrainer and PEFT",
        "questions": f"{len(taught)} of the train files: whole ones, MuSiQue's steps, 2Wiki's pairs",
        "pairs": f"{pairs}, {share:.0%} of those there were: each question with its supporting paragraphs "
        f"and {negatives} hard negatives from the top {MINED} of the product's own hybrid recall, "
        f"{rounds} time(s), 2Wiki's pairs once",
        "loss": "softmax of each supporting paragraph against the negatives, plus 0.3 binary cross-entropy",
    }
    files = [data / f"{name}_train.jsonl" for name in SETS]
    pack(model, base, out, data=files, calibration=(1.0, 0.0), training=told, measured={})
    encoder = load(base, out)
    narrow(encoder[0].model)  # as it is served
    calibration, measured = _calibrated(encoder, untaught)
    for name in SETS:
        measured |= measure(name, encoder, _mined(data / f"{name}_dev.jsonl", base, work))
    pack(model, base, out, data=files, calibration=calibration, training=told, measured=measured)


def split(mined: Sequence[Mined]) -> tuple[list[Mined], list[Mined]]:
    """What is learned from, and what is kept out for the calibration: by record."""
    out = kept_out({one.record for one in mined})
    return [one for one in mined if one.record not in out], [one for one in mined if one.record in out]


def kept_out(records: Iterable[str]) -> set[str]:
    """Every tenth of the records of the train files, all sets together, in a fixed random order."""
    ordered = sorted(records)
    random.Random(0).shuffle(ordered)
    return set(ordered[::_KEPT_OUT])


def measure(name: str, encoder: Any, mined: Sequence[Mined]) -> dict[str, str]:
    """Recall of gold in the top 3 of one dev set, fused and reranked, as rows of the card."""
    rows: dict[str, str] = {}
    for whole, what in ((True, "whole questions"), (False, "steps")):
        asked = [one for one in mined if one.whole is whole]
        if not asked:
            continue
        fused = recall_at(asked, None, TOP, DEPTH)
        ours = recall_at(asked, logits_of(encoder, asked, DEPTH), TOP, DEPTH)
        low, high = interval(ours - fused)
        row = (
            f"{fused.mean():.3f} fused, {ours.mean():.3f} reranked "
            f"({ours.mean() - fused.mean():+.3f}, 95 % interval {low:+.3f} to {high:+.3f})"
        )
        rows[f"{name} dev, {len(asked)} {what}, pooled: gold in the top {TOP} of {DEPTH}"] = row
        _say(f"{name} {what}: {row}")
    return rows


def logits_of(encoder: Any, mined: Sequence[Mined], depth: int) -> list[list[float]]:
    """For each question the logits of its first ``depth`` recalled passages."""
    from torch import nn

    given = [[f.text for f in one.found if f.rank is not None][:depth] for one in mined]
    flat = [(one.question, text) for one, texts in zip(mined, given, strict=True) for text in texts]
    found = encoder.predict(flat, batch_size=4, activation_fn=nn.Identity(), show_progress_bar=False)
    ends = np.cumsum([len(texts) for texts in given])[:-1]
    return [[float(logit) for logit in part] for part in np.split(np.asarray(found), ends)]


def _calibrated(encoder: Any, mined: Sequence[Mined]) -> tuple[tuple[float, float], dict[str, str]]:
    """Fitted on one half of the records kept out, its error told from the other half."""
    logits: list[float] = []
    supports: list[bool] = []
    halves: list[int] = []
    for one, scored in zip(mined, logits_of(encoder, mined, DEPTH), strict=True):
        brought = [f for f in one.found if f.rank is not None][:DEPTH]
        for found, logit in zip(brought, scored, strict=True):
            if found.gold or not found.doubtful:
                logits.append(logit)
                supports.append(found.gold)
                halves.append(hash_of(one.record) % 2)
    x, y, half = np.array(logits), np.array(supports), np.array(halves)
    slope, intercept = fit_calibration(x[half == 0], y[half == 0])
    error = calibration_error(_sigmoid(slope * x[half == 1] + intercept), y[half == 1])
    _say(f"calibration: slope {slope:.3f}, intercept {intercept:.3f}, error {error:.3f}")
    slope, intercept = fit_calibration(x, y)
    return (round(slope, 4), round(intercept, 4)), {
        f"expected calibration error, top {DEPTH} of train records kept out": f"{error:.3f}"
    }


def hash_of(text: str) -> int:
    """A number that is the same in every process."""
    return sum(text.encode())


def _sigmoid(odds: Floats) -> Floats:
    return 1 / (1 + np.exp(-odds))


def _mined(path: Path, base: Path, work: Path) -> list[Mined]:
    kept = work / path.name
    if not kept.is_file():
        _say(f"mining {path.name}")
        write_mined(mine(read_pool(path), open_embedder(base), MINED), kept)
    return read_mined(kept)


def _say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
