"""Pictures of the library: the screen, its search, the file picker, a passage in its document."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from agent.documents import ingest as ing
from agent.documents.document import UnreadableDocument
from tests.tui.conftest import Picture, Scene
from tests.tui.library.shelf import fill
from tests.tui.library.test_screen import facts, opened, search, told
from tests.tui.seen import text_of
from tests.tui.waiting import PATIENCE, until
from tui.app.app import DeepthinkApp
from tui.assemble import open_store
from tui.library.files import FilesScreen, PathTree
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.passage import DocumentText, PassageScreen
from tui.library.shelves import Outline, Shelves

QUOTE = "The company did not draw on its credit line in the quarter."
NAMES = "letters/april.md letters/may.txt minutes/board.docx report.pdf sales.csv tool.exe".split()
BROKEN = UnreadableDocument(
    "broken.pdf is damaged and cannot be read.", "Save it again and add the new file."
)


def under_way(cancel: threading.Event) -> Iterator[ing.IngestEvent]:
    """A reading that has got to its third file, and waits there."""
    yield ing.FileFound(12)
    yield ing.FileStarted("/documents/fire.md", "fire.md")
    yield ing.FileDone("/documents/fire.md", "fire.md", "added", 4, 1.0, None, 0.2, ())
    yield ing.FileStarted("/documents/broken.pdf", "broken.pdf")
    yield ing.FileFailed("/documents/broken.pdf", "broken.pdf", BROKEN)
    yield ing.FileStarted("/documents/report.pdf", "report.pdf")
    yield ing.FileProgress("/documents/report.pdf", "report.pdf", 96, 240, "passages")
    cancel.wait(PATIENCE)


async def a_document_and_its_sections(pilot: Pilot[int]) -> None:
    screen = await opened(pilot)
    tree = screen.query_one(Shelves)
    await until(pilot, lambda: tree.chosen)
    await pilot.press("right")
    await until(pilot, lambda: tree.root.children[0].children)
    await pilot.press("down")
    await until(pilot, lambda: screen.query_one(Outline).root.children)


async def reading_under_way(pilot: Pilot[int]) -> None:
    screen = await opened(pilot)
    await until(pilot, lambda: "on average" in facts(pilot))
    screen.query_one(IngestPanel).begin(IngestJob("into filings", under_way))
    await until(pilot, lambda: "96 of 240" in told(pilot))


async def what_a_search_found(pilot: Pilot[int]) -> None:
    await opened(pilot)
    await search(pilot, "fire at the Brevnes plant")


async def choosing_files(pilot: Pilot[int]) -> None:
    screen = FilesScreen(Path("documents"), "filings")
    await pilot.app.push_screen(screen)
    tree = screen.query_one(PathTree)
    await until(pilot, lambda: tree.root.children and screen.query_one("#collection", Input).value)
    await pilot.press("down", "right")
    await until(pilot, lambda: tree.root.children[0].children)
    await pilot.press("space", "down", "down", "down", "space")
    await until(pilot, lambda: text_of(screen, "#message").startswith("2 marked"))


async def a_passage_in_its_document(pilot: Pilot[int]) -> None:
    screen = PassageScreen(4, QUOTE, number=3)  # the fourth that `fill` stores
    await pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.query_one(DocumentText).passage)


@pytest.mark.parametrize(
    ("scene", "look"),
    [
        (opened, "80x24-dark"),
        (a_document_and_its_sections, "80x24-light"),
        (a_document_and_its_sections, "120x40-dark"),
        (reading_under_way, "120x40-dark"),
        (what_a_search_found, "80x24-dark"),
        (choosing_files, "120x40-dark"),
        (a_passage_in_its_document, "80x24-dark"),
        (a_passage_in_its_document, "120x40-light"),
    ],
    indirect=["look"],
    ids=lambda value: value if isinstance(value, str) else value.__name__,
)
def test_library(
    scene: Scene, picture: Picture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bare: None
) -> None:
    if scene not in {choosing_files, a_passage_in_its_document}:
        monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "library")
    if scene is not opened:
        fill(open_store())
    if scene is choosing_files:
        for name in NAMES:
            (tmp_path / "there" / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "there" / "documents" / name).write_text("A word.", encoding="utf-8")
        monkeypatch.chdir(tmp_path / "there")
    picture(scene)
