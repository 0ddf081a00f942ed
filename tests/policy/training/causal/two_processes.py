"""Two steps of SFT in each process that `accelerate launch` starts; run as a program by `test_launch`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from agent.state import ACTIONS
from policy.training.causal import fitting
from policy.training.causal.base import load_tokenizer, open_base
from policy.training.causal.fitting import Stage
from policy.training.causal.prompt import Prompter


def main(file: Path, work: Path) -> None:
    """Train on the base ``file``; the first process writes what it was told to ``work/told.json``."""
    told: list[tuple[int, int, float]] = []
    base = open_base(file)
    prompter = Prompter(load_tokenizer(base.folder))
    stage = Stage("sft", base, prompter, work / "sft", steps=2, on_step=lambda *step: told.append(step))
    adapter = fitting._sft(stage, [(f"question: {n}", ACTIONS[n % 3]) for n in range(32)])
    assert (adapter / "adapter_model.safetensors").is_file()
    from accelerate import PartialState

    (work / f"told-{PartialState().process_index}.json").write_text(
        json.dumps([PartialState().num_processes, told])
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
