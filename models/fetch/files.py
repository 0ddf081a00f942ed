"""The files of a pull: partial, complete, and known to be the published ones.

A ``.part`` file is always a prefix of the finished file, whichever source wrote it. So its length alone
says where the next byte goes, and the sha256 over the whole file settles at the end whether all bytes
are right.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from models.catalogue import ModelFile
from models.protocols import GenerationCancelled, ModelError

SourceName = Literal["publisher", "wheels"]
PullPhase = Literal["waiting", "fetching", "checking", "done"]

BLOCK: Final = 1 << 20
_CHECKED: Final = ".checked.json"


class ChecksumMismatch(ModelError):
    """Raised when a whole file does not have the sha256 that the catalogue lists."""

    title = "The model file is not the published one"


class PullCancelled(GenerationCancelled):
    """Raised when the ``cancel`` event of a pull was set; what was fetched so far is kept."""


class SourceFailed(Exception):
    """Raised when one source gives up, so that the next one is tried.

    Args:
        reason: A clause that completes "<source>: …", shown if all sources fail.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a pull has come.

    Attributes:
        phase: ``waiting`` for another process with the same pull, ``fetching``, ``checking`` or ``done``.
        done: Bytes fetched, of all files of the model; in the ``checking`` phase bytes checked.
        source: Who delivers the bytes, if anybody does.
        detail: A host, a wheel, or why a source was given up.
    """

    model: str
    phase: PullPhase
    done: int
    total: int
    source: SourceName | None = None
    detail: str = ""


@dataclass(slots=True)
class Watch:
    """Reports a pull's progress to its caller, and its caller's cancel event to the pull.

    Attributes:
        finished: Bytes of the files that are already in place.
    """

    model: str
    total: int
    progress: Callable[[PullProgress], None]
    cancel: threading.Event | None = None
    finished: int = 0

    def report(
        self, phase: PullPhase, done_in_file: int, source: SourceName | None = None, detail: str = ""
    ) -> None:
        """Report progress; ``done_in_file`` counts the current file only. Raises `PullCancelled`."""
        self.pause(0)
        done = min(self.finished + done_in_file, self.total)
        self.progress(PullProgress(self.model, phase, done, self.total, source, detail))

    def pause(self, seconds: float) -> None:
        """Sleep until the time is over or the cancel event is set. Raises `PullCancelled`."""
        cancel = self.cancel or threading.Event()
        if cancel.wait(seconds) if seconds else cancel.is_set():
            raise PullCancelled(f"The pull of {self.model} was cancelled.", "Pull again to resume it.")


class PartFile:
    """The growing ``.part`` file of one `ModelFile`; bytes left there by an earlier pull are kept."""

    def __init__(self, path: Path, file: ModelFile) -> None:
        self.path = path
        self.file = file
        if self.length > file.size:
            self.truncate(0)

    @property
    def length(self) -> int:
        """Bytes so far; 0 if there is no file yet."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def complete(self) -> bool:
        """Whether all bytes are there, right or wrong."""
        return self.length == self.file.size

    def append(self, blocks: Iterable[bytes], wrote: Callable[[int], None]) -> None:
        """Write ``blocks`` at the end and call ``wrote`` with the new length after each.

        Bytes beyond the file's size are dropped. If ``blocks`` or ``wrote`` raises, the rest stays.
        """
        with self.path.open("ab") as stream:
            length = stream.seek(0, os.SEEK_END)
            for block in blocks:
                fitting = block[: self.file.size - length]
                stream.write(fitting)
                length += len(fitting)
                wrote(length)
            stream.flush()
            os.fsync(stream.fileno())

    def truncate(self, length: int) -> None:
        """Forget what was written beyond ``length``; 0 deletes the file."""
        if not length:
            self.path.unlink(missing_ok=True)
        elif self.length > length:
            os.truncate(self.path, length)

    def check(self, watch: Watch) -> None:
        """As `check_file`; a wrong file is deleted."""
        try:
            check_file(self.path, self.file, watch)
        except ChecksumMismatch:
            self.truncate(0)
            raise


def check_file(path: Path, file: ModelFile, watch: Watch) -> None:
    """Raise `ChecksumMismatch` unless ``path`` has the size and sha256 that ``file`` lists."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as stream:
        while block := stream.read(8 * BLOCK):
            digest.update(block)
            size += len(block)
            watch.report("checking", size, detail=file.path)
    actual = digest.hexdigest()
    if size != file.size or actual != file.sha256:
        raise ChecksumMismatch(
            f"{file.path} of {watch.model} has {size} bytes and sha256 {actual}; the "
            f"catalogue lists {file.size} bytes and sha256 {file.sha256}.",
            f"Run “deepthink models pull {watch.model}” to fetch it again. If that fails the same way, "
            f"get {file.origin} on another machine and copy it over.",
        )


class CheckedFiles:
    """Remembers which files of a model were hashed and found right, in a file beside them.

    A record holds size, time of change and sha256. It is valid while all three are the same, so a file that
    was copied there by hand, or changed since, is hashed again.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        try:
            known = json.loads((home / _CHECKED).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # missing or damaged: hashing writes it again
            known = {}
        self._known: dict[str, list[int | str]] = known if isinstance(known, dict) else {}

    def check(self, file: ModelFile, watch: Watch, *, again: bool = False) -> None:
        """Hash ``file`` unless its record is valid, or in any case if ``again``; as `check_file`."""
        stamp = self._stamp(file)  # before hashing: a change meanwhile is noticed next time
        if again or self._known.get(file.path) != stamp:
            check_file(self._home / file.path, file, watch)
            self._record(file.path, stamp)

    def add(self, file: ModelFile) -> None:
        """Record that ``file``, as it is now, is right."""
        self._record(file.path, self._stamp(file))

    def _stamp(self, file: ModelFile) -> list[int | str]:
        state = (self._home / file.path).stat()
        return [state.st_size, state.st_mtime_ns, file.sha256]

    def _record(self, path: str, stamp: list[int | str]) -> None:
        if self._known.get(path) == stamp:
            return
        self._known[path] = stamp
        try:
            (self._home / _CHECKED).write_text(json.dumps(self._known, indent=1), encoding="utf-8")
        except OSError:
            # A folder that cannot be written to: its files are hashed at each start, a second a
            # gigabyte. Trusting their sizes would trust whoever filled the folder.
            return
