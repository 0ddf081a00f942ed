"""Which addresses may be fetched: only those of the public internet.

A name is looked up once, all its addresses must be public, and the connection is made to one of these
addresses by number. So a name that resolves to another address a moment later (DNS rebinding) cannot evade
the check. Nor can odd spellings of an address (``2130706433``, ``0x7f.1``, ``127.1``), because the result
of the lookup is checked.
"""

from __future__ import annotations

import ipaddress
import socket
from typing import Final, TypeAlias

from traces.errors import DeepthinkError

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


class PageFailed(DeepthinkError):
    """Raised when a page cannot or must not be fetched.

    Args:
        message: As for every error.
        way_out: As for every error.
        status: The HTTP status if the site answered with an error, else 0.
    """

    title = "This page cannot be fetched"
    kind = "input"

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

    Raises:
        PageFailed: The host is unknown.
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

    Raises:
        PageFailed: The host is unknown, or one of its addresses is not public.
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
