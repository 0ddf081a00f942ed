"""Searching the web: the protocol of an engine, and two engines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol
from urllib.parse import urlsplit

import httpx
from pydantic import BaseModel, ValidationError

from traces.errors import DeepthinkError

_PATIENCE_SECONDS: Final = 5
WAY_OUT: Final = "Check the network, or name another engine: `deepthink config set web_search URL`."


class WebUnreachable(DeepthinkError, title="The web cannot be searched", kind="input"):
    """Raised when the web cannot be searched: there is no network, or the engine does not answer."""


class SearchEngine(Protocol):
    """Finds pages on the web."""

    @property
    def name(self) -> str:
        """The engine's name for the user."""

    def search(self, query: str, limit: int) -> list[str]:
        """The URLs of up to ``limit`` pages for ``query``, best first.

        Raises `WebUnreachable` if the engine does not answer, or answers with an error.
        """


class Ddgs:
    """DuckDuckGo, Brave and Mojeek through the ``ddgs`` package, which needs no key.

    Three engines with their own indexes, because each refuses programs at times. By default the package
    asks up to nine engines, so that more companies would see the query, and Wikipedia in one language.

    Unlike for SearXNG and pages, proxies from the environment are used (``HTTPS_PROXY`` and others,
    ``DDGS_PROXY``): the package has no option to turn them off.
    """

    name = "ddgs"
    _ENGINES: Final = "duckduckgo,brave,mojeek"
    _NOTHING: Final = "No results found."  # the package raises its base exception with this message

    def search(self, query: str, limit: int) -> list[str]:
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        try:
            results = DDGS(timeout=_PATIENCE_SECONDS).text(query, max_results=limit, backend=self._ENGINES)
        except RatelimitException as error:
            raise WebUnreachable(
                "The search engines accept no more searches for now.",
                "Wait a few minutes, or name a SearXNG server: `deepthink config set web_search URL`.",
            ) from error
        except TimeoutException as error:
            raise WebUnreachable("The search engines do not answer in time.", WAY_OUT) from error
        except DDGSException as error:
            if str(error) == self._NOTHING:
                return []
            raise WebUnreachable("No search engine can be reached.", WAY_OUT) from error
        return _usable((str(entry.get("href", "")) for entry in results), limit)


class _Entry(BaseModel):
    url: str


class _Answer(BaseModel):
    results: list[_Entry]


# What a SearXNG server does that answers with this status, and what helps.
_REFUSALS: Final = {
    403: (
        "does not give its results to programs",
        "Add `json` to `search: formats:` in its settings.yml and start it again.",
    ),
    429: (
        "accepts no more searches for now",
        "Wait a few minutes, or turn off its limiter if it is your own server.",
    ),
}


class Searxng:
    """A SearXNG server, through its JSON interface.

    The user configures its address, so it may be on this machine or its network; the pages that it finds
    are fetched with all checks. Proxies from the environment are not used: the server is usually nearby.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self.name = f"SearXNG at {urlsplit(url).netloc.rpartition('@')[2]}"

    def search(self, query: str, limit: int) -> list[str]:
        try:
            answer = httpx.get(
                f"{self._url}/search",
                params={"q": query, "format": "json"},
                timeout=httpx.Timeout(2.0 * _PATIENCE_SECONDS, connect=_PATIENCE_SECONDS),
                trust_env=False,
                verify=httpx.create_ssl_context(),
            )
        except httpx.TimeoutException as error:
            raise WebUnreachable(f"{self.name} does not answer in time.", WAY_OUT) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            reason = str(error).strip().rstrip(".") or type(error).__name__
            raise WebUnreachable(
                f"{self.name} cannot be reached ({reason}).",
                "Start it, or correct its address: `deepthink config set web_search URL`.",
            ) from error
        if answer.status_code != 200:
            does, way_out = _REFUSALS.get(answer.status_code, (f"answers {answer.status_code}", WAY_OUT))
            raise WebUnreachable(f"{self.name} {does}.", way_out)
        try:
            entries = _Answer.model_validate_json(answer.content).results
        except ValidationError as error:
            raise WebUnreachable(
                f"The server that answers as {self.name} is not a SearXNG server.",
                "Correct the address: `deepthink config set web_search URL`.",
            ) from error
        return _usable((entry.url for entry in entries), limit)


def _usable(urls: Iterable[str], limit: int) -> list[str]:
    """The first ``limit`` web pages, each once; engines also return mail addresses and files."""
    pages = (url for url in urls if url.startswith(("http://", "https://")) and url.isprintable())
    return list(dict.fromkeys(pages))[:limit]
