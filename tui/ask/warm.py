"""``deepthink serve``, which keeps the models warm, and how `deepthink ask` uses it.

The server listens on a Unix socket that only its user may open, and answers one question at a time. Both
sides write lines of JSON. The command line, which imports no model, sends the question and, later, the
user's steering. The server replies ``{"yes": true}``, then events and finally ``{"done": true}``; or
``{"no": reason}``, and the command line answers without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from agent import events as ev
from agent.steering import Steering
from traces.errors import DeepthinkError
from traces.paths import models_dir, socket_file, store_file
from traces.store import Store
from tui import failures
from tui.app.main import release
from tui.ask.terminal import AskOptions, Form, conclude, follow, is_interactive
from tui.interrupts import ctrl_c
from tui.settings.settings import OF_MODELS, Settings, load

_TIMEOUT_SECONDS: Final = 10.0  # a server that does not reply for this long counts as absent
_LOCK_SECONDS: Final = 10.0  # for a server that is about to end
_POLL_SECONDS: Final = 0.5
_STEERING_METHODS: Final = {"pause", "resume", "finish", "skip", "add", "override", "reply", "cancel"}
_ENVIRONMENT_KEYS: Final = ("OPENAI_API_KEY", "OLLAMA_HOST", "OLLAMA_API_KEY")


class ServerGone(DeepthinkError, title="The server that keeps the models warm has ended", kind="model"):
    """Raised when the server ends during a run."""


class Lines:
    """JSON objects over a socket, one per line."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._incoming = connection.makefile("rb")
        self._sending = threading.Lock()

    def close(self) -> None:
        """Close the reader, so that closing the connection takes effect."""
        self._incoming.close()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one object, from any thread. Raises OSError if the other side has gone."""
        line = json.dumps(message, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        with self._sending:
            self._connection.sendall(line)

    def receive(self) -> dict[str, Any] | None:
        """The next object; None if the other side has gone or the timeout has passed."""
        try:
            line = self._incoming.readline()
        except OSError:
            return None
        if not line.endswith(b"\n"):  # truncated
            return None
        received: dict[str, Any] = json.loads(line)
        return received


class _Remote(Steering):
    """Steering that sends every action to the server."""

    def __init__(self, cancel: threading.Event, send: Callable[[Mapping[str, Any]], None]) -> None:
        super().__init__(cancel)
        self._send = send

    def pause(self) -> None:
        super().pause()
        self._tell("pause")

    def resume(self) -> None:
        super().resume()
        self._tell("resume")

    def finish(self) -> None:
        super().finish()
        self._tell("finish")

    def skip(self) -> None:
        self._tell("skip")

    def add(self, question: str) -> None:
        self._tell("add", question)

    def override(self, action: str) -> None:
        self._tell("override", action)

    def reply(self, text: str) -> None:
        self._tell("reply", text)

    def _tell(self, *action: str) -> None:
        with suppress(OSError):  # if the server has gone, the reader of its events notices
            self._send({"steer": action})


def ask_server(typed: AskOptions, settings: Settings, form: Form) -> int | None:
    """Let a running server answer, and show the run as `tui.ask.asking.ask` does.

    Returns the exit code; None if no server answers: then no run was begun. Raises what the run raises,
    and `ServerGone` if the server ended during it.
    """
    connection = _connect()
    if connection is None:
        return None
    with connection, closing(Lines(connection)) as lines:
        try:
            lines.send(
                {
                    "identity": identity(settings),
                    "typed": asdict(typed),
                    "settings": settings.model_dump(mode="json"),
                    "interactive": is_interactive(form),
                }
            )
            reply = lines.receive()
            connection.settimeout(None)  # it is there, and says why it waits
            while reply and "warning" in reply:
                failures.warn_once(reply["warning"])
                reply = lines.receive()
        except (OSError, ValueError):
            return None
        if not reply or "yes" not in reply:
            return None
        store = Store(store_file(), on_wait=failures.warn_once)
        begin = partial(_events, lines)
        fold = follow(store, form, begin, partial(_Remote, send=lines.send))
    return conclude(fold, store, form)


def _events(lines: Lines, *, steering: Steering) -> Generator[ev.Event]:
    """Yield the run's events."""
    threading.Thread(target=_pass_on_cancel, args=(steering, lines), daemon=True).start()
    while (message := lines.receive()) is not None:
        if "event" in message:
            yield ev.from_stored(message["event"], message["payload"])
        elif "error" in message:
            raise _error_of(message["error"])
        elif "done" in message:
            return
        elif "warning" in message:
            failures.warn_once(message["warning"])
    raise ServerGone("It ended during the run.", "`deepthink resume` continues the run.")


