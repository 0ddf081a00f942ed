"""Searching the web: one protocol, and the two engines behind it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from agent.web.errors import WebUnreachable

if TYPE_CHECKING:
    import httpx

_PATIENCE_SECONDS: Final = 5
_WAY_OUT: Final = "Check the network, or name another engine: `deepthink config set web_search URL`."


@dataclass(frozen=True, slots=True)
class SearchResult:
    """A page that an engine proposes; ``snippet`` is the engine's own excerpt."""

    url: str
    title: str
    snippet: str


class SearchEngine(Protocol):
    """Finds pages on the web."""

    @property
    def name(self) -> str:
        """How a person names this engine."""
        ...

    def search(self, query: str, limit: int) -> list[SearchResult]:
        """Up to ``limit`` pages for ``query``, the best first; empty where nothing is found.

        Raises:
            WebUnreachable: the engine does not answer, or not as it should.
        """
        ...


class Ddgs:
    """DuckDuckGo, Brave and Mojeek through the ``ddgs`` package, which needs no key.

    Three engines with an index each, because each of them turns programs away at times. The package's
    own default asks up to nine, some of which the query need not be told to; and one that asks none of
    Wikipedia's editions is independent of the language of the question.

    Unlike a SearXNG server and the pages themselves, the engines are asked through a proxy if the
    environment names one (``HTTPS_PROXY`` and its like, ``DDGS_PROXY``): the package cannot be told not to.
    """

    name = "ddgs"
    _ENGINES: Final = "duckduckgo,brave,mojeek"
    _NOTHING: Final = "No results found."  # the package says so by raising its base exception

    def search(self, query: str, limit: int) -> list[SearchResult]:
        """See `SearchEngine.search`."""
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException

        try:
            found = DDGS(timeout=_PATIENCE_SECONDS).text(query, max_results=limit, backend=self._ENGINES)
        except RatelimitException as error:
            raise WebUnreachable(
                "The search engines turn away more searches for now.",
                "Wait some minutes, or name a SearXNG server: `deepthink config set web_search URL`.",
            ) from error
        except TimeoutException as error:
            raise WebUnreachable("The search engines do not answer in time.", _WAY_OUT) from error
        except DDGSException as error:
            if str(error) == self._NOTHING:
                return []
            raise WebUnreachable("No search engine can be reached.", _WAY_OUT) from error
        return _usable(
            [(str(e.get("href", "")), str(e.get("title", "")), str(e.get("body", ""))) for e in found],
            limit,
        )


class _Entry(BaseModel):
    url: str
    title: str | None = ""
    content: str | None = ""


class _Answer(BaseModel):
    results: list[_Entry]


class Searxng:
    """A SearXNG server, by its JSON interface.

    Its address is the person's own configuration, so it may be on this machine or in its network; what
    it finds is fetched with all guards. Proxies from the environment are not used: for most people it
    is a server nearby.

    Args:
        url: Where the server is, e.g. ``http://127.0.0.1:8888``.
    """

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")
        self.name = f"SearXNG at {urlsplit(url).netloc.rpartition('@')[2]}"

    def search(self, query: str, limit: int) -> list[SearchResult]:
        """See `SearchEngine.search`."""
        import httpx

        try:
            answer = httpx.get(
                f"{self._url}/search",
                params={"q": query, "format": "json"},
                timeout=httpx.Timeout(2.0 * _PATIENCE_SECONDS, connect=_PATIENCE_SECONDS),
                trust_env=False,
                verify=httpx.create_ssl_context(),
            )
        except httpx.TimeoutException as error:
            raise WebUnreachable(f"{self.name} does not answer in time.", _WAY_OUT) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise WebUnreachable(
                f"{self.name} cannot be reached ({_clause(error)}).",
                "Start it, or correct its address: `deepthink config set web_search URL`.",
            ) from error
        self._require(answer)
        try:
            entries = _Answer.model_validate_json(answer.content).results
        except ValidationError as error:
            raise WebUnreachable(
                f"What answers as {self.name} is no SearXNG server.",
                "Correct the address: `deepthink config set web_search URL`.",
            ) from error
        return _usable([(e.url, e.title or "", e.content or "") for e in entries], limit)

    def _require(self, answer: httpx.Response) -> None:
        if answer.status_code == 403:
            raise WebUnreachable(
                f"{self.name} does not give its results to programs.",
                "Add `json` to `search: formats:` in its settings.yml and start it again.",
            )
        if answer.status_code == 429:
            raise WebUnreachable(
                f"{self.name} turns away more searches for now.",
                "Wait some minutes, or switch its limiter off if it is your own.",
            )
        if answer.status_code != 200:
            raise WebUnreachable(f"{self.name} answers {answer.status_code}.", _WAY_OUT)


def _usable(found: Sequence[tuple[str, str, str]], limit: int) -> list[SearchResult]:
    """The first ``limit`` that are web pages, each once; engines also propose mail addresses and files."""
    results: dict[str, SearchResult] = {}
    for url, title, snippet in found:
        if url.startswith(("http://", "https://")) and url.isprintable():
            results.setdefault(url, SearchResult(url, title, snippet))
    return list(results.values())[:limit]


def _clause(error: Exception) -> str:
    return str(error).strip().rstrip(".") or type(error).__name__
