"""What can go wrong while model files are fetched, and what a person can do about it."""

from __future__ import annotations

import errno
from pathlib import Path

from models.protocols import GenerationCancelled, ModelError


class FetchFailed(ModelError):
    """Raised when no source could deliver a model's files."""

    title = "The model could not be fetched"


class ChecksumMismatch(ModelError):
    """Raised when a whole file does not have the sha256 its publisher lists."""

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


def gigabytes(size: int) -> str:
    """``size`` bytes as a person reads them: ``1.12 GB``, or ``84 MB`` below a tenth of that."""
    return f"{size / 1e9:.2f} GB" if size >= 100_000_000 else f"{max(size / 1e6, 0.1):.1f} MB"


def disk_full(name: str, needed: int, folder: Path) -> DiskFull:
    """The error for a pull of ``name`` that needs ``needed`` more bytes than ``folder`` has room for."""
    return DiskFull(
        f"Fetching {name} needs {gigabytes(needed)} of free space in {folder}.",
        "Make room there, or set DEEPTHINK_MODELS to a folder on a larger disk, and pull again; "
        "what was fetched so far is kept and not fetched twice.",
    )


def is_disk_full(error: OSError) -> bool:
    """Whether ``error`` means that a disk or a quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT) or getattr(error, "winerror", None) == 112
