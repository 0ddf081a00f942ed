"""The short form of the soak: a few kills, full disks, and a crowd of processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_nothing_is_lost_when_processes_are_killed_the_disk_is_full_or_several_work(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.soak", "--kills", "6", "--full", "6", "--minutes", "0.02"]
    command += ["--folder", str(tmp_path)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2]
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "kills survived, of those tried | 6 of 6" in done.stdout
