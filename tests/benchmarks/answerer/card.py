"""The model card of what the default answering model was taught, with the measured figures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

FILE: Final = "README.md"


def write_card(folder: Path, answers: str, verdicts: str, tested: str) -> str:
    """Write the card into ``folder``; its text. The arguments are the tables of its figures."""
    text = _CARD.format(answers=answers, verdicts=verdicts, tested=tested)
    (folder / FILE).write_text(text, encoding="utf-8")
    return text


_CARD = """---
license: apache-2.0
language: en
base_model: Qwen/Qwen2.5-Coder-1.5B-Instruct
library_name: llama.cpp
---

# boxed-answerer

A LoRA adapter (rank 16, on the upper 14 of 28 layers) for the Q4_K_M file of
Qwen2.5-Coder-1.5B-Instruct, the default answering model. With it, the model answers a question from
numbered passages in short sentences and says when they do not answer it. It was also taught to judge
whether they say a sentence, which deepthink leaves to its reader. The prompts are `TAUGHT`, `passages`,
`question` and `sentence` of `agent/prompts.py`.

## Made

`python -m tests.benchmarks.answerer make`: 420 sets of passages, on the floats of the base's GGUF file, two
hours on two cores with bfloat16. All prompts on one set of passages are computed together, which takes a
third of the work. The plainly worded claims were added after the first 200 sets.

## Data and licences

Passages of the kinds of documents that people own, with questions, answers in a sentence, near misses
that they do not answer, and claims, written for this line by line, in English and, a tenth, in German,
Chinese, French and Spanish (CC0).

## Measured

On every eighth of the passages, which it never saw, beside other passages that sound alike:

{answers}
Verdicts on claims about them: from a probability of "the passages say all of it",

{verdicts}
The same on the test of 160 claims that the reader is measured by, which nothing was trained or tuned on:

{tested}
## Limits

It refuses some questions that the passages do answer, most often about tables and dates, and answers only
one part of a question with several. Its verdicts are weak.
"""
