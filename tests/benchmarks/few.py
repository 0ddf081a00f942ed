"""A few questions of a file with their own paragraphs only: enough for a timing, quick to read."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import DATA


def few(name: str, number: int, folder: Path) -> Path:
    """The first so many records of a file of question sets, as a file of the same format.

    Args:
        name: Of the file in the folder of question sets, without its ending.
        number: How many records.
        folder: Where the new file goes.
    """
    lines = (DATA / "multihop" / f"{name}.jsonl").read_text("utf-8").splitlines()[:number]
    path = folder / f"{name}.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path
