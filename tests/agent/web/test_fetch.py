"""The guards of a fetch: which addresses are public, what is refused or bounded, and what goes along."""

from __future__ import annotations

import gzip
import shutil
import socket
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agent.web.fetch import Fetcher, Limits, PageFailed, is_public, public_addresses
from tests.agent.web.loopback import Answer, Site

_PRIVATE = (
    "127.0.0.1 127.8.9.10 10.1.2.3 172.16.0.1 172.31.255.255 192.168.1.1 169.254.169.254 100.64.0.1 "
    "0.0.0.0 0.1.2.3 192.0.0.8 192.0.2.1 198.18.0.1 198.51.100.1 203.0.113.1 192.88.99.1 224.0.0.1 "
    "239.255.255.250 240.0.0.1 255.255.255.255 168.63.129.16 ::1 :: fe80::1 fe80::1%eth0 fec0::1 "
    "fc00::1 fd00:ec2::254 "
    "ff02::1 ff0e::1 2001:db8::1 3fff::1 100::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:10.0.0.1 "
    "::ffff:169.254.169.254 64:ff9b::7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::1 2002:7f00:1:: 2002:c0a8:101::1 "
    "2001::1"
).split()
_PUBLIC = (
    "8.8.8.8 1.1.1.1 172.32.0.1 93.184.215.14 2606:4700::1111 2a00:1450:4001:81b::200e ::ffff:8.8.8.8 "
    "64:ff9b::808:808 2002:808:808::1"
).split()


@pytest.mark.parametrize(
    ("address", "public"),
    [*((address, False) for address in _PRIVATE), *((address, True) for address in _PUBLIC)],
)
def test_what_is_the_public_internet(address: str, public: bool) -> None:
    assert is_public(address) is public


@pytest.mark.parametrize(
    "host",
    ["localhost", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0x7f000001", "0", "::1", "127.0.0.1"],
)
def test_odd_spellings_are_judged_by_what_the_lookup_makes_of_them(host: str) -> None:
    with pytest.raises(PageFailed, match="private network or this machine"):
        public_addresses(host, 80)


@pytest.mark.parametrize("host", ["no-such-host.invalid", "a..b", "x" * 70 + ".org", "exa%20mple.org"])
def test_a_name_that_leads_nowhere_is_a_sentence(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = socket.getaddrinfo

    def without_network(name: str, *rest: object, **more: object) -> object:
        if name.isascii() and ".." not in name and len(name) < 64:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(name, *rest, **more)  # type: ignore[arg-type] # refuses it before asking anyone

    monkeypatch.setattr(socket, "getaddrinfo", without_network)
    with pytest.raises(PageFailed, match="cannot be found"):
        public_addresses(host, 80)


def test_one_private_address_among_public_ones_is_enough_to_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    entries = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("8.8.8.8", "10.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_more: entries)
    with pytest.raises(PageFailed, match=r"10\.0\.0\.1"):
        public_addresses("example.org", 80)


# --- a fetch ------------------------------------------------------------------------------------------

_PACKED = {"Content-Encoding": "gzip"}
_PAGE = b"<html><body><p>Only this is visible.</p></body></html>"


def _fetcher(*sites: Site, **more: Any) -> Fetcher:
    return Fetcher(allowed_hosts=frozenset(site.host for site in sites), **more)


def _refused(fetcher: Fetcher, url: str, *, robots: bool = True) -> str:
    with pytest.raises(PageFailed) as caught:
        fetcher.fetch(url, robots=robots)
    assert caught.value.way_out, "every refusal has a way out"
    return caught.value.message


def _as(monkeypatch: pytest.MonkeyPatch, names: dict[str, list[str]]) -> list[str]:
    """Let names have these addresses; returns the list of names looked up, as it grows."""
    asked: list[str] = []
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in names:
            assert name[0].isdigit(), f"{name} was not to be looked up"
            return real(host, port, *rest, **more)
        asked.append(name)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in names[name]]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    return asked


def test_a_page_comes_with_what_the_site_says_of_it_and_only_what_is_honest_goes_along() -> None:
    told = Answer(_PAGE, "Text/HTML; charset=ISO-8859-1", headers={"Set-Cookie": "who=me"})
    packed = Answer(gzip.compress(_PAGE), None, headers=_PACKED)
    with Site({"/a?b=c": told, "/b": packed}) as site:
        fetcher = _fetcher(site, contact="me@example.org")
        page = fetcher.fetch(f"{site.url}/a?b=c#part")
        assert fetcher.fetch(f"{site.url}/b").data == _PAGE, "unpacked"
    assert (page.url, page.media_type, page.charset) == (f"{site.url}/a?b=c", "text/html", "iso-8859-1")
    assert page.data == _PAGE
    for headers in site.headers:
        assert headers["User-Agent"].startswith("deepthink-tui")
        assert "me@example.org" not in headers["User-Agent"], "that is for the SEC alone"
        assert {"Cookie", "Authorization", "Referer"}.isdisjoint(headers)
    assert site.headers[-1]["Accept-Encoding"] == "gzip"


def test_the_sec_is_told_whom_to_write_to(monkeypatch: pytest.MonkeyPatch) -> None:
    with Site({"/f.htm": _PAGE}) as site:
        _as(monkeypatch, {"www.sec.gov": ["127.0.0.1"]})
        hosts = frozenset({f"www.sec.gov:{site.port}"})
        url = f"http://www.sec.gov:{site.port}/f.htm"
        Fetcher(contact="me@example.org", allowed_hosts=hosts).fetch(url)
        assert site.headers[-1]["User-Agent"].endswith(" me@example.org")
        site.answers["/f.htm"] = Answer(b"undeclared automated tool", status=403)
        with pytest.raises(PageFailed) as caught:
            Fetcher(allowed_hosts=hosts).fetch(url)
    assert "web_contact" in caught.value.way_out


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file:///etc/passwd", "only http and https"),
        ("ftp://example.org/a", "only http and https"),
        ("example.org/a", "not a web address"),
        ("//example.org/a", "not a web address"),
        ("http:///a", "not a web address"),
        ("http://me:secret@example.org/", "name or password"),
        ("http://example.org:0/", "no port"),
        ("http://example.org:99999/", "no port"),
        ("http://exa\x00mple.org/", "not a web address"),
        ("http://xn--a/", "not a web address"),
        ("http://127.0.0.1/", "this machine"),
        ("http://0177.0.0.1/", "not a web address"),
        ("http://127。0。0。1/", "this machine"),
        ("http://[::ffff:a9fe:a9fe]/latest/meta-data/", "this machine"),
    ],
)
def test_what_is_not_the_public_web_is_refused(url: str, words: str) -> None:
    message = _refused(Fetcher(), url)
    assert words in message
    assert "secret" not in message


