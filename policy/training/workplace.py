"""The folder and checkpoints of a training: a killed one does not repeat finished work."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from agent.decisions.decider import STATE_VERSION
from policy.decisions.returns import Examples
from policy.training.progress import TrainingFailed
from policy.training.request import TrainingRequest
from traces.paths import data_dir

_STATE: Final = "trainer_state.json"  # the trainer writes it last in a checkpoint
_TRAINED: Final = "trained"
_TARGETS: Final = "targets.safetensors"


class Workplace:
    """The folder of one training, determined by the request and the sha256 of its data and base."""

    def __init__(self, request: TrainingRequest, data: str, base: str) -> None:
        options = [request.method, request.cost, request.seed, request.epochs, request.steps]
        key = json.dumps([*options, data, base, STATE_VERSION]).encode()
        self.folder = folder() / hashlib.sha256(key).hexdigest()[:16]
        self.folder.mkdir(parents=True, exist_ok=True)
        self.checkpoints = self.folder / "checkpoints"
        """Folder of the checkpoints."""

    @property
    def trained(self) -> Path | None:
        """The trained scorer, if training is finished."""
        path = self.folder / _TRAINED
        return path if path.is_dir() else None

    def keep_trained(self, save: Callable[[Path], None]) -> None:
        """Save the trained scorer; it appears completely or not at all."""
        temporary = self.folder / f".{_TRAINED}"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        save(temporary)
        temporary.rename(self.folder / _TRAINED)

    def targets(self, plain: Examples, make: Callable[[], Examples]) -> Examples:
        """``make()``, which takes minutes, or its earlier result.

        Args:
            plain: The same states in the same order, with targets that are quick to compute.
            make: Computes the targets to learn from.
        """
        from safetensors.numpy import load_file, save_file

        path = self.folder / _TARGETS
        if path.is_file():
            return replace(plain, values=load_file(path)["values"])
        targets = make()
        temporary = path.with_suffix(f".{os.getpid()}")  # several processes may train together
        save_file({"values": targets.values}, temporary)
        temporary.rename(path)
        return targets

    def clear(self) -> None:
        """Remove the folder once the policy is written."""
        shutil.rmtree(self.folder, ignore_errors=True)


def folder() -> Path:
    """The folder of all unfinished trainings."""
    return data_dir() / "training"


def newest(folder: Path) -> Path | None:
    """The newest complete checkpoint in ``folder``, None if there is none.

    A checkpoint that a kill left half written is removed.
    """
    checkpoints = folder.glob("checkpoint-*")
    for path in sorted(checkpoints, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        if _is_whole(path):
            return path
        shutil.rmtree(path)
    return None


def check_room(folder: Path, needed: int) -> None:
    """Check that ``needed`` bytes fit into the file system of ``folder``, before any computation.

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
def reporting_full_disk(folder: Path) -> Iterator[None]:
    """Report a full disk as one, whatever error the library raises.

    Raises:
        TrainingFailed: in place of that error.
    """
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        if not _is_full_disk(error):
            raise
        raise TrainingFailed(
            f"There is no space for the checkpoint in {folder}; the last whole one is kept.",
            "Make room and start again with the same command: it resumes from there.",
        ) from error


def _is_whole(checkpoint: Path) -> bool:
    try:
        return isinstance(json.loads((checkpoint / _STATE).read_text("utf-8")), dict)
    except (OSError, ValueError):
        return False


_FULL = ("No space left", "os error 28", "PytorchStreamWriter", "unexpected pos")
# How the libraries report a full disk: safetensors repeats the system's message, torch has its own.


def _is_full_disk(error: BaseException) -> bool:
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return True
    return any(words in str(error) for words in _FULL)
