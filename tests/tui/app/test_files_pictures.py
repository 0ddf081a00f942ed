"""Pictures of the file picker."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from tests.tui.app.conftest import Look, MakeApp, Snap
from tests.tui.app.library_shelf import begin_with_nothing, fill
from tests.tui.app.waiting import until
from tui.app.screens.files import FilesScreen
from tui.app.widgets.library_paths import PathInput, PathTree


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


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_an_address_while_the_web_is_off(
    size: tuple[int, int], make_app: MakeApp, snap_compare: Snap
) -> None:
    app = make_app()

    async def write(pilot: Pilot[int]) -> None:
        screen = FilesScreen(Path("documents"))
        await opened(pilot, screen)
        line = screen.query_one(PathInput)
        line.focus()
        line.value = "https://example.org/report.html"
        await until(pilot, lambda: told(screen) == "Enter reads 1 address.")
        await pilot.press("enter")
        await until(pilot, lambda: told(screen).startswith("✗"))

    assert snap_compare(app, terminal_size=size, run_before=write)
