"""``python -m tests.soak``: kills, full disks and a crowd, and the table of what came of them.

The long form, which `make soak` runs, keeps its table in ``tests/benchmarks/results/soak.md``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.benchmarks.process import beside_others
from tests.benchmarks.table import Table
from tests.soak.soak import Soak

_NOTES = [
    "Each job is a process that is sent SIGKILL, or one time in five SIGHUP, at a random moment of its "
    "work; models are scripted. After each the store is opened and every row read: no document half there, "
    "no decision or label lost or double, every run ended or resumable, the active policy whole.",
    "A full disk is a limit on the size of a file, drawn from 2 kB to beyond the store's size: every write "
    "past it fails. The job ends as always or with a sentence for the user, and the same checks follow.",
]


def main() -> None:
    """Soak, and print the table; exit code 1 where something does not hold."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--kills", type=int, default=200, help="how many (%(default)s)")
    parser.add_argument("--full", type=int, default=60, help="how often the disk is full (%(default)s)")
    parser.add_argument("--minutes", type=float, default=10.0, help="of several processes (%(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="where the home is made; a temporary one by default")
    parser.add_argument("--keep", action="store_true", help="keep the table with the results")
    given = parser.parse_args()
    notes = [*beside_others(), *_NOTES]
    with tempfile.TemporaryDirectory(prefix="deepthink-soak-", dir=given.folder) as folder:
        soak = Soak(Path(folder), given.seed, lambda line: sys.stderr.write(f"{line}\n"))
        soak.kill(given.kills)
        soak.fill_up(given.full)
        soak.crowd(given.minutes)
    options = f"--kills {given.kills} --full {given.full} --minutes {given.minutes:g} --seed {given.seed}"
    title = "Killed processes, full disks, several processes at once"
    table = Table("soak", title, soak.rows, notes, f"python -m tests.soak {options} --keep")
    sys.stdout.write(table.markdown() + "\n")
    if given.keep:
        table.keep()
    sys.stdout.write("".join(f"{one}\n" for one in soak.problems))
    sys.exit(1 if soak.problems else 0)


if __name__ == "__main__":
    main()
