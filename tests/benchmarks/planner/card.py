"""The model card of the boxed planner, written from the measured figures by the code that trained it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.benchmarks.planner.evaluation import Figures, table

FILE: Final = "README.md"


def write_card(folder: Path, measured: Figures) -> None:
    """Write the card into ``folder``."""
    (folder / FILE).write_text(_CARD.format(figures=table(measured)), encoding="utf-8")


_CARD = """---
license: apache-2.0
language: en
base_model: Qwen/Qwen2.5-Coder-0.5B-Instruct
library_name: llama.cpp
---

# boxed-planner

A LoRA adapter (rank 16, 8.8 million weights) for the Q4_K_M file of Qwen2.5-Coder-0.5B-Instruct. It
reads the conversation, the question, the collections to choose from and what was found so far, and
writes the question complete in itself and its look-ups, or that no documents are needed, or a question
back. The text it reads and writes is described in `agent/steps/lookups.py`.

## Made

`python -m tests.benchmarks.planner make`: TRL's supervised fine-tuning on the floats of the base's GGUF
file, the loss on the plan's tokens. Three runs on one core, each from the adapter of the one before: 2,000
rows in batches of like length (half an hour), 2,600 rows in mixed batches with four times the weight on
tokens that begin or end a line (40 minutes), and 640 rows of natural questions alone at a third of the rate
(`--natural`, ten minutes).

## Data and licences

Natural questions with plans, written for this line by line, in English and, a sixth, in German,
Chinese, French and Spanish (CC0); questions of Break (HotpotQA, ComplexWebQuestions, DROP; MIT) with
their steps rewritten as questions; StrategyQA (MIT); steps of MuSiQue (CC BY 4.0) and 2WikiMultihopQA
(Apache-2.0); changes over years in TAT-QA (CC BY 4.0); single questions of Natural Questions (CC BY-SA
3.0), SQuAD 2.0 (CC BY-SA 4.0), PolicyQA (MIT) and COVID-QA (Apache-2.0).

## Measured

On every tenth of the natural questions, which it never saw.

{figures}
## Limits

It plans look-ups and answers nothing. It may take a request about the documents ("summarise this") for
talk, merge two things of one sentence, or lose a condition; so the question itself is always searched
as well. Follow-ups that need arithmetic ("two years before that") can go wrong. """
