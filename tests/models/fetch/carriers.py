"""A tiny model of 10,000 bytes in four carrier wheels, and an index that hands the wheels out."""

from __future__ import annotations

import hashlib
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

from models.catalogue import ModelEntry, ModelFile, Piece
from models.fetch.files import PullProgress, SourceFailed

CONTENT = random.Random(7).randbytes(10_000)
PIECE = 3_000
NOWHERE = "http://127.0.0.1:9/tiny.gguf"  # the discard port: nothing answers there


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def tiny_entry(url: str = NOWHERE, content: bytes = CONTENT, carried: bool = True) -> ModelEntry:
    starts = range(0, len(content), PIECE)
    pieces = tuple(
        Piece(f"tiny-part{number}", "1.0", "*/data/part*.bin", len(content[start : start + PIECE]))
        for number, start in enumerate(starts, start=1)
    )
    return ModelEntry(
        name="tiny-0.1",
        role="chat",
        description="",
        licence="",
        files=(ModelFile("tiny.gguf", len(content), sha256(content), url, pieces if carried else ()),),
    )


def write_wheel(folder: Path, distribution: str, members: dict[str, bytes]) -> Path:
    """A wheel that pip accepts."""
    name = distribution.replace("-", "_")
    metadata = f"{name}-1.0.dist-info"
    files = {
        **{f"{name}/{path}": content for path, content in members.items()},
        f"{metadata}/METADATA": (f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n".encode()),
        f"{metadata}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{metadata}/RECORD"])
    wheel = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
        archive.writestr(f"{metadata}/RECORD", record)
    return wheel


def part_members(number: int) -> dict[str, bytes]:
    start = (number - 1) * PIECE
    return {
        "__init__.py": b"raise AssertionError('carriers are never imported')",
        f"data/part{number:02d}.bin": CONTENT[start : start + PIECE],
    }


class TinyIndex:
    """A `WheelDownloader` that builds the wheel it is asked for; ``before`` and ``after`` may interfere."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.before: Callable[[int], None] = lambda _: None
        self.after: Callable[[int, Path], None] = lambda _, __: None

    def __call__(self, distribution: str, version: str, folder: Path, tick: Callable[[], None]) -> Path:
        self.asked.append(distribution)
        stem, _, number = distribution.partition("-part")
        if stem != "tiny" or version != "1.0":
            raise SourceFailed(f"pip could not download {distribution} (no such wheel)")
        self.before(int(number))
        tick()
        wheel = write_wheel(folder, distribution, part_members(int(number)))
        tick()
        self.after(int(number), wheel)
        return wheel


class Listener:
    def __init__(self) -> None:
        self.heard: list[PullProgress] = []

    def __call__(self, progress: PullProgress) -> None:
        self.heard.append(progress)

    def phases(self) -> list[str]:
        phases: list[str] = []
        for progress in self.heard:
            if phases[-1:] != [progress.phase]:
                phases.append(progress.phase)
        return phases
