"""Which addresses are public, however they are written."""

from __future__ import annotations

import socket

import pytest

from agent.web.fetch import PageFailed, is_public, public_addresses

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
