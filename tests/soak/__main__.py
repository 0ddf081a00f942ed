"""``python -m tests.soak``: kills, full disks and a crowd, and the table of what came of them.

The long form, which `make soak` runs, keeps its table in ``tests/benchmarks/results/soak.md``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.benchmarks.process import beside_others
from tests.benchmarks.table import Row, Table
from tests.soak.soak import Kills, Soak


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
    notes = beside_others()
    with tempfile.TemporaryDirectory(prefix="deepthink-soak-", dir=given.folder) as folder:
        soak = Soak(Path(folder), given.seed, lambda line: sys.stderr.write(f"{line}\n"))
        came = soak.kill(given.kills)
        full = soak.fill_up(given.full)
        count, crowd = soak.crowd(60 * given.minutes)
    table = _table(given, came, full, count, crowd, notes)
    sys.stdout.write(table.markdown() + "\n")
    if given.keep:
        table.keep()
    found = [*came.problems, *full, *crowd]
    sys.stdout.write("".join(f"{one}\n" for one in found))
    sys.exit(1 if found else 0)


def _table(
    given: argparse.Namespace,
    came: Kills,
    full: list[str],
    count: Counter[str],
    crowd: list[str],
    notes: list[str],
) -> Table:
    tried = came.tried.total()
    jobs = ", ".join(f"{name} {times}" for name, times in came.tried.items())
    rows = [
        Row(
            "kills survived, of those tried",
            f"{tried - len(came.problems)} of {tried} ({jobs})",
            "all",
            met=not came.problems,
        ),
        Row(
            "unfinished runs at the end, and seconds to resume one to its answer (median)",
            f"{came.unfinished}, {statistics.median(came.resumed or [0.0]):.1f} s",
        ),
        Row(
            "full disks survived, of those tried",
            f"{given.full - len(full)} of {given.full}",
            "all",
            met=not full,
        ),
        Row(
            f"{given.minutes:g} minutes of ingest, ask, train and label at once",
            f"{', '.join(f'{name} {times}' for name, times in count.items())}; problems: {len(crowd)}",
            "no lock error, nothing lost",
            met=not crowd,
        ),
    ]
    options = f"--kills {given.kills} --full {given.full} --minutes {given.minutes:g} --seed {given.seed}"
    return Table(
        "soak",
        "Killed processes, full disks, several processes at once",
        rows,
        [*notes, *_NOTES],
        command=f"python -m tests.soak {options} --keep",
    )


_NOTES = [
    "Each job is a process that is sent SIGKILL, or one time in five SIGHUP, at a random moment of its "
    "work; models are scripted. After each the store is opened and every row read: no document half there, "
    "no decision or label lost or double, every run ended or resumable, the active policy whole.",
    "A full disk is a limit on the size of a file, drawn from 2 kB to beyond the store's size: every write "
    "past it fails. The job ends as always or with a sentence for the user, and the same checks follow.",
]


if __name__ == "__main__":
    main()
