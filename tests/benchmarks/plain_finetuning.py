"""The named alternative of `tests.benchmarks.training`: transformers' own way to fine-tune a whole MiniLM.

Run as a process of its own. Arguments: folder of the base, a file of texts and labels (JSON lines), an
empty folder, the number of steps, states a step, and the longest text in tokens. The last line of its
output is JSON.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any


def main(base: str, rows: str, work: str, steps: str, batch: str, tokens: str) -> None:
    """Train on whether the evidence is complete; say how long the steps after the first took."""
    from datasets import Dataset
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainerCallback,
        TrainingArguments,
    )

    tokenizer = AutoTokenizer.from_pretrained(base, local_files_only=True)
    told = [json.loads(line) for line in Path(rows).read_text("utf-8").splitlines()]
    data = Dataset.from_list(
        [
            {**tokenizer(text, truncation=True, max_length=int(tokens)), "labels": label}
            for text, label in told
        ]
    )
    moments: list[float] = []

    class Clock(TrainerCallback):  # type: ignore[misc]
        def on_step_end(self, *_what: Any, **_more: Any) -> None:
            moments.append(time.perf_counter())

    Trainer(
        model=AutoModelForSequenceClassification.from_pretrained(base, num_labels=2, local_files_only=True),
        args=TrainingArguments(
            output_dir=work,
            max_steps=int(steps),
            per_device_train_batch_size=int(batch),
            use_cpu=True,
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        ),
        train_dataset=data,
        data_collator=DataCollatorWithPadding(tokenizer),
        callbacks=[Clock()],
    ).train()
    step = (moments[-1] - moments[0]) / (len(moments) - 1)
    sys.stdout.write(f"\n{json.dumps({'step': step})}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
