"""What can go wrong while model files are fetched, and what a person can do about it."""

from __future__ import annotations

import errno
from pathlib import Path

from models.protocols import GenerationCancelled, ModelError


class FetchFailed(ModelError):
    """Raised when no source could deliver a model's files."""

    title = "The model could not be fetched"


class ChecksumMismatch(ModelError):
    """Raised when a whole file does not have the sha256 that the catalogue lists."""

    title = "The model file is not the published one"


class DiskFull(ModelError):
    """Raised when the models folder has no room; what was fetched so far is kept."""

    title = "Not enough disk space"


class FolderUnusable(ModelError):
    """Raised when the models folder cannot be written to."""

    title = "The models folder cannot be used"


class PullCancelled(GenerationCancelled):
    """Raised when the ``cancel`` event of a pull was set; what was fetched so far is kept."""


class SourceFailed(Exception):
    """Raised inside this package when one source gives up, so that the next one is tried.

    Args:
        reason: A clause that completes "<source>: …", for the person to read if all sources fail.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_UNUSABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOTDIR,
        errno.EEXIST,
        errno.EIO,
        errno.ENAMETOOLONG,
    }
)


def is_disk_full(error: OSError) -> bool:
    """Whether ``error`` means that a disk or a quota is full."""
    return error.errno in _FULL


def is_folder_unusable(error: OSError) -> bool:
    """Whether ``error`` means that a folder cannot be written to, now or ever."""
    return error.errno in _UNUSABLE


def disk_full(model: str, needed: int, free: int, folder: Path) -> DiskFull:
    """The error for a pull of ``model`` that needs ``needed`` bytes where ``free`` are left."""
    return DiskFull(
        f"Fetching {model} needs {_readable(needed)} of free space in {folder}, which has "
        f"{_readable(free)}.",
        "Make room there, or set DEEPTHINK_MODELS to a folder on a larger disk, and pull again; "
        "what was fetched so far is kept and not fetched twice.",
    )


def _readable(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 100_000_000 else f"{size / 1e6:.2f} MB"
