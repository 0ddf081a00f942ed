"""Pictures of the file picker."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.library.shelf import begin_with_nothing, fill
from tests.tui.waiting import until
from tui.library.files import FilesScreen, PathTree


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands in a folder that is called the same every time."""
    begin_with_nothing(monkeypatch)
    names = (
        "letters/april.md",
        "letters/may.txt",
        "minutes/board.docx",
        "report.pdf",
        "sales.csv",
        "tool.exe",
    )
    for name in names:
        (tmp_path / "there" / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / "documents" / name).write_text("A word.", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "there")


async def opened(pilot: Pilot[int], screen: FilesScreen) -> None:
    await pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.query_one(PathTree).root.children)
    await until(pilot, lambda: screen.query_one("#collection", Input).value)


def told(screen: FilesScreen) -> str:
    return str(screen.query_one("#told", Static).content)


@looks("120x40-dark")
def test_choosing_files(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def mark(pilot: Pilot[int]) -> None:
        screen = FilesScreen(Path("documents"), "filings")
        await opened(pilot, screen)
        await pilot.press("down", "right")
        await until(pilot, lambda: screen.query_one(PathTree).root.children[0].children)
        await pilot.press("space", "down", "down", "down", "space")
        await until(pilot, lambda: told(screen).startswith("2 marked"))

    assert snap_compare(app, terminal_size=look.size, run_before=mark)
