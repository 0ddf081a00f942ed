"""Serves the app to a browser: each page that is opened runs its own app in its own process.

textual-serve provides the terminal in the page and the transport. The page is ours, because
textual-serve's fetches a font from another host. So are the access checks, because any web page may open a
WebSocket to this machine, and the app shows documents to whoever connects.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import ipaddress
import os
import secrets
import shlex
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, web
from textual_serve.app_service import AppService
from textual_serve.server import Server, to_int

from models.servers.kinds import is_loopback
from traces.errors import DeepthinkError
from tui.failures import DONE, warn

_PAGE = Path(__file__).with_name("page.html")
_TIMEOUT_SECONDS = 10.0
"""Seconds that an app has to end by itself before its process is killed."""
_ONLY_FROM_HERE = (
    "default-src 'self'; connect-src 'self' ws: wss:; img-src 'self' data:; "
    "style-src 'self' 'unsafe-inline'; script-src 'self' 'unsafe-inline'; frame-ancestors 'none'"
)
"""The browser refuses to load anything from elsewhere, and to frame the page."""


class CannotServe(DeepthinkError, title="Not served", kind="usage"):
    """Raised when the server cannot listen on the address."""


def serve(host: str, port: int) -> int:
    """Serve the app at an address until Ctrl-C; port 0 takes a free port. Only the printed link opens it.

    Raises `CannotServe` if the port is taken or not allowed, or the host is not this machine's.
    """
    server = AppServer(host, _listen(host, port))
    if not server.only_here:
        _warn_about_access(server)
    asyncio.run(server.run())
    return DONE


class AppServer(Server):
    """textual-serve's server with our page and our checks; each app ends with its page or the server.

    ``command`` runs one app; by default ours.
    """

    def __init__(self, host: str, listener: socket.socket, command: Sequence[str] = ()) -> None:
        # -P: a folder in the current directory named like one of our packages must not be imported.
        command_line = shlex.join(command or [sys.executable, "-P", "-m", "tui.app.main"])
        super().__init__(f"exec {command_line}", title="deepthink")
        self._given_host = host
        self._listener = listener
        self.only_here = is_loopback(listener.getsockname()[0])
        self._token = secrets.token_urlsafe(16)
        self._cookie = f"deepthink-{listener.getsockname()[1]}"  # browsers tell hosts apart, not ports
        self._pages: dict[web.WebSocketResponse, asyncio.Task[object] | None] = {}

    @property
    def address(self) -> str:
        """The URL without the token."""
        return _address(self._given_host, self._listener.getsockname()[1])

    @property
    def link(self) -> str:
        """The URL with the token of this start; a browser must open it once."""
        return f"{self.address}/?token={self._token}"

    async def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        app = web.Application(middlewares=[self._check])
        app.add_routes(
            [
                web.get("/", self.handle_index),
                web.get("/ws", self.handle_websocket),
                web.get("/download/{key}", self.handle_download),
                web.static("/static", self.statics_path),
            ]
        )
        app.on_shutdown.append(self.on_shutdown)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.SockSite(runner, self._listener).start()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        print(f"deepthink is served at {self.link}", flush=True)  # noqa: T201
        print("Each page opened there runs its own app. Ctrl-C stops them all.", flush=True)  # noqa: T201
        try:
            await stop.wait()
        finally:
            await runner.cleanup()

    async def on_shutdown(self, app: web.Application) -> None:
        pages = dict(self._pages)
        for connection in pages:
            await connection.close(code=WSCloseCode.GOING_AWAY)
        await asyncio.gather(*(page for page in pages.values() if page is not None), return_exceptions=True)

    async def handle_index(self, request: web.Request) -> web.StreamResponse:
        """The page; it works behind any address, such as that of a tunnel."""
        page = web.FileResponse(
            _PAGE, headers={"Content-Security-Policy": _ONLY_FROM_HERE, "Referrer-Policy": "no-referrer"}
        )
        page.set_cookie(self._cookie, self._token, httponly=True, samesite="Strict")
        return page

    async def handle_websocket(self, request: web.Request) -> web.WebSocketResponse:
        """Run an app for this page. The app ends with the page, and the page closes with the app."""
        connection = web.WebSocketResponse(heartbeat=15)
        await connection.prepare(request)

        # Keep reading what an app writes after its page has gone, or it would block on a full pipe.
        async def write(send: Callable[[Any], Awaitable[None]], data: bytes | str) -> None:
            with contextlib.suppress(ConnectionError):
                await send(data)

        async def close() -> None:
            await connection.close()

        service = AppService(
            self.command,
            write_bytes=partial(write, connection.send_bytes),
            write_str=partial(write, connection.send_str),
            close=close,
            download_manager=self.download_manager,
        )
        self._pages[connection] = asyncio.current_task()
        watcher: asyncio.Task[None] | None = None
        try:
            await service.start(
                to_int(request.query.get("width", ""), 80), to_int(request.query.get("height", ""), 24)
            )
            watcher = asyncio.create_task(_close_after(service, close))
            await self._process_messages(connection, service)
        finally:
            if watcher is not None:
                watcher.cancel()
            await _end_app(service)
            del self._pages[connection]
        return connection

    @web.middleware
    async def _check(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Refuse pages of other sites, and anyone without the link.

        A browser sends the origin of the site that opens a WebSocket. If only this machine is served, any
        other host name is DNS rebinding by another site. The token keeps out other users of the machine.
        """
        origin = request.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != request.host:
            raise web.HTTPForbidden(text="Opened from another site.")
        name = urlsplit(f"//{request.host}").hostname or ""
        if self.only_here and not is_loopback(name) and name != self._given_host.lower():
            raise web.HTTPForbidden(text="The host name is not this machine's.")
        tokens = (request.query.get("token", ""), request.cookies.get(self._cookie, ""))  # one may be stale
        if not any(secrets.compare_digest(token.encode(), self._token.encode()) for token in tokens):
            raise web.HTTPForbidden(text="Open the link that deepthink-tui --serve has printed.")
        return await handler(request)