def _pass_on_cancel(steering: Steering, lines: Lines) -> None:
    steering.cancelled.wait()
    with suppress(OSError):  # the run has ended
        lines.send({"steer": ["cancel"]})


def _error_of(error: Mapping[str, str]) -> DeepthinkError:
    """The server's error, as an exception."""
    kind = type("ToldError", (DeepthinkError,), {"title": error["title"], "kind": error["kind"]})
    raised: DeepthinkError = kind(error["message"], error["way_out"])
    return raised


def start_server(settings: Settings) -> None:
    """Start a server in the background for the next question, unless one already runs.

    Only from a terminal, where the user may ask again, and only for the settings that it would load itself.
    """
    if not settings.warm_minutes or not (sys.stderr.isatty() or sys.stdout.isatty()):
        return
    if identity(settings) != identity(load()):
        return
    running = _connect()
    if running is not None:
        running.close()
        return
    subprocess.Popen(
        [sys.executable, "-P", "-m", "tui", "serve", "--minutes", str(settings.warm_minutes)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def identity(settings: Settings) -> str:
    """A hash of what a server must share with the command line: code, models, paths."""
    root = Path(__file__).parents[2]
    latest_change = max(
        path.stat().st_mtime_ns
        for package in ("agent", "models", "policy", "traces", "tui")
        for path in (root / package).rglob("*.py")
    )
    shared = {
        "settings": settings.model_dump(mode="json", include=OF_MODELS),
        "places": [str(root), str(store_file().absolute()), str(models_dir().absolute())],
        "code": [release(), latest_change],
        "keys": [os.environ.get(name) for name in _ENVIRONMENT_KEYS],
    }
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()


def _connect() -> socket.socket | None:
    """A connection to the user's own server; None if none listens."""
    path = socket_file()
    try:
        if path.lstat().st_uid != os.getuid():
            return None
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(_TIMEOUT_SECONDS)
        try:
            connection.connect(str(path))
        except BaseException:
            connection.close()
            raise
    except OSError:
        return None
    return connection


# --- the server -----------------------------------------------------------------------------------


class AlreadyServed(DeepthinkError, title="Not started", kind="usage"):
    """Raised when this user already runs a server."""


class NoSocket(DeepthinkError, title="Not started", kind="input"):
    """Raised when the socket cannot be created."""


def serve(minutes: float) -> int:
    """Serve until Ctrl-C, or until ``minutes`` have passed without a question (0: forever).

    Raises `AlreadyServed`, `NoSocket`, and `ModelMissing`.
    """
    from filelock import FileLock, Timeout

    path = socket_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            FileLock(f"{path}.lock", timeout=_LOCK_SECONDS),
            _open_listener() as listener,
            closing(_Server()) as server,
            ctrl_c() as stop,
        ):
            failures.warn("Keeping the models warm for `deepthink ask`; Ctrl-C stops it.")
            server.run(listener, minutes * 60, stop)
    except Timeout:
        raise AlreadyServed("A server is already running.") from None
    return failures.DONE


@contextmanager
def _open_listener() -> Iterator[socket.socket]:
    """A listening socket that only this user may open."""
    path = socket_file()
    listener = socket.socket(socket.AF_UNIX)
    with closing(listener):
        path.unlink(missing_ok=True)  # left by a server that was killed: we hold the lock
        old_umask = os.umask(0o177)  # the socket is never open to others, not even for a moment
        try:
            listener.bind(str(path))
        except OSError as error:
            raise NoSocket(f"{path}: {error.strerror or error}.") from error
        finally:
            os.umask(old_umask)
        listener.listen()
        listener.settimeout(_POLL_SECONDS)
        try:
            yield listener
        finally:
            path.unlink(missing_ok=True)


class _Server:
    """The warm models, and the current run."""

    def __init__(self) -> None:
        from tui import assemble

        self._settings = load()
        self._identity = identity(self._settings)
        self._parts = assemble.open_parts(self._settings)
        self._answering = threading.Lock()
        self._last_used = time.monotonic()
        self._outdated = threading.Event()

    def run(self, listener: socket.socket, idle: float, stop: threading.Event) -> None:
        """Accept connections until stopped, idle for ``idle`` seconds (0: forever), or outdated."""
        warming = threading.Thread(target=self._warm_up, daemon=True)
        warming.start()
        try:
            self._accept(listener, idle, stop)
        finally:
            warming.join()  # Python may crash if it exits during an import

    def _accept(self, listener: socket.socket, idle: float, stop: threading.Event) -> None:
        path = socket_file()
        while not stop.is_set() and not self._outdated.is_set() and path.exists():
            if idle and not self._answering.locked() and time.monotonic() - self._last_used > idle:
                return
            try:
                connection, _ = listener.accept()
            except TimeoutError:
                continue
            threading.Thread(target=self._handle_connection, args=(connection,), daemon=True).start()

    def close(self) -> None:
        """Free the language model's memory."""
        self._parts["chat"].close()

    def _warm_up(self) -> None:
        from agent import graph  # noqa: F401 - imported now, not while someone waits
        from tui.assemble import warm_up

        with suppress(DeepthinkError):  # the run fails in the same way, and reports it
            warm_up(*self._parts.values())

    def _handle_connection(self, connection: socket.socket) -> None:
        """Serve one connection; an error ends only this connection."""
        with connection, closing(Lines(connection)) as lines:
            if not _is_ours(connection):
                return
            with suppress(OSError, ValueError):  # the client has gone, or speaks another protocol
                payload = lines.receive()
                if payload is None:
                    return
                if payload.get("identity") != self._identity:
                    if identity(load()) != self._identity:  # settings or code have changed since
                        self._outdated.set()
                        socket_file().unlink(missing_ok=True)
                    lines.send({"no": "differs"})
                elif not self._answering.acquire(blocking=False):
                    lines.send({"no": "busy"})
                else:
                    try:
                        self._answer(payload, lines)
                    finally:
                        with suppress(OSError):  # closing alone does not wake the read in `_steer`
                            connection.shutdown(socket.SHUT_RDWR)
                        self._last_used = time.monotonic()
                        self._answering.release()

    def _answer(self, payload: dict[str, Any], lines: Lines) -> None:
        """Run the question and send its events. Raises OSError if the client has gone."""
        from agent import run as agent_run
        from traces.library import Library
        from tui import assemble
        from tui.ask.asking import request_of

        store = Store(store_file(), on_wait=lambda message: lines.send({"warning": message}))
        steering = Steering()
        try:
            embedded, total = Library(store).embedded(self._parts["embedder"].name)
            if embedded < total:  # the command line embeds the rest, and shows its progress
                lines.send({"no": "library"})
                return
            settings = Settings.model_validate(payload["settings"])
            request = request_of(
                AskOptions(**payload["typed"]), settings, interactive=payload["interactive"]
            )
            lines.send({"yes": True})
            threading.Thread(target=_steer, args=(lines, steering), daemon=True).start()
            parts = assemble.run_parts(self._parts, store, settings)
            with closing(agent_run.run(request, steering=steering, **parts)) as events:
                for event in events:
                    lines.send({"event": event.kind, "payload": event.payload()})
            lines.send({"done": True})
        except (BrokenPipeError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - sent to the client, which shows it
            failure = failures.explained(error)
            error_parts = {name: getattr(failure, name) for name in ("title", "kind", "message", "way_out")}
            lines.send({"error": error_parts})


def _steer(lines: Lines, steering: Steering) -> None:
    """Pass the user's actions on to the run; interrupt it when the client has gone."""
    with suppress(OSError, ValueError):
        while (message := lines.receive()) is not None:
            name, *arguments = message["steer"]
            if name in _STEERING_METHODS:
                getattr(steering, name)(*arguments)
    steering.leave()


def _is_ours(connection: socket.socket) -> bool:
    """Whether this user is at the other end; where the system cannot tell, the socket's mode must do."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    _, uid, _ = struct.unpack("3i", credentials)
    return bool(uid == os.getuid())
