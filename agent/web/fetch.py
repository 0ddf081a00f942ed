"""Fetching a page: a GET that cannot be used to attack this machine or its network.

Search engines, and sites through redirects, decide which pages are fetched. So each hop is checked, from
the scheme to the address; time and size are limited; and no cookies or passwords are sent.

Only addresses of the public internet are fetched. A name is looked up once, all its addresses must be
public, and the connection is made to one of these by number. So a name that resolves to another address a
moment later (DNS rebinding) cannot evade the check. Nor can odd spellings of an address (``2130706433``,
``0x7f.1``, ``127.1``), because the result of the lookup is checked.

A name lookup or a TLS handshake cannot be interrupted, and a server that sends a byte every few seconds
never exceeds a timeout between bytes. So such work runs in its own thread, which the caller can abandon: it
ends at its own timeouts or with the process, and its result is dropped.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, TypeAlias, TypeVar
from urllib.robotparser import RobotFileParser

import httpx

from agent.documents.sources import Fetched
from models.protocols import GenerationCancelled
from traces.errors import DeepthinkError

_AGENT: Final = "deepthink-tui"
_CONNECT_SECONDS: Final = 5.0  # to one address
_MOST_REDIRECTS: Final = 5
_MOST_ADDRESSES: Final = 3
_READABLE_TYPES: Final = frozenset(
    {
        "",  # not declared: the content decides
        "application/octet-stream",  # the same
        "application/pdf",
        "application/x-pdf",
        "application/xhtml+xml",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    }
)
_UNREADABLE_TEXT: Final = frozenset({"text/css", "text/javascript", "text/calendar", "text/event-stream"})
_PLAIN_TYPE: Final = re.compile(r"[a-z0-9.+-]{1,40}/[a-z0-9.+-]{1,80}", re.ASCII)
_LARGEST_ROBOTS: Final = 512 * 1024  # bytes; RFC 9309 requires at least 500 KiB
_CONTACT_DOMAIN: Final = "sec.gov"  # refuses programs that give no contact address
_SAVE_PAGE: Final = "Open the page in a browser, save it, and ingest the file."
_TRY_LATER: Final = "Try again later."
_TICK_SECONDS: Final = 0.1
Result = TypeVar("Result")

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
# Networks that Python 3.11 calls global but that are not public: transition relays, documentation,
# site-local addresses, and a large cloud's address for its own host.
_NOT_PUBLIC: Final = tuple(
    map(
        ipaddress.ip_network,
        ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "fec0::/10", "3fff::/20", "64:ff9b:1::/48"),
    )
)
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


class PageFailed(DeepthinkError, title="This page cannot be fetched", kind="input"):
    """Raised when a page cannot or must not be fetched.

    ``status`` is the HTTP status if the site answered with an error, else 0.
    """

    def __init__(self, message: str, way_out: str = "", *, status: int = 0) -> None:
        super().__init__(message, way_out)
        self.status = status


def is_public(address: str) -> bool:
    """Whether a numeric IPv4 or IPv6 address is public.

    If an IPv6 address embeds an IPv4 address (mapped, 6to4, NAT64), the embedded address decides.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = _embedded_ipv4(ip) or ip
    return (
        ip.is_global
        and not (ip.is_multicast or ip.is_reserved or ip.is_unspecified)
        and not any(ip in network for network in _NOT_PUBLIC if network.version == ip.version)
    )


def look_up(host: str, port: int) -> list[str]:
    """The numeric addresses of ``host``, in the system's order of preference.

    Raises `PageFailed` if the host is unknown.
    """
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # UnicodeError: a label that is empty or too long
        raise PageFailed(
            f"{host} cannot be found.", "Check the address, and that this machine has a network."
        ) from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


def public_addresses(host: str, port: int) -> list[str]:
    """Like `look_up`, for a host that has only public addresses.

    Raises `PageFailed` if the host is unknown, or one of its addresses is not public.
    """
    addresses = look_up(host, port)
    for address in addresses:
        if not is_public(address):
            raise PageFailed(
                f"{host} is on a private network or this machine ({address}) and is not fetched.",
                "Save the page to a file, then ingest that.",
            )
    return addresses


