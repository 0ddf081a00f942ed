"""Serving to a browser: who may connect, what the page loads, how apps begin and end, what is told."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import ClientSession, CookieJar, WSMsgType, WSServerHandshakeError

from tests.tui.waiting import PATIENCE
from tui.app import serve as serving
from tui.app.main import run
from tui.app.serve import AppServer, CannotServe, serve

_ECHO = """
import os, sys
def write(kind, data):
    os.write(1, kind + len(data).to_bytes(4, "big") + data)
os.write(1, b"__GANGLION__\\n")
write(b"D", f"{os.environ['COLUMNS']}x{os.environ['ROWS']}".encode())
while head := os.read(0, 5):
    data = os.read(0, int.from_bytes(head[1:], "big"))
    if b"quit" in data:
        break
    write(b"D", data)
write(b"M", b'{"type": "exit"}')
"""
_DEAF = """
import os, time
os.write(1, b"__GANGLION__\\n" + b"D" + (4).to_bytes(4, "big") + b"deaf")
time.sleep(60)
"""


def _listening() -> socket.socket:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    return listening


async def _up(program: str) -> AsyncIterator[tuple[AppServer, ClientSession]]:
    server = AppServer("127.0.0.1", _listening(), [sys.executable, "-c", program])
    running = asyncio.create_task(server.run())
    async with ClientSession(server.address, cookie_jar=CookieJar(unsafe=True)) as client:
        async with client.get(server.link) as opened:
            assert opened.status == 200
        yield server, client
    os.kill(os.getpid(), signal.SIGTERM)
    await running


@pytest.fixture
async def echoing() -> AsyncIterator[tuple[AppServer, ClientSession]]:
    """A server whose app tells its size and then says what it hears."""
    async for up in _up(_ECHO):
        yield up


Up = tuple[AppServer, ClientSession]


async def test_an_app_gets_the_pages_size_and_keys_and_its_screen_and_end_reach_the_page(
    echoing: Up,
) -> None:
    async with echoing[1].ws_connect("/ws?width=91&height=33") as page:
        assert (await page.receive()).data == b"91x33"
        await page.send_json(["stdin", "what?"])
        assert (await page.receive()).data == b"what?"
        await page.send_json(["stdin", "quit"])
        assert (await page.receive()).type is WSMsgType.CLOSE


async def test_a_page_is_told_when_its_app_cannot_even_begin() -> None:
    async for _, client in _up("raise SystemExit(2)"):
        async with client.ws_connect("/ws") as page:
            assert (await page.receive()).type is WSMsgType.CLOSE


async def test_ending_the_server_ends_the_apps_that_are_open() -> None:
    async for _, client in _up(_ECHO):
        page = await client.ws_connect("/ws")
        await page.receive()
        closing = asyncio.create_task(page.receive())
    assert (await closing).type in {WSMsgType.CLOSE, WSMsgType.CLOSED, WSMsgType.CLOSING}


async def test_an_app_that_does_not_leave_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "_TIMEOUT_SECONDS", 0.2)
    async for _, client in _up(_DEAF):
        async with client.ws_connect("/ws") as page:
            assert (await page.receive()).data == b"deaf"
    # The fixture's end has waited for the server, which waits for its apps; that of `_DEAF` sleeps on.


async def test_the_page_loads_nothing_from_anywhere_else(echoing: Up) -> None:
    async with echoing[1].get("/") as reply:
        page = await reply.text()
        policy = reply.headers["Content-Security-Policy"]
    assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//|url\(["']?(?:https?:)?//""", page)
    assert "default-src 'self'" in policy
    loaded = re.findall(r"""static/[\w./-]+""", page)
    assert {Path(name).suffix for name in loaded} == {".css", ".ttf", ".js"}
    for name in loaded:
        async with echoing[1].get(f"/{name}") as reply:
            assert reply.status == 200, name


async def test_another_sites_page_can_neither_open_an_app_nor_read_the_page(echoing: Up) -> None:
    with pytest.raises(WSServerHandshakeError, match="403"):
        await echoing[1].ws_connect("/ws", headers={"Origin": "http://example.org"})
    own = echoing[0].address
    async with echoing[1].ws_connect("/ws", headers={"Origin": own}) as page:
        assert (await page.receive()).data == b"80x24"
    for name, status in (("evil.example", 403), ("localhost:9", 200), ("127.0.0.1", 200), ("[::1]:1", 200)):
        async with echoing[1].get(echoing[0].link, headers={"Host": name}) as reply:
            assert reply.status == status, name


async def test_only_the_link_of_this_start_opens_an_app(echoing: Up) -> None:
    async with ClientSession(echoing[0].address) as stranger:
        for path in ("/", "/?token=wrong", "/static/js/textual.js"):
            async with stranger.get(path) as reply:
                assert reply.status == 403, path
        with pytest.raises(WSServerHandshakeError, match="403"):
            await stranger.ws_connect("/ws")
        port = echoing[0].address.rpartition(":")[2]
        stale = {"Cookie": f"deepthink-{port}=of-an-earlier-start"}
        async with stranger.get(echoing[0].link, headers=stale) as reply:
            assert reply.status == 200


@pytest.mark.parametrize(
    ("host", "port", "message"),
    [
        ("127.0.0.1", 65536, "There is no port 65536."),
        ("127.0.0.1", -1, "There is no port -1."),
        ("no.such.host.invalid", 0, "“no.such.host.invalid” is not a valid address."),
        ("192.0.2.1", 0, "192.0.2.1 is not an address of this machine"),
    ],
)
def test_an_address_that_cannot_be_served_at(host: str, port: int, message: str) -> None:
    with pytest.raises(CannotServe) as wrong:
        serve(host, port)
    assert message in wrong.value.message
    assert wrong.value.way_out


def test_a_port_in_use_names_another(capsys: pytest.CaptureFixture[str]) -> None:
    with _listening() as taken:
        port = taken.getsockname()[1]
        assert run(["--serve", "--port", str(port)]) == 2
    assert f"Port {port} is in use." in (told := capsys.readouterr().err)
    assert "--serve --port " in told


@pytest.mark.parametrize("host", ["0.0.0.0", "localhost"])
def test_the_address_is_told_strangers_are_warned_of_and_ctrl_c_ends_it_well(
    host: str, tmp_path: Path
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "tui.app.main", "--serve", "--host", host, "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=PATIENCE)
    name = socket.gethostname() if host == "0.0.0.0" else host
    served = rf"deepthink is served at http://{re.escape(name)}:\d+/\?token=[\w-]{{20,}}\n"
    assert re.fullmatch(served, first), told
    assert process.returncode == 0
    if host == "0.0.0.0":
        assert "can read your documents" in told
        assert "ssh -L" in told
    else:
        assert not told