def test_a_name_that_leads_to_this_machine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with Site({"/": _PAGE}) as site:
        _as(monkeypatch, {"innocent.example": ["127.0.0.1"]})
        assert "127.0.0.1" in _refused(Fetcher(), f"http://innocent.example:{site.port}/")
    assert site.asked == []


def test_what_was_checked_is_what_is_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the second answer for the name would be this machine; nobody asks a second time."""
    connected: list[tuple[str, int]] = []

    def connect(address: tuple[str, int], *_rest: Any, **_more: Any) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    answers = iter([["93.184.215.14"], ["127.0.0.1"], ["127.0.0.1"]])

    def look_up(host: str, port: int, *_rest: Any, **_more: Any) -> Any:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in next(answers)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(PageFailed, match="cannot be reached"):
        Fetcher().fetch("http://rebinding.example/", robots=False)
    assert connected == [("93.184.215.14", 80)]


def test_the_next_address_is_tried_when_one_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with Site({"/": _PAGE}) as site:
        asked = _as(monkeypatch, {"two.example": ["127.0.0.2", "127.0.0.1"]})
        fetcher = Fetcher(allowed_hosts=frozenset({f"two.example:{site.port}"}))
        assert fetcher.fetch(f"http://two.example:{site.port}/", robots=False).data == _PAGE
    assert asked == ["two.example"]
    assert site.headers[-1]["Host"] == f"two.example:{site.port}"


def test_five_redirects_are_enough() -> None:
    statuses = (300, 301, 302, 303, 307, 308)
    hops = {f"/{n}": Answer(status=s, headers={"Location": f"{n + 1}"}) for n, s in enumerate(statuses)}
    with Site({**hops, "/0": Answer(status=302, headers={"Location": "/1"}), "/6": _PAGE}) as site:
        assert _fetcher(site).fetch(f"{site.url}/1", robots=False).url == f"{site.url}/6"
        assert "more than 5 times" in _refused(_fetcher(site), f"{site.url}/0")


@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("http://127.0.0.1:{other}/", "this machine"),
        ("//127.0.0.1:{other}/", "this machine"),
        ("file:///etc/passwd", "only http and https"),
        ("http://me:secret@127.0.0.1:{other}/", "name or password"),
        ("http://xn--a/", "an invalid address"),
    ],
)
def test_a_redirect_is_checked_as_the_first_address_was(target: str, words: str) -> None:
    with Site({"/": _PAGE}) as inside, Site({}) as site:
        location = target.replace("{other}", str(inside.port))
        site.answers["/"] = Answer(status=302, headers={"Location": location})
        assert words in _refused(_fetcher(site), f"{site.url}/")
    assert inside.asked == []


_SMALL = Limits(size=1 << 20)


def _endless(media_type: str = "text/html") -> Answer:
    return Answer((b"x" * 10_000 for _ in iter(int, 1)), media_type)


@pytest.mark.parametrize(
    ("answer", "limits", "words"),
    [
        (Answer(status=404), None, "404 (Not Found)"),
        *((Answer(status=status), None, str(status)) for status in (500, 403, 304, 799)),
        # What cannot be read is refused before its bytes come.
        (_endless("image/png"), None, "cannot be read"),
        (_endless("application/json"), None, "cannot be read"),
        (_endless("x\x9b1m"), None, "cannot be read"),
        (_endless(), _SMALL, "more than 1 MB"),
        (Answer(_PAGE, length=5000), None, "stops early"),
        (Answer(gzip.compress(bytes(50 << 20)), headers=_PACKED), _SMALL, "more than 1 MB"),
        (Answer(gzip.compress(_PAGE)[:-12], headers=_PACKED), None, "stops in the middle"),
        (Answer(_PAGE, headers=_PACKED), None, "damaged"),
        (Answer(_PAGE, headers={"Content-Encoding": "zstd"}), None, "not requested"),
        (Answer(_PAGE, waits=30), Limits(read=0.2), "does not answer in time"),
        (Answer((b"x" for _ in range(1000)), pause=0.05), Limits(read=5, total=0.4), "takes longer"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_answer_that_is_no_page_too_large_damaged_or_slow_is_refused_with_a_sentence(
    answer: Answer, limits: Limits | None, words: str
) -> None:
    with Site({"/": answer}) as site:
        message = _refused(_fetcher(site, limits=limits or Limits()), f"{site.url}/", robots=False)
    assert words in message
    assert message.isprintable()


def test_robots_txt_is_asked_once_and_heeded() -> None:
    rules = b"User-agent: *\nDisallow: /private\n\nUser-agent: deepthink-tui\nDisallow: /not-you\n"
    with Site({"/robots.txt": Answer(rules, "text/plain"), "/a": _PAGE, "/not-you/b": _PAGE}) as site:
        fetcher = _fetcher(site)
        fetcher.fetch(f"{site.url}/a")
        assert "asks programs not to" in _refused(fetcher, f"{site.url}/not-you/b")
        assert fetcher.fetch(f"{site.url}/not-you/b", robots=False).data == _PAGE, "a person named it"
    assert site.asked == ["/robots.txt", "/a", "/not-you/b"]


def test_a_redirect_does_not_lead_around_robots_txt() -> None:
    with Site({"/robots.txt": Answer(b"User-agent: *\nDisallow: /", "text/plain"), "/": _PAGE}) as strict:
        with Site({"/": Answer(status=302, headers={"Location": f"{strict.url}/"})}) as site:
            assert "asks programs not to" in _refused(_fetcher(site, strict), f"{site.url}/")
        assert strict.asked == ["/robots.txt"]


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        (Answer(b"", status=404), True),
        (Answer(b"", status=403), True),
        (Answer(b"<html>a page for every path</html>"), True),
        (Answer(b"", "text/plain"), True),
        (Answer(b"", status=503), False),
        (Answer(b"#" * (1 << 20), "text/plain"), False),
    ],
)
def test_no_robots_txt_allows_and_one_that_fails_does_not(answer: Answer, allowed: bool) -> None:
    with Site({"/robots.txt": answer, "/": _PAGE}) as site:
        if allowed:
            assert _fetcher(site).fetch(f"{site.url}/").data == _PAGE
        else:
            assert "robots.txt fails" in _refused(_fetcher(site), f"{site.url}/")


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with Site({"/": _PAGE}) as site:
        assert _fetcher(site).fetch(f"{site.url}/").data == _PAGE


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for ``site.example`` that signs itself, and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl to make a certificate")
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=site.example", "-addext", "subjectAltName=DNS:site.example"),
            *("-keyout", "key.pem", "-out", "cert.pem"),
        ],
        cwd=folder,
        check=True,
        capture_output=True,
    )
    return folder


def test_certificates_are_checked_against_the_name_not_the_address(
    authority: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(authority / "cert.pem", authority / "key.pem")
    with Site({"/": _PAGE}, tls) as site:
        _as(monkeypatch, {"site.example": ["127.0.0.1"], "other.example": ["127.0.0.1"]})
        hosts = frozenset({f"site.example:{site.port}", f"other.example:{site.port}"})
        url, other = f"https://site.example:{site.port}/", f"https://other.example:{site.port}/"
        assert "no valid certificate" in _refused(Fetcher(allowed_hosts=hosts), url, robots=False)
        monkeypatch.setenv("SSL_CERT_FILE", str(authority / "cert.pem"))
        assert Fetcher(allowed_hosts=hosts).fetch(url, robots=False).data == _PAGE
        assert "no valid certificate" in _refused(Fetcher(allowed_hosts=hosts), other, robots=False)
