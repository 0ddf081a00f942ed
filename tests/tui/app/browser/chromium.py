"""Headless Chromium: open a page, see what it asks for, type into it, read its terminal.

It speaks the DevTools protocol (https://chromedevtools.github.io/devtools-protocol/), of which the domains
Page, Network, Runtime and Input are used.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import ClientSession, ClientWebSocketResponse

EXECUTABLE = shutil.which("chromium")
_FLAGS = (
    "--headless=new --no-sandbox --disable-gpu --disable-quic --disable-dev-shm-usage --no-first-run "
    "--disable-background-networking --disable-component-update --disable-sync --remote-debugging-port=0 "
    "--window-size=1100,700"
).split()
# The page keeps its xterm.js terminal to itself; as it is made, a field of it is caught.
_CATCH_TERMINAL = """
Object.defineProperty(Object.prototype, "_addonManager", {
  configurable: true,
  set(value) {
    Object.defineProperty(this, "_addonManager", { value, writable: true, configurable: true });
    if (this.buffer) window.caughtTerminal = this;
  },
});
"""
_READ_TERMINAL = """
(() => {
  const buffer = window.caughtTerminal?.buffer.active;
  if (!buffer) return "";
  const line = (_, row) => buffer.getLine(row).translateToString(true);
  return Array.from({ length: buffer.length }, line).join("\\n");
})()
"""


class Page:
    """One page of the browser.

    Attributes:
        hosts: Host and port of everything the page has asked for.
        problems: What the page logged as an error or raised, as the browser tells it.
    """

    def __init__(self, connection: ClientWebSocketResponse) -> None:
        self.hosts: set[str] = set()
        self.problems: list[str] = []
        self._connection = connection
        self._calls = 0
        self._replies: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening = asyncio.create_task(self._listen())

    async def open(self, address: str) -> None:
        """Go to an address; its scripts need not have run yet."""
        for domain in ("Page", "Network", "Runtime"):
            await self._call(f"{domain}.enable")
        await self._call("Page.addScriptToEvaluateOnNewDocument", source=_CATCH_TERMINAL)
        await self._call("Page.navigate", url=address)

    async def screen(self) -> str:
        reply = await self._call("Runtime.evaluate", expression=_READ_TERMINAL, returnByValue=True)
        return str(reply["result"].get("value"))

    async def shows(self, wanted: Callable[[str], object], patience: float) -> str:
        """The screen, as soon as ``wanted`` holds of it; within ``patience`` seconds or the test fails."""
        deadline = time.monotonic() + patience
        while not wanted(shown := await self.screen()):
            assert time.monotonic() < deadline, f"it never came; problems {self.problems}; shown:\n{shown}"
            await asyncio.sleep(0.1)
        return shown

    async def type(self, text: str) -> None:
        """Text, as an input method gives it."""
        await self._call("Input.insertText", text=text)

    async def enter(self) -> None:
        for kind, more in (("rawKeyDown", {}), ("char", {"text": "\r"}), ("keyUp", {})):
            key = {"key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, **more}
            await self._call("Input.dispatchKeyEvent", type=kind, **key)

    async def close(self) -> None:
        self._listening.cancel()
        await self._connection.close()

    async def _call(self, method: str, **parameters: object) -> dict[str, Any]:
        """The result of a call; KeyError if it fails."""
        self._calls += 1
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._replies[self._calls] = reply
        await self._connection.send_json({"id": self._calls, "method": method, "params": parameters})
        result: dict[str, Any] = (await asyncio.wait_for(reply, 20))["result"]
        return result

    async def _listen(self) -> None:
        async for message in self._connection:
            told = message.json()
            if "id" in told:
                self._replies.pop(told["id"]).set_result(told)
                continue
            event, what = told["method"], told["params"]
            if event in {"Network.requestWillBeSent", "Network.webSocketCreated"}:
                url = urlsplit(what.get("request", what)["url"])
                if url.scheme != "data":
                    self.hosts.add(url.netloc)
            elif event == "Runtime.exceptionThrown" or what.get("type") == "error":
                self.problems.append(str(what))


@asynccontextmanager
async def chromium(profile: Path) -> AsyncIterator[Page]:
    """An empty page in a browser of its own; ``profile`` is the folder that the browser keeps to."""
    assert EXECUTABLE is not None, "Chromium is not installed (Debian: apt-get install chromium)"
    with (profile.parent / "chromium.log").open("wb") as log:
        process = subprocess.Popen(
            [EXECUTABLE, *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        port = await _debugging_port(profile, process)
        async with ClientSession() as client:
            async with client.get(f"http://127.0.0.1:{port}/json/list") as reply:
                targets = await reply.json()
            (address,) = [t["webSocketDebuggerUrl"] for t in targets if t["type"] == "page"]
            async with client.ws_connect(address, max_msg_size=0) as connection:
                page = Page(connection)
                try:
                    yield page
                finally:
                    await page.close()
    finally:
        process.terminate()
        process.wait(20)


async def _debugging_port(profile: Path, process: subprocess.Popen[bytes]) -> int:
    """Chromium writes it into its profile when it listens."""
    told = profile / "DevToolsActivePort"
    deadline = time.monotonic() + 60
    while not (told.is_file() and (lines := told.read_text().split())):
        assert process.poll() is None, (profile.parent / "chromium.log").read_text()
        assert time.monotonic() < deadline, "Chromium does not listen"
        await asyncio.sleep(0.05)
    return int(lines[0])
