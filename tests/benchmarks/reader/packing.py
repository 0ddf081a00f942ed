"""The folder that the package ships: model, tokenizer, manifest and model card."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from models.boxed_reader import MANIFEST, MODEL, TOKENIZER, Calibration
from tests.benchmarks.reader.evaluation import Figures, table

CARD: Final = "README.md"
UNCALIBRATED: Final = Calibration((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.0))


def pack(
    model: Path, tokenizer: Path, out: Path, calibration: Calibration, made: Mapping[str, Any]
) -> None:
    """Write model, tokenizer and manifest to ``out``; ``made``, how it was made, is kept for the card."""
    out.mkdir(parents=True, exist_ok=True)
    for source, name in ((model, MODEL), (tokenizer, TOKENIZER)):
        if source.resolve() != (out / name).resolve():
            shutil.copyfile(source, out / name)
    digests = {name: _sha256(out / name) for name in (MODEL, TOKENIZER)}
    manifest = {"files": digests, "calibration": asdict(calibration), "made": dict(made)}
    (out / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def write_card(out: Path, figures: Figures) -> None:
    """Write the model card from the manifest and the figures."""
    rows = "\n".join(f"- {name}: {value}" for name, value in made_of(out).items())
    (out / CARD).write_text(_CARD.format(made=rows, figures=table(figures)), encoding="utf-8")


def made_of(folder: Path) -> dict[str, str]:
    """How the reader in ``folder`` was made, as its manifest says."""
    made: dict[str, str] = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["made"]
    return made


def write_results(folder: Path, figures: Figures) -> None:
    """Write ``reader.json`` and ``reader.md``."""
    (folder / "reader.json").write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    text = f"# The boxed reader on texts kept out of its training\n\n{table(figures)}"
    (folder / "reader.md").write_text(text, encoding="utf-8")


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_CARD = """---
license: apache-2.0
language: en
base_model: cross-encoder/ms-marco-MiniLM-L-12-v2
pipeline_tag: question-answering
library_name: onnxruntime
---

# boxed-reader

One small encoder (MiniLM, 12 layers of 384, 33 million parameters, int8) that reads a passage with a
question or a claim. For a question: how likely the passage answers it, and which words do. For a claim:
whether the passage supports it, refutes it, or does neither; a question with an answer to it is a claim
too. `deepthink` ranks and grades what it found with it, answers simple questions, and checks the sentences
of an answer: whether they are supported, and whether they answer what was asked.

This card was generated from `manifest.json` and the measured figures by the code that trained the weights.

## Made

`python -m tests.benchmarks.reader make`. All weights but the word embeddings were trained further from
those of the published cross-encoder, recovered from its int8 file.

{made}

## Data and licences

Questions on paragraphs: SQuAD 1.1 and 2.0 (CC BY-SA 4.0), SQuADShifts' new Wikipedia articles (CC BY
4.0), Natural Questions passages from Lost in the Middle and UDA (CC BY-SA 3.0, 4.0), PolicyQA (MIT),
COVID-QA (Apache-2.0), TAT-QA (CC BY 4.0), single steps of MuSiQue (CC BY 4.0) and 2WikiMultihopQA
(Apache-2.0). Claims: FEVER (CC BY-SA 3.0), Climate-FEVER, FeverSymmetric, Fool Me Twice, SciFact,
ContractNLI, InfoTabs, TabFact, SciTab, SummEdits, WiCE, Factcheck-GPT, MultiNLI (TaxiNLI's part), SNLI,
ConjNLI, MED, Breaking NLI, Negation-NLI, each under an open licence; HaluEval was left out, because the
length of its claims gives them away. Written for this: passages of the kinds of documents that people
keep, with questions and claims (CC0). Answers to questions: those of the sets above, right ones on their
passage, another question's in their place, and any on a passage that does not answer. Passages are cut and
shown as the product cuts and shows them; wrong ones are found by its own keyword search.

## Measured

Nothing here was trained on: every eighth written passage, every seventh article of SQuAD 2.0's dev set,
MuSiQue's dev file, and a test of claims made for this. Probabilities were calibrated crosswise, each fold
with the other. F1 counts a refusal (no passage with a probability of one half) as 0.

{figures}
## Limits

It knows English; German, French, Spanish and Chinese were a twentieth of the written passages and nothing
else. It reads words and cells, and does not compute: of a sum, a difference or a count it knows nothing.
It reads each passage alone. A claim that swaps roles, drops a condition or turns a word into its opposite
is hard for it; names, numbers and dates should be checked by other means too.
"""
