"""`accelerate launch`: the same training on several processes, each with its share of the states."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from policy.training.causal.base import open_base

ROOT = Path(__file__).parents[4]


def test_two_processes_train_one_adapter(tiny: Path, tmp_path: Path) -> None:
    open_base(tiny)  # converted here, so that the two do not race for it
    command = [sys.executable, "-m", "accelerate.commands.launch"]
    command += ["--multi_gpu", "--num_processes", "2", "--num_machines", "1", "--mixed_precision", "no"]
    command += ["--dynamo_backend", "no", "--num_cpu_threads_per_process", "1", "--main_process_port", "0"]
    command += ["-m", "tests.policy.training.causal.two_processes", str(tiny), str(tmp_path)]
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, cwd=ROOT, env=here, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    processes, first = json.loads((tmp_path / "told-0.json").read_text())
    assert (processes, [step[:2] for step in first]) == (2, [[1, 2], [2, 2]])
    assert json.loads((tmp_path / "told-1.json").read_text()) == [2, []]
    assert (tmp_path / "sft" / "adapter" / "adapter_model.safetensors").is_file()
