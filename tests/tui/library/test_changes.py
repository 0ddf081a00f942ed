"""Followed folders in the app: a line on what happened, and the window that shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import OptionList, Static

from agent.documents.following import sync
from agent.documents.ingest import ingest
from tests.scripted import HashEmbedder
from tests.tui.conftest import MakeApp
from tests.tui.waiting import until
from traces.folders import Folders
from traces.store import Store
from tui.app.app import DeepthinkApp
from tui.app.engine import Engine
from tui.library.actions import summary
from tui.library.screen import LibraryScreen
from tui.library.shelves import ChangesScreen


def _followed(store: Store, folder: Path) -> None:
    """A folder of two files, one of which has been renamed since."""
    folder.mkdir()
    (folder / "a.md").write_text("Alpha is the first letter.")
    (folder / "b.md").write_text("Beta is the second letter.")
    list(ingest([folder], collection="c", store=store, embedder=HashEmbedder(), follow=True))
    (folder / "b.md").rename(folder / "beta.md")
    list(sync(store=store, embedder=HashEmbedder()))


def test_one_line_says_what_happened(store: Store, tmp_path: Path) -> None:
    folders = Folders(store)
    assert summary(folders) == ""
    _followed(store, tmp_path / "letters")
    assert "1 moved" in summary(folders)
    (tmp_path / "letters").rename(tmp_path / "elsewhere")
    list(sync(store=store, embedder=HashEmbedder()))
    assert str(tmp_path / "letters") in summary(folders)
    assert "stay" in summary(folders)


async def test_the_library_shows_what_happened(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "library")
    app = make_app()
    _followed(app.engine.store, tmp_path / "letters")
    async with app.run_test(size=(100, 30)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LibraryScreen))
        line = app.screen.query_one("#followed", Static)
        await until(pilot, lambda: "1 moved" in str(line.content))
        await pilot.press("f")
        await until(pilot, lambda: isinstance(app.screen, ChangesScreen))
        await until(pilot, lambda: "was b.md" in str(app.screen.query_one("#message", Static).content))
        choices = app.screen.query_one(OptionList)
        assert choices.option_count == 1
        choices.highlighted = 0
        await pilot.press("d")
        await until(pilot, lambda: choices.option_count == 0)
        await pilot.press("escape")
        await until(pilot, lambda: not line.display)
    assert Folders(app.engine.store).followed() == []


def test_the_engine_reads_what_changes_while_nobody_asks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, told = Engine(), list[object]()
    monkeypatch.setattr(engine, "embedder", HashEmbedder)
    _followed(engine.store, tmp_path / "letters")
    (tmp_path / "letters" / "a.md").unlink()
    waits = [True, False]

    class Busy:
        """A model that answers at first."""

        @property
        def users(self) -> int:
            return waits.pop(0) if waits else 0

    monkeypatch.setattr(engine, "_chat", Busy())
    engine.tell = told.append
    engine._sync(["c"])
    assert waits == [], "it waited for an answer under way"
    assert Folders(engine.store).changes()[0].outcome == "removed"
    assert told