async def _close_after(service: AppService, close: Callable[[], Awaitable[None]]) -> None:
    """Close the page when its app has ended, for whatever reason."""
    assert service._process is not None
    await service._process.wait()
    await close()


async def _end_app(service: AppService) -> None:
    """Let an app end by itself; kill its process if it does not."""
    process = service._process
    if process is None:
        return
    stop_task, exit_task = asyncio.create_task(service.stop()), asyncio.create_task(process.wait())
    await asyncio.wait([exit_task], timeout=_TIMEOUT_SECONDS)
    if not exit_task.done():
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await exit_task
    await stop_task


def _listen(host: str, port: int) -> socket.socket:
    if not 0 <= port <= 65535:  # the system would take it modulo 65536
        raise CannotServe(f"There is no port {port}.", "Ports go from 1 to 65535; 0 takes a free one.")
    here = "Leave --host out to serve to this machine alone."
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        dual = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        listener = socket.create_server(address, family=family, dualstack_ipv6=dual)
    except (socket.gaierror, UnicodeError) as error:
        raise CannotServe(f"“{host}” is not a valid address.", here) from error
    except OSError as error:
        message = f"{host} is not an address of this machine ({os.strerror(error.errno or 0)})."
        way_out = here
        if error.errno == errno.EADDRINUSE:
            message = f"Port {port} is in use."
            way_out = f"Take another: deepthink-tui --serve --port {port + 1 if port < 65535 else 0}"
        elif error.errno == errno.EACCES:
            message = f"Port {port} is not allowed."
            way_out = "Take one above 1023, for example --port 8000."
        raise CannotServe(message, way_out) from error
    listener.setblocking(False)
    return listener


def _warn_about_access(server: AppServer) -> None:
    port = urlsplit(server.address).port
    warn(
        f"Everyone who has the link to {server.address} can read your documents and ask, and nothing is "
        f"encrypted on the way. To use it from another machine alone, serve without --host and run there: "
        f"ssh -L {port}:127.0.0.1:{port} {socket.gethostname()}, then open the link with 127.0.0.1 in it."
    )


def _address(host: str, port: int) -> str:
    """The URL for a browser; an unspecified address becomes the machine's name."""
    try:
        ip = ipaddress.ip_address(host)
    except ValueError:
        return f"http://{host}:{port}"
    if ip.is_unspecified:
        return f"http://{socket.gethostname()}:{port}"
    return f"http://[{ip}]:{port}" if ip.version == 6 else f"http://{ip}:{port}"
