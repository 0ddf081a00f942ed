"""Writing the trained reranker as the package ships it: adapter and head in bf16, manifest, model card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from models.boxed_reranker import BASE_WEIGHTS, MANIFEST, WEIGHTS
from policy.reranking.training import ALPHA, HEAD, LAYERS, RANK, TOKENS

CARD: Final = "README.md"


def sha256(path: Path) -> str:
    """Hex digest of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def pack(
    model: Any,
    base: Path,
    out: Path,
    *,
    data: Sequence[Path],
    calibration: tuple[float, float],
    training: Mapping[str, Any],
    measured: Mapping[str, Any],
) -> None:
    """Writes the folder that `models.boxed_reranker` reads.

    Args:
        model: A trained CrossEncoder from `policy.reranking.training.untrained`.
        base: The folder of its base.
        out: Where to; made if it is not there.
        data: The files that were learned from.
        calibration: Slope and intercept of the probability.
        training: What the card says of how it was trained.
        measured: What the card says of how good it is.
    """
    from safetensors.torch import save_file

    out.mkdir(parents=True, exist_ok=True)
    save_file(_plain(model[0].model), str(out / WEIGHTS))
    manifest = {
        "format": 1,
        "base": {"name": "all-minilm-l6-v2", "file": BASE_WEIGHTS, "sha256": sha256(base / BASE_WEIGHTS)},
        "files": {WEIGHTS: sha256(out / WEIGHTS)},
        "data": {path.name: sha256(path) for path in data},
        "adapter": {"rank": RANK, "scale": ALPHA / RANK, "layers": LAYERS, "head": HEAD, "tokens": TOKENS},
        "calibration": {"slope": calibration[0], "intercept": calibration[1]},
        "training": dict(training),
        "measured": dict(measured),
    }
    (out / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    (out / CARD).write_text(card(manifest), encoding="utf-8")


def _plain(network: Any) -> dict[str, Any]:
    """PEFT's tensors under the names that `models.boxed_reranker.merge` expects, in bf16."""
    import torch
    from peft import get_peft_model_state_dict

    named: dict[str, Any] = {}
    for name, value in get_peft_model_state_dict(network).items():
        plain = name.removeprefix("base_model.model.")
        for matrix in ("lora_A", "lora_B"):
            plain = plain.replace(f".{matrix}.weight", f".{matrix}")
        named[plain] = value.detach().to(torch.bfloat16).contiguous()
    return named


def card(manifest: Mapping[str, Any]) -> str:
    """The model card that says what ``manifest`` says."""
    lines = [
        "---",
        "license: apache-2.0",
        "language: en",
        "base_model: sentence-transformers/all-MiniLM-L6-v2",
        "pipeline_tag: text-ranking",
        "library_name: sentence-transformers",
        "---",
        "",
        "# boxed-minilm-reranker",
        "",
        "A cross-encoder for questions and passages: a LoRA adapter and a head on all-MiniLM-L6-v2 (22 "
        "million parameters). It reads a question with a passage and says how likely the passage supports "
        "the answer. `deepthink` ships it and merges it into the embedder's weights on disk when it is "
        "loaded; the base is not in this folder.",
        "",
        "This card was generated from `manifest.json` by the code that trained the weights.",
        "",
        "## Training",
        "",
        *(f"- {what}: {told}" for what, told in manifest["training"].items()),
        "- data (sha256): "
        + ", ".join(f"`{name}` ({digest[:12]}…)" for name, digest in manifest["data"].items()),
        f"- base weights: sha256 `{manifest['base']['sha256']}`",
        f"- adapter: rank {manifest['adapter']['rank']}, scale {manifest['adapter']['scale']}, bf16; head: "
        + ", ".join(manifest["adapter"]["head"])
        + f"; question and passage together at most {manifest['adapter']['tokens']} tokens",
        "- calibration on records kept out of training: probability = sigmoid("
        f"{manifest['calibration']['slope']:.3f} · logit {manifest['calibration']['intercept']:+.3f})",
        "",
        "## Measured",
        "",
        "| what | result |",
        "| --- | --- |",
        *(f"| {what} | {told} |" for what, told in manifest["measured"].items()),
        "",
        "## Limits",
        "",
        "English only. Learned from questions on Wikipedia paragraphs; how it does on filings and their "
        "tables is measured by `python -m tests.benchmarks reranking`. It judges each passage alone: a "
        "passage that helps only together with another scores low, so ask it the step's question, not the "
        "whole one.",
        "",
    ]
    return "\n".join(lines)
