"""``deepthink serve``: keeps the models warm and answers for `deepthink ask` (`tui.ask.warm`).

It listens on a Unix socket that only its user may open, and answers one question at a time.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any, Final

from filelock import FileLock, Timeout

from models.protocols import Loadable
from traces.errors import DeepthinkError
from traces.paths import socket_file
from tui.ask.warm import AskOptions, Lines, identity
from tui.failures import DONE, explained, warn
from tui.interrupts import ctrl_c
from tui.settings.settings import Settings, load

_LOCK_SECONDS: Final = 10.0  # for a server that is about to end
_POLL_SECONDS: Final = 0.5
_STEERING_METHODS: Final = {"pause", "resume", "finish", "skip", "add", "override", "reply", "cancel"}


class AlreadyServed(DeepthinkError, title="Not started", kind="usage"):
    """Raised when this user already runs a server."""


class NoSocket(DeepthinkError, title="Not started", kind="input"):
    """Raised when the socket cannot be created."""


def serve(minutes: float) -> int:
    """Serve until Ctrl-C, or until ``minutes`` have passed without a question (0: forever).

    Raises:
        AlreadyServed: another server runs.
        NoSocket: the socket cannot be created.
        DeepthinkError: a model is missing.
    """
    path = socket_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with (
            FileLock(f"{path}.lock", timeout=_LOCK_SECONDS),
            _open_listener() as listener,
            closing(_Server()) as server,
            ctrl_c() as stop,
        ):
            warn("Keeping the models warm for `deepthink ask`; Ctrl-C stops it.")
            server.run(listener, minutes * 60, stop)
    except Timeout:
        raise AlreadyServed("A server is already running.") from None
    return DONE


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
        threading.Thread(target=self._warm_up, daemon=True).start()
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
        from models.llama_cpp import LlamaCppChat

        with suppress(DeepthinkError):  # the run fails in the same way, and reports it
            if isinstance(self._parts["chat"], LlamaCppChat):
                self._parts["chat"].loaded()
            for part in self._parts.values():
                if isinstance(part, Loadable):
                    part.warm_up()

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
        from agent.steering import Steering
        from traces.library import Library
        from traces.paths import store_file
        from traces.runs import Runs
        from traces.store import Store
        from tui import assemble
        from tui.ask.asking import request_of
        from tui.run.fold import fold_of

        store = Store(store_file(), on_wait=lambda message: lines.send({"warning": message}))
        steering, embedder, run_id = Steering(), self._parts["embedder"], ""
        try:
            embedded, total = Library(store).embedded(embedder.name)
            if embedded < total:  # the command line embeds the rest, and shows its progress
                lines.send({"no": "library"})
                return
            settings = Settings.model_validate(payload["settings"])
            request = request_of(
                AskOptions(**payload["typed"]), settings, interactive=payload["interactive"]
            )
            lines.send({"yes": True})
            threading.Thread(target=_steer, args=(lines, steering), daemon=True).start()
            parts = {
                **self._parts,
                "store": store,
                "web": assemble.open_web(settings, store, embedder),
                "learned": assemble.open_learned(),
            }
            with closing(agent_run.run(request, steering=steering, **parts)) as events:
                for event in events:
                    run_id = getattr(event, "run_id", run_id)
                    lines.send({"event": event.kind, "payload": event.payload()})
            result = None
            if payload["json"]:
                result = fold_of(store, Runs(store).find(run_id), urls=True).to_json()
            lines.send({"done": result})
        except (BrokenPipeError, ConnectionError):
            raise
        except Exception as error:  # noqa: BLE001 - sent to the client, which shows it
            failure = explained(error)
            error_parts = {name: getattr(failure, name) for name in ("title", "kind", "message", "way_out")}
            lines.send({"error": error_parts})


def _steer(lines: Lines, steering: Any) -> None:
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