def _embedded_ipv4(address: _Address) -> ipaddress.IPv4Address | None:
    if isinstance(address, ipaddress.IPv4Address):
        return None
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour


def run_within(
    seconds: float, stop: threading.Event | None, work: Callable[[], Result], too_late: DeepthinkError
) -> Result:
    """The result of ``work``, if it ends in time; its exceptions are raised here.

    ``work`` is called in a thread; ``stop`` ends the wait within a tenth of a second. Raises
    ``too_late`` when the time limit is reached, and `GenerationCancelled` if ``stop`` was set.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, name="deepthink-web", daemon=True).start()
    deadline = time.monotonic() + seconds
    while not future.done():
        remaining = deadline - time.monotonic()
        if stop is not None and stop.is_set():
            raise GenerationCancelled("Waiting for the web was stopped.")
        if remaining <= 0:
            raise too_late
        wait([future], min(remaining, _TICK_SECONDS))
    return future.result()


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one fetch."""

    read: float = 10.0  # seconds between two pieces of the response
    total: float = 30.0  # seconds in total: lookup, redirects, robots.txt, the whole page
    size: int = 10 * 1024 * 1024  # bytes of the decompressed page


class Fetcher:
    """Fetches pages for one run or command. Thread-safe.

    Proxies from the environment are not used: a proxy looks up names itself, so the address could not be
    checked. ``contact`` is an e-mail address, sent only to the SEC's sites; ``allowed_hosts`` are servers
    (``host:port``) whose address is not checked.
    """

    def __init__(
        self,
        *,
        contact: str = "",
        limits: Limits | None = None,
        allowed_hosts: frozenset[str] = frozenset(),
    ) -> None:
        self._contact = contact
        self._limits = limits or Limits()
        self._allowed = allowed_hosts
        # Of each site visited so far: what it asks programs not to fetch; None if it does not say.
        self._robots: dict[str, RobotFileParser | None] = {}
        self._trust: ssl.SSLContext | None = None

    def fetch(self, url: str, *, robots: bool = True, stop: threading.Event | None = None) -> Fetched:
        """Fetch the page at ``url``; ``stop`` ends the wait within a tenth of a second.

        ``robots``: whether to obey the site's robots.txt, which is for programs that choose pages
        themselves. A page that the user names is fetched as a browser would. Raises `PageFailed` if it
        cannot or must not be fetched, or its type is not supported, and `GenerationCancelled` if ``stop``
        was set.
        """
        start = _web_address(url)
        abandoned = threading.Event()
        seconds = self._limits.total
        try:
            return run_within(
                seconds,
                stop,
                lambda: self._follow(start, abandoned, self._limits.size, robots=robots),
                PageFailed(f"{start.host} takes longer than {seconds:g} seconds.", _TRY_LATER),
            )
        finally:
            abandoned.set()

    def _follow(
        self, url: httpx.URL, abandoned: threading.Event, size: int, *, robots: bool, any_kind: bool = False
    ) -> Fetched:
        """The page at ``url``, after redirects; every hop is checked like the first."""
        for _ in range(_MOST_REDIRECTS + 1):
            if robots:
                self._require_allowed(url, abandoned)
            answer = self._hop(url, abandoned, size, any_kind=any_kind)
            if isinstance(answer, Fetched):
                return answer
            url = answer
        raise PageFailed(f"{url.host} redirects more than {_MOST_REDIRECTS} times.", _SAVE_PAGE)

    def _require_allowed(self, url: httpx.URL, abandoned: threading.Event) -> None:
        """Raise `PageFailed` unless the robots.txt of the site lets programs fetch ``url``.

        As in RFC 9309, a site without robots.txt (any 4xx) allows everything, and a site that cannot
        deliver it allows nothing. Python's parser is simpler than the RFC: it takes the first matching
        rule, not the longest, and does not support ``*`` in a path.
        """
        robots_url = url.copy_with(path="/robots.txt", query=None, fragment=None)
        site = str(robots_url)
        if site not in self._robots:
            self._robots[site] = self._rules(robots_url, abandoned)
        rules = self._robots[site]
        if rules is None:
            raise PageFailed(
                f"{url.host} does not say what programs may fetch (its robots.txt fails).", _SAVE_PAGE
            )
        if not rules.can_fetch(_AGENT, str(url)):
            raise PageFailed(f"{url.host} asks programs not to fetch this page (robots.txt).", _SAVE_PAGE)

    def _rules(self, robots_url: httpx.URL, abandoned: threading.Event) -> RobotFileParser | None:
        try:
            page = self._follow(robots_url, abandoned, _LARGEST_ROBOTS, robots=False, any_kind=True)
            text = page.data.decode("utf-8-sig", "replace")
        except PageFailed as failure:
            if not failure.status:
                raise  # the site cannot be reached, so the page would fail in the same way
            if not 400 <= failure.status < 500:
                return None
            text = ""
        rules = RobotFileParser()
        rules.parse(text.splitlines())
        return rules

    def _hop(
        self, url: httpx.URL, abandoned: threading.Event, size: int, *, any_kind: bool
    ) -> Fetched | httpx.URL:
        """One request: the page, or the address of a redirect."""
        if self._trust is None:
            self._trust = httpx.create_ssl_context()
        host, port = url.raw_host.decode("ascii"), _port(url)
        addresses = (look_up if f"{host}:{port}" in self._allowed else public_addresses)(host, port)
        try:
            # Only the transport: httpx's client would add cookies, passwords and redirects. A new one for
            # each hop, because an open connection would be reused for another name at the same address.
            with httpx.HTTPTransport(verify=self._trust, trust_env=False) as transport:
                response = self._request(transport, url, addresses)
                try:
                    if response.has_redirect_location:
                        return _web_address(response.headers["location"], url)
                    _require_success(url, response.status_code, has_contact=bool(self._contact))
                    media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
                    if not any_kind:
                        _require_readable(url, media_type)
                    data = _body(response, url, size, abandoned)
                    return Fetched(str(url), media_type, response.charset_encoding or "", data)
                finally:
                    response.close()
        except httpx.HTTPError as error:
            raise _page_failure(error, url) from error

    def _request(
        self, transport: httpx.HTTPTransport, url: httpx.URL, addresses: list[str]
    ) -> httpx.Response:
        """The response of the first address that accepts a connection.

        The URL has the address in place of the name, so that the checked address is used and nothing is
        looked up again. The name is in the Host header and in the TLS handshake, which verifies the
        certificate against it.
        """
        host = url.raw_host.decode("ascii")
        headers = {
            "Host": url.netloc.decode("ascii"),
            "User-Agent": f"{_AGENT} {self._contact}".rstrip() if _wants_contact(url) else _AGENT,
            "Accept": "text/html, application/xhtml+xml, application/pdf, text/*; q=0.9, */*; q=0.1",
            "Accept-Encoding": "gzip",
            "Connection": "close",
        }
        timeout = httpx.Timeout(self._limits.read, connect=_CONNECT_SECONDS)
        extensions = {"sni_hostname": host, "timeout": timeout.as_dict()}
        failure: httpx.TransportError | None = None
        for address in addresses[:_MOST_ADDRESSES]:
            request = httpx.Request(
                "GET", url.copy_with(host=address), headers=headers, extensions=extensions
            )
            try:
                return transport.handle_request(request)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                failure = error
        assert failure is not None, "a known host has an address"
        raise failure


