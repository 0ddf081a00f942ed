"""Training errors that the user can do something about."""

from __future__ import annotations

import errno

from traces.errors import DeepthinkError


class CannotTrain(DeepthinkError):
    """Raised when the data to learn from is insufficient or invalid."""

    title = "There is nothing to learn from yet"
    kind = "input"


class NoBase(CannotTrain):
    """Raised when a base model is named for a method that adapts none."""

    title = "No base model is needed"


class UnusedOption(DeepthinkError):
    """Raised when an option is given that the method does not use."""

    title = "Not an option of this method"
    kind = "usage"


class TrainingFailed(DeepthinkError):
    """Raised when a training failed: the loss is not a number, or the disk is full."""

    title = "The training broke off"
    kind = "internal"


class TrainingCancelled(DeepthinkError):
    """Raised when the user stopped the training; what was learned so far is kept."""

    title = "Cancelled"
    kind = "cancelled"


_FULL = ("No space left", "os error 28", "PytorchStreamWriter", "unexpected pos")
# How the libraries report a full disk: safetensors repeats the system's message, torch has its own.


def is_full_disk(error: BaseException) -> bool:
    """Whether a library failed because the disk is full."""
    if isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return True
    return any(words in str(error) for words in _FULL)
