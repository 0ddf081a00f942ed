"""Checkpoints of a trainer: from which to go on after a kill, and whether there is room for the next."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from policy.training.errors import TrainingFailed, is_full_disk

_STATE: Final = "trainer_state.json"  # the trainer writes it last


def newest(folder: Path) -> Path | None:
    """The newest whole checkpoint in ``folder``, None if there is none.

    One that a kill left half written is removed.
    """
    found = sorted(folder.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for path in reversed(found):
        if _is_whole(path):
            return path
        shutil.rmtree(path)
    return None


def check_room(folder: Path, needed: int) -> None:
    """Whether ``needed`` bytes fit into the file system of ``folder``, before anything is computed.

    Raises:
        TrainingFailed: they do not.
    """
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise TrainingFailed(
            f"{folder} has {free / 2**20:.0f} MB left; checkpoints need {needed / 2**20:.0f} MB.",
            "Make room and start again with the same command.",
        )


@contextmanager
def telling_full_disk(folder: Path) -> Iterator[None]:
    """Within this a full disk is told as one, whatever the library made of it.

    Raises:
        TrainingFailed: in its place.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        if not is_full_disk(error):
            raise
        raise TrainingFailed(
            f"There is no space for the checkpoint in {folder}; the last whole one is kept.",
            "Make room and start again with the same command: it goes on from there.",
        ) from error


def _is_whole(checkpoint: Path) -> bool:
    try:
        return isinstance(json.loads((checkpoint / _STATE).read_text("utf-8")), dict)
    except (OSError, ValueError):
        return False