def _web_address(text: str, page: httpx.URL | None = None) -> httpx.URL:
    """The address in ``text``, of a redirect if it comes from a ``page``.

    Raises `PageFailed` if it is not the address of a web page, or must not be fetched.
    """
    invalid = PageFailed("That is not a web address.", "It has to begin with https://.")
    if page:
        invalid = PageFailed(f"{page.host} redirects to an invalid address.", _SAVE_PAGE)
    try:
        url = (page.join(text) if page else httpx.URL(text)).copy_with(fragment=None)
        if url.scheme not in {"http", "https", ""}:
            raise PageFailed(
                f"{url.scheme}: is not fetched, only http and https.",
                "Save the page to a file, then ingest that.",
            )
        if not url.scheme or not url.host:
            raise invalid
        if url.userinfo:
            raise PageFailed(
                f"The address at {url.host} contains a name or password, which is not sent.",
                "Give the address without it.",
            )
        if not 0 < _port(url) < 1 << 16:
            raise PageFailed(f"{url.host} has no port {url.port}.", "Correct the address.")
    except (httpx.InvalidURL, ValueError) as error:  # idna raises UnicodeError, which is a ValueError
        raise invalid from error
    return url


def _port(url: httpx.URL) -> int:
    return url.port if url.port is not None else 443 if url.scheme == "https" else 80


