"""Loading the certificates that are trusted takes longer than most of these tests: it is done once."""

from __future__ import annotations

import ssl

import httpx
import pytest


@pytest.fixture(scope="session")
def trust() -> ssl.SSLContext:
    """What `httpx` trusts by default."""
    return httpx.create_ssl_context()


@pytest.fixture(autouse=True)
def _trust_once(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, trust: ssl.SSLContext
) -> None:
    if "authority" not in request.fixturenames:  # that test changes what is trusted
        monkeypatch.setattr(httpx, "create_ssl_context", lambda: trust)
