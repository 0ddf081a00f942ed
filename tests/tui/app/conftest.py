"""The app on a scripted model and hashed vectors, and how its pictures are taken."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from models.protocols import ChatOptions, GenerationCancelled
from models.scripted import HashEmbedder
from tests.tui.app.waiting import until
from tests.tui.conftest import Answering
from tui.app.app import DeepthinkApp
from tui.app.appearance import Appearance


class MakeApp(Protocol):
    """Makes the app; a model answers if one is given, else there is none on the machine."""

    def __call__(
        self, chat: Answering | None = None, *, theme: str = "dark", prepare: bool = False, keys: str = ""
    ) -> DeepthinkApp: ...


@pytest.fixture
def make_app(monkeypatch: pytest.MonkeyPatch) -> MakeApp:
    """The app, still; nothing moves in it, and it loads nothing by itself unless told to prepare."""

    def make(
        chat: Answering | None = None, *, theme: str = "dark", prepare: bool = False, keys: str = ""
    ) -> DeepthinkApp:
        if chat is not None:
            monkeypatch.setattr("tui.assemble.open_chat", lambda _settings: chat)
        monkeypatch.setattr("tui.assemble.open_embedder", lambda _settings: HashEmbedder())
        monkeypatch.setattr(DeepthinkApp, "NOTIFICATION_TIMEOUT", 600)  # no toast goes on a busy machine
        return DeepthinkApp(look=Appearance(theme, reduced_motion=True, keys=keys), prepare=prepare)

    return make


@pytest.fixture
def filled(library: Path) -> Path:
    """Two small documents are in the library, in the collection ``facts``; their folder."""
    return library


class Gate:
    """Holds a model call until it is opened, so that a test can step in while the run goes on.

    Args:
        calls: The calls that are held, counted from 1; all if empty.
    """

    def __init__(self, *calls: int) -> None:
        self._calls = calls
        self._count = 0
        self._open = threading.Event()
        self.reached = threading.Event()

    def __call__(self, options: ChatOptions) -> None:
        self._count += 1
        if self._calls and self._count not in self._calls:
            return
        self.reached.set()
        while not self._open.wait(0.01):
            if options.cancel is not None and options.cancel.is_set():
                raise GenerationCancelled("The run was cancelled.")

    def open(self) -> None:
        """Let it go on."""
        self._open.set()


@dataclass(frozen=True)
class Look:
    """A size in columns and rows, and a theme."""

    size: tuple[int, int]
    theme: str


def looks(*names: str) -> pytest.MarkDecorator:
    """The looks in which a scene is compared, each as ``80x24-dark``; the colour may be ``no-color``."""
    return pytest.mark.parametrize("look", names, indirect=True)


@pytest.fixture
def look(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Look:
    """The look that ``looks`` names."""
    size, _, colour = request.param.partition("-")
    columns, rows = map(int, size.split("x"))
    if colour != "no-color":
        return Look((columns, rows), colour)
    monkeypatch.setenv("NO_COLOR", "1")
    return Look((columns, rows), "dark")


Snap = Callable[..., bool]
"""`snap_compare`: ``(app, terminal_size=, run_before=)``."""


@pytest.fixture
def snap_compare(snap_compare: Snap) -> Snap:
    """pytest-textual-snapshot's; the footer, which follows what is possible a moment later, has done so."""

    def compare(
        app: DeepthinkApp,
        terminal_size: tuple[int, int],
        run_before: Callable[[Pilot[Any]], Awaitable[None]] | None = None,
    ) -> bool:
        async def settle(pilot: Pilot[Any]) -> None:
            if run_before is not None:
                await run_before(pilot)
            await until(pilot, lambda: _footer(app.screen) == _possible(app.screen))

        return snap_compare(app, terminal_size=terminal_size, run_before=settle)

    return compare


def _footer(screen: Screen[Any]) -> dict[str, bool]:
    return {key.action: not key.has_class("-disabled") for key in screen.query(FooterKey)}


def _possible(screen: Screen[Any]) -> dict[str, bool]:
    if not screen.query(Footer):
        return {}
    keys = [(key, enabled) for _, key, enabled, _ in screen.active_bindings.values() if key.show]
    return {key.action: enabled for key, enabled in reversed(keys)}  # the first key of an action is shown