def _wants_contact(url: httpx.URL) -> bool:
    return url.host == _CONTACT_DOMAIN or url.host.endswith(f".{_CONTACT_DOMAIN}")


def _require_success(url: httpx.URL, status: int, *, has_contact: bool) -> None:
    if status == 200:
        return
    try:
        answer = f"{status} ({HTTPStatus(status).phrase})"
    except ValueError:
        answer = str(status)
    way_out = "Check the address."
    if status == 403 and _wants_contact(url) and not has_contact:
        way_out = "It asks programs for an e-mail address: `deepthink config set web_contact ADDRESS`."
    elif status in {401, 402, 403, 429, 451}:
        way_out = _SAVE_PAGE
    elif status >= 500:
        way_out = _TRY_LATER
    raise PageFailed(f"{url.host} answers {answer}.", way_out, status=status)


def _require_readable(url: httpx.URL, media_type: str) -> None:
    if media_type in _READABLE_TYPES or (
        media_type.startswith("text/") and media_type not in _UNREADABLE_TEXT
    ):
        return
    kind = media_type if _PLAIN_TYPE.fullmatch(media_type) else "of a kind that has no name"
    raise PageFailed(
        f"{url.host} sends a page that is {kind}, which cannot be read.",
        "HTML, PDF, DOCX, Markdown, CSV and plain text can.",
    )


def _body(response: httpx.Response, url: httpx.URL, size: int, abandoned: threading.Event) -> bytes:
    """The page, decompressed here piece by piece: a small response may decompress to gigabytes."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    if encoding not in {"", "identity", "gzip", "x-gzip"}:
        raise PageFailed(f"{url.host} compresses the page in a way that was not requested.", _SAVE_PAGE)
    unpack = zlib.decompressobj(wbits=31) if encoding.endswith("gzip") else None
    data = bytearray()
    for piece in response.iter_raw():
        if abandoned.is_set():
            raise PageFailed(f"{url.host} took too long.")
        try:
            data += unpack.decompress(piece, size + 1 - len(data)) if unpack else piece
        except zlib.error as error:
            raise PageFailed(f"{url.host} sends a damaged page.", _TRY_LATER) from error
        if len(data) > size:
            raise PageFailed(
                f"{url.host} sends a page of more than {size / 2**20:,.0f} MB.",
                "Download it, then ingest the file.",
                status=response.status_code,
            )
    if unpack is not None and not unpack.eof:
        raise PageFailed(f"{url.host} stops in the middle of the page.", _TRY_LATER)
    return bytes(data)


def _page_failure(error: httpx.HTTPError, url: httpx.URL) -> PageFailed:
    if "CERTIFICATE_VERIFY_FAILED" in str(error):
        return PageFailed(f"{url.host} has no valid certificate.", _SAVE_PAGE)
    if isinstance(error, httpx.TimeoutException):
        return PageFailed(f"{url.host} does not answer in time.", _TRY_LATER)
    if isinstance(error, httpx.ConnectError):
        return PageFailed(f"{url.host} cannot be reached.", "Check that this machine has a network.")
    return PageFailed(f"{url.host} stops early or sends an invalid response.", _TRY_LATER)
