"""Model files from their publisher over HTTP; interrupted downloads are resumed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import httpx

from models.fetch.files import PartFile, SourceFailed, SourceName, Watch

_TIMEOUT: Final = httpx.Timeout(10.0, connect=5.0)
_ATTEMPTS: Final = 3
_PAUSE_SECONDS: Final = 0.5
_FORGET_AFTER_SECONDS: Final = 600.0


class _BrokenOff(Exception):
    """Raised when a connection ends before the file does; requesting the rest may help."""


class PublisherSource:
    """Fetches from ``ModelFile.url`` with httpx, which uses the usual proxy variables.

    An unreachable host is skipped for ten minutes: otherwise each file would wait for the connection
    time-out.
    """

    name: SourceName = "publisher"

    def __init__(self) -> None:
        self._unreachable: dict[str, tuple[float, str]] = {}

    def fill(self, part: PartFile, watch: Watch) -> None:
        """Append to ``part`` until it is complete; raises `SourceFailed` if that is not possible."""
        host = urlsplit(part.file.url).netloc
        since, reason = self._unreachable.get(host, (0.0, ""))
        if reason and time.monotonic() - since < _FORGET_AFTER_SECONDS:
            raise SourceFailed(reason)
        failures = 0
        with _client() as client:
            while not part.complete:
                before = part.length
                watch.report("fetching", before, self.name, host)
                try:
                    self._request(client, part, watch, host)
                except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError) as error:
                    reason = f"{host} cannot be reached ({_clause(error)})"
                    self._unreachable[host] = (time.monotonic(), reason)
                    raise SourceFailed(reason) from error
                except (httpx.TransportError, _BrokenOff) as error:
                    failures = 1 if part.length > before else failures + 1
                    if failures >= _ATTEMPTS:
                        raise SourceFailed(f"{host} drops the connection ({_clause(error)})") from error
                    watch.pause(_PAUSE_SECONDS)
                except httpx.HTTPError as error:
                    raise SourceFailed(f"{host} gives an invalid answer ({_clause(error)})") from error

    def _request(self, client: httpx.Client, part: PartFile, watch: Watch, host: str) -> None:
        """Request the missing bytes of ``part`` once."""
        start = part.length
        headers = {"Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
        with client.stream("GET", part.file.url, headers=headers) as response:
            _accept(response, part, start, host)
            part.append(
                _blocks(response, watch),
                lambda length: watch.report("fetching", length, self.name, host),
            )
        if part.length <= start:
            raise _BrokenOff("nothing more arrives")


def _client() -> httpx.Client:
    try:
        return httpx.Client(timeout=_TIMEOUT, follow_redirects=True)
    except (ImportError, ValueError) as error:
        # A SOCKS proxy without its extra package, or a proxy variable that is not an address.
        raise SourceFailed(f"the proxy settings cannot be used ({_clause(error)})") from error


def _accept(response: httpx.Response, part: PartFile, start: int, host: str) -> None:
    """Reject a response that is not the file; start over if the server ignores the range.

    The sign-in page of a public network answers 200, but has another length.
    """
    if response.status_code not in (200, 206):
        raise SourceFailed(f"{host} answers {response.status_code}")
    if response.status_code == 206:
        span, _, total = response.headers.get("Content-Range", "").partition("/")
        if span.split("-")[0].strip() != f"bytes {start}":
            raise SourceFailed(f"{host} sends a different range than requested")
    else:
        total = response.headers.get("Content-Length", "")
    if total.isdigit() and int(total) != part.file.size:
        raise SourceFailed(f"{host} offers {total} bytes for {part.file.path}, which is not its size")
    if response.status_code == 200:
        part.truncate(0)


def _blocks(response: httpx.Response, watch: Watch) -> Iterator[bytes]:
    # No block size: httpx loses the data buffered for a larger block if the connection breaks.
    for block in response.iter_raw():
        watch.pause(0)
        yield block


def _clause(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
