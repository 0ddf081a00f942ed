"""The app on a scripted model and hashed vectors, and how its pictures are taken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

import pytest

from models.scripted import HashEmbedder
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
        return DeepthinkApp(look=Appearance(theme, reduced_motion=True, keys=keys), prepare=prepare)

    return make


@dataclass(frozen=True)
class Look:
    """A size, a theme, and whether there are colours."""

    size: tuple[int, int]
    theme: str
    colour: bool = True

    @property
    def id(self) -> str:
        """For the name of the test."""
        return f"{self.size[0]}x{self.size[1]}-{self.theme if self.colour else 'no-color'}"


LOOKS = [
    Look(size, theme, colour)
    for size in ((80, 24), (120, 40))
    for theme, colour in (("dark", True), ("light", True), ("dark", False))
]


@pytest.fixture(params=LOOKS, ids=lambda look: look.id)
def look(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Look]:
    """Each of the looks in which every screen is compared."""
    wanted: Look = request.param
    if not wanted.colour:
        monkeypatch.setenv("NO_COLOR", "1")
    yield wanted
    monkeypatch.delenv("NO_COLOR", raising=False)


Snap = Callable[..., bool]
"""pytest-textual-snapshot's ``snap_compare(app, terminal_size=, press=, run_before=)``."""
