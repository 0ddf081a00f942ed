"""The wheel holds all of the product and nothing else, and runs from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[1]
_PACKAGES = ("agent", "models", "policy", "traces", "tui")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(_ROOT)],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_every_source_file_and_all_package_data(wheel: Path) -> None:
    # From git, so that an ignore rule that swallows a package cannot swallow the expectation too.
    tracked = subprocess.run(
        ["git", "ls-files", *_PACKAGES], cwd=_ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\n")
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {name for name in tracked if name}
    assert "traces/migrations/0001_library.sql" in names
    assert "agent/documents/sample_library/questions.jsonl" in names


def test_the_wheel_carries_its_licence_and_scripts(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = next(n.split("/")[0] for n in archive.namelist() if ".dist-info/" in n)
        assert f"{info}/licenses/LICENSE" in archive.namelist()
        assert "deepthink = tui.__main__:main" in archive.read(f"{info}/entry_points.txt").decode()


def test_the_installed_wheel_runs_from_another_folder(wheel: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    # -P and PYTHONPATH put the unpacked wheel before this checkout, which stands beside no test here.
    program = (
        "import tui.cli, sys; print(tui.cli.__file__); sys.argv = ['deepthink', 'paths']; tui.cli.main()"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith(str(site)), done.stderr
    assert done.returncode == 0
