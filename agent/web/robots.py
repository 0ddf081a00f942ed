"""robots.txt: the pages that a site asks programs not to fetch. Fetched once per site and run."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.robotparser import RobotFileParser

from agent.web.errors import PageFailed

if TYPE_CHECKING:
    import httpx


class Robots:
    """The rules of the sites visited so far.

    As in RFC 9309, a site without robots.txt (any 4xx) allows everything, and a site that cannot deliver it
    allows nothing. Python's parser is simpler than the RFC: it takes the first matching rule, not the
    longest, and does not support ``*`` in a path.

    Args:
        agent: The name of the program in the rules.
    """

    def __init__(self, agent: str) -> None:
        self._agent = agent
        self._known: dict[str, RobotFileParser | None] = {}

    def require(self, url: httpx.URL, read: Callable[[httpx.URL], bytes]) -> None:
        """Raise `PageFailed` unless the site of ``url`` allows programs to fetch it.

        Args:
            url: The page.
            read: Fetches a site's robots.txt, or raises `PageFailed`.
        """
        place = url.copy_with(path="/robots.txt", query=None, fragment=None)
        site = str(place)
        if site not in self._known:
            self._known[site] = self._rules(place, read)
        rules = self._known[site]
        if rules is None:
            raise PageFailed(
                f"{url.host} does not say what programs may fetch (its robots.txt fails).",
                "Open the page in a browser, save it, and ingest the file.",
            )
        if not rules.can_fetch(self._agent, str(url)):
            raise PageFailed(
                f"{url.host} asks programs not to fetch this page (robots.txt).",
                "Open the page in a browser, save it, and ingest the file.",
            )

    @staticmethod
    def _rules(place: httpx.URL, read: Callable[[httpx.URL], bytes]) -> RobotFileParser | None:
        try:
            text = read(place).decode("utf-8-sig", "replace")
        except PageFailed as failed:
            if not failed.status:
                raise  # the site is not reachable: the page would fail in the same way
            if not 400 <= failed.status < 500:
                return None
            text = ""
        rules = RobotFileParser()
        rules.parse(text.splitlines())
        return rules
