"""The file picker: by tree, by path, by paste; and what it does not let through."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input
from textual.widgets._footer import FooterKey

from tests.tui.seen import shown_keys, text_of
from tests.tui.waiting import until
from tui.app.app import DeepthinkApp
from tui.library.actions import Intake, completions
from tui.library.files import FilesScreen, PathInput, PathTree

SIZE = (80, 24)
pytestmark = pytest.mark.usefixtures("bare")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with files that can be read, some that cannot, and hidden ones; the current one."""
    root = tmp_path / "shelf"
    names = "letters/april.md letters/may.txt letters/NOTES report.pdf tool.exe .secret.md [b]odd.md"
    for name in names.split():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("A word.", encoding="utf-8")
    monkeypatch.chdir(root)
    return root


async def opened(pilot: Pilot[int], screen: FilesScreen) -> list[Intake | None]:
    """Put the screen on top, and wait for its files; what is taken from it."""
    taken: list[Intake | None] = []
    pilot.app.push_screen(screen, taken.append)
    await until(pilot, lambda: screen.is_mounted and rows(screen))
    return taken


def told(screen: FilesScreen) -> str:
    return text_of(screen, "#message")


def keys(screen: FilesScreen) -> list[str]:
    """What the footer says the keys do."""
    return [key.description for key in screen.query(FooterKey)]


def rows(screen: FilesScreen) -> list[str]:
    tree = screen.query_one(PathTree)
    return [str(node.label) for node in tree.root.children]


async def test_marked_files_and_folders_are_taken(shelf: Path, app: DeepthinkApp, stocked: None) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = FilesScreen(shelf)
        taken = await opened(pilot, screen)
        assert rows(screen) == ["letters", "[b]odd.md", "report.pdf"]
        await pilot.press("down")
        await pilot.press("right")
        await until(pilot, lambda: screen.query_one(PathTree).cursor_node.children)  # type: ignore[union-attr]
        await pilot.press("left", "enter", "enter", "space", "down", "down", "space")
        await until(pilot, lambda: told(screen) == "Enter reads what is marked (2).")
        field = screen.query_one("#collection", Input)
        assert field.value == "documents"
        await pilot.press("tab", "ctrl+a", "ctrl+k", *"fil", "right")
        assert field.value == "filings", "completed from what there is"
        await pilot.press("enter")
        await until(pilot, lambda: taken)
    assert taken == [Intake((shelf / "letters", shelf / "report.pdf"), (), "filings", "")]


