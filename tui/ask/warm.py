"""Ask a server that keeps the models warm (`tui.ask.server`); this side imports no model.

Both sides write lines of JSON. The command line sends the question and, later, the user's steering. The
server replies ``{"yes": true}``, then events and finally ``{"done": …}``; or ``{"no": reason}``, and the
command line answers without it.
"""

from __future__ import annotations

import hashlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Final

from agent import events as ev
from agent.steering import Steering
from traces.errors import DeepthinkError
from traces.paths import models_dir, socket_file, store_file
from traces.store import Store
from tui import failures
from tui.ask.terminal import Form, Route, follow, is_interactive, tell_nearest
from tui.settings.settings import Settings
from tui.terminal import print_json

_TIMEOUT_SECONDS: Final = 10.0  # a server that does not reply for this long counts as absent
_RUN_SETTINGS: Final = set(
    "profile decider shadow collection length approve budget web web_search web_contact ocr app "
    "warm_minutes".split()
)
"""Settings that may change between runs: no loaded model depends on them."""
_ENVIRONMENT_KEYS: Final = ("OPENAI_API_KEY", "OLLAMA_HOST", "OLLAMA_API_KEY")


class ServerGone(DeepthinkError, title="The server that keeps the models warm has ended", kind="model"):
    """Raised when the server ends during a run."""


@dataclass(frozen=True, slots=True)
class AskOptions:
    """A question with its options, as typed; see `tui.ask.command.ask`."""

    question: str
    collections: Sequence[str] = ()  # without any, those of the session's last question
    route: Route = ""
    session: str | None = None
    go_on: bool = False
    filters: Sequence[tuple[str, str]] = ()  # names and values


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

    Returns the exit code; None if no server answers: then nothing was shown.

    Raises:
        DeepthinkError: what the run raised; `ServerGone` if the server ended during the run.
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
                    "json": form == "json",
                }
            )
            reply = lines.receive()
            first = lines.receive() if reply and "yes" in reply else None
        except (OSError, ValueError):
            return None
        if first is None or "event" not in first:
            return None
        store = Store(store_file(), on_wait=failures.warn_once)
        results: list[Any] = []
        begin = partial(_events, connection, lines, first, results)
        fold = follow(store, form, begin, partial(_Remote, send=lines.send))
    if form == "json":
        print_json(results[0])
    elif form != "quiet":
        tell_nearest(fold, store)
    return fold.exit_code


def _events(
    connection: socket.socket,
    lines: Lines,
    first: dict[str, Any],
    results: list[Any],
    *,
    steering: Steering,
) -> Generator[ev.Event]:
    """Yield the run's events; append the payload of ``done`` to ``results``."""
    connection.settimeout(None)
    threading.Thread(target=_pass_on_cancel, args=(steering, lines), daemon=True).start()
    message: dict[str, Any] | None = first
    while message is not None:
        if "event" in message:
            yield ev.from_stored(message["event"], message["payload"])
        elif "error" in message:
            raise _error_of(message["error"])
        elif "done" in message:
            results.append(message["done"])
            return
        elif "warning" in message:
            failures.warn_once(message["warning"])
        message = lines.receive()
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
    from tui.settings.settings import load

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
    try:
        installed_version = version("deepthink-tui")
    except PackageNotFoundError:  # run from a checkout
        installed_version = ""
    shared = {
        "settings": settings.model_dump(mode="json", exclude=_RUN_SETTINGS),
        "places": [str(root), str(store_file().absolute()), str(models_dir().absolute())],
        "code": [installed_version, latest_change],
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