async def test_hidden_files_and_the_folder_above(shelf: Path, app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = FilesScreen(shelf)
        await opened(pilot, screen)
        await until(pilot, lambda: {"Hidden", "Folder above"} <= shown_keys(app))
        await pilot.press("full_stop")
        await until(pilot, lambda: ".secret.md" in rows(screen))
        await pilot.press("full_stop")
        await until(pilot, lambda: rows(screen) and ".secret.md" not in rows(screen))
        await pilot.press("down", "down", "down")
        await pilot.press("space")
        assert list(screen.query_one(PathTree).marked) == [shelf / "report.pdf"]
        await pilot.press("up", "space", "space")
        assert list(screen.query_one(PathTree).marked) == [shelf / "report.pdf"], "marked and not"
        await pilot.press("down", "space")
        assert not screen.query_one(PathTree).marked
        await pilot.press("backspace")
        await until(pilot, lambda: "shelf" in rows(screen))
        tree = screen.query_one(PathTree)
        while tree.path != Path("/"):
            await pilot.press("backspace")
        await until(pilot, lambda: str(tree.root.label) == "/" and "etc" in rows(screen))
        await pilot.press("escape")
        assert app.screen is not screen


async def test_paths_are_typed_completed_and_pasted(shelf: Path, app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = FilesScreen(shelf, "newsroom")  # of the sample library: nothing is added to it by default
        taken = await opened(pilot, screen)
        line = screen.query_one(PathInput)
        line.focus()
        await pilot.press(*"let")
        await until(pilot, lambda: line._suggestion)
        await pilot.press("tab")
        await pilot.press("tab")
        assert line.value == "letters/"
        assert not line.has_focus
        line.focus()
        await until(pilot, lambda: rows(screen) == ["april.md", "may.txt", "NOTES"])
        await pilot.press("ctrl+u", *"nowhere.md", "enter")
        await until(pilot, lambda: "does not exist" in told(screen))
        await pilot.press("ctrl+u")
        line.post_message(events.Paste(f"{shelf / 'report.pdf'}\n{shelf / 'letters'}"))
        await until(pilot, lambda: not told(screen))
        await pilot.press("enter")
        await until(pilot, lambda: taken)
    assert taken == [Intake((shelf / "report.pdf", shelf / "letters"), (), "documents", "")]


async def test_the_line_and_the_tree_go_together_and_the_hint_is_true_for_both(
    shelf: Path, app: DeepthinkApp
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = FilesScreen(shelf)
        taken = await opened(pilot, screen)
        line, tree = screen.query_one(PathInput), screen.query_one(PathTree)
        await until(pilot, lambda: "Open/close" in keys(screen))
        line.focus()
        line.value = "letters/"
        await until(pilot, lambda: "april.md" in rows(screen))
        tree.focus()
        await pilot.press("backspace")
        await until(pilot, lambda: "report.pdf" in rows(screen))
        await pilot.press("home", "down", "down", "space")
        assert list(tree.marked) == [shelf / "[b]odd.md"]
        await until(pilot, lambda: told(screen) == "Enter reads what is marked (1) and the path above.")
        assert Path(tree.path) == shelf, "it follows the line only when that changes"
        line.value = ""
        await until(pilot, lambda: told(screen) == "Enter reads what is marked (1).")
        await until(pilot, lambda: "Open/close" not in keys(screen))
        assert "Read" in keys(screen)
        await pilot.press(*"rep")
        assert line.has_focus
        assert line.value == "rep"
        await until(pilot, lambda: line._suggestion)
        await pilot.press("tab")
        await until(pilot, lambda: told(screen) == "Enter reads what is marked (1) and the path above.")
        await until(pilot, lambda: keys(screen)[:1] == ["Read"])
        tree.focus()
        tree.post_message(events.Paste(f" {shelf / 'letters'}"))
        await until(pilot, lambda: line.has_focus and line.value.endswith("letters"))
        line.value = "report.pdf"
        await pilot.press("enter")
        await until(pilot, lambda: taken)
    assert taken == [Intake((Path("report.pdf"), shelf / "[b]odd.md"), (), "documents", "")]


async def test_an_address_needs_the_web_and_a_collection_a_name(
    shelf: Path, monkeypatch: pytest.MonkeyPatch, app: DeepthinkApp, stocked: None
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = FilesScreen(shelf, "filings")
        await opened(pilot, screen)
        await until(pilot, lambda: screen.query_one("#collection", Input).value == "filings")
        await pilot.press("enter", "enter")  # shuts and opens the folder: nothing is marked
        screen.set_focus(screen.query_one("#collection", Input))
        await pilot.press("enter")
        await until(pilot, lambda: "Mark something" in told(screen))
        screen.query_one(PathInput).value = "https://example.org/a"
        await pilot.press("enter")
        await until(pilot, lambda: "while the web is off" in told(screen))
        assert screen.query_one("#message").has_class("error")
        monkeypatch.setenv("DEEPTHINK_WEB", "true")
        app.engine.reload()
        await pilot.press("escape")
        again = FilesScreen(shelf)
        taken = await opened(pilot, again)
        await until(pilot, lambda: again.query_one("#collection", Input).value)
        again.query_one(PathInput).value = "https://example.org/a"
        again.query_one("#collection", Input).value = "no/name"
        again.set_focus(again.query_one("#collection", Input))
        await pilot.press("enter")
        await until(pilot, lambda: "cannot be the name" in told(again))
        again.query_one("#collection", Input).value = "name"
        await pilot.press("enter")
        await until(pilot, lambda: taken)
    assert taken == [Intake((), ("https://example.org/a",), "name", "")]


def test_completions(shelf: Path) -> None:
    assert completions("rep") == ["report.pdf"]
    (shelf / "letters-questions.md").touch()
    assert completions("letters") == ["letters/", "letters-questions.md"]
    assert completions("letters/") == ["letters/NOTES", "letters/april.md", "letters/may.txt"]
    assert completions(".s") == [".secret.md"]
    for typed in ("too", "nowhere/x", "~nobody-here/x", "a\0b/x"):
        assert completions(typed) == []
