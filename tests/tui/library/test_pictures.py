"""Pictures of the library: the screen, its search, the file picker, a passage in its document."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from agent.documents import ingest as ing
from agent.documents.document import UnreadableDocument
from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.library.shelf import begin_with_nothing, fill
from tests.tui.library.test_screen import facts, opened
from tests.tui.library.test_search import search
from tests.tui.waiting import until
from traces.library import Library
from tui.app.app import DeepthinkApp
from tui.library.files import FilesScreen, PathTree
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.passage import DocumentText, PassageScreen
from tui.library.shelves import Outline, Shelves

QUOTE = "The company did not draw on its credit line in the quarter."
NAMES = "letters/april.md letters/may.txt minutes/board.docx report.pdf sales.csv tool.exe".split()


@pytest.fixture(autouse=True)
def begin_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "library")


def nothing(_cancel: threading.Event) -> Iterator[ing.IngestEvent]:
    yield from ()


UNDER_WAY = [
    ing.FileFound(12),
    ing.FileStarted("/documents/fire.md", "fire.md"),
    ing.FileDone("/documents/fire.md", "fire.md", "added", 4, 1.0, None, 0.2, ()),
    ing.FileStarted("/documents/broken.pdf", "broken.pdf"),
    ing.FileFailed(
        "/documents/broken.pdf",
        "broken.pdf",
        UnreadableDocument(
            "broken.pdf is damaged and cannot be read.", "Save it again and add the new file."
        ),
    ),
    ing.FileStarted("/documents/report.pdf", "report.pdf"),
    ing.FileProgress("/documents/report.pdf", "report.pdf", 96, 240, "passages"),
]


@looks("80x24-dark")
def test_an_empty_library(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    async def wait(pilot: Pilot[int]) -> None:
        await opened(pilot)

    assert snap_compare(make_app(theme=look.theme), terminal_size=look.size, run_before=wait)


@looks("80x24-light", "120x40-dark")
def test_a_document_and_its_sections(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def choose(pilot: Pilot[int]) -> None:
        screen = await opened(pilot)
        tree = screen.query_one(Shelves)
        await until(pilot, lambda: tree.chosen)
        await pilot.press("right")
        await until(pilot, lambda: tree.root.children[0].children)
        await pilot.press("down")
        await until(pilot, lambda: screen.query_one(Outline).root.children)

    assert snap_compare(app, terminal_size=look.size, run_before=choose)


@looks("120x40-dark")
def test_reading_under_way(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def begin(pilot: Pilot[int]) -> None:
        screen = await opened(pilot)
        await until(pilot, lambda: "on average" in facts(pilot))
        screen.query_one(IngestPanel).show(IngestJob("into filings", nothing), UNDER_WAY)
        screen.refresh_bindings()
        await pilot.pause()

    assert snap_compare(app, terminal_size=look.size, run_before=begin)


@looks("80x24-dark")
def test_what_a_search_found(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def find(pilot: Pilot[int]) -> None:
        await opened(pilot)
        await search(pilot, "fire at the Brevnes plant")

    assert snap_compare(app, terminal_size=look.size, run_before=find)


@looks("120x40-dark")
def test_choosing_files(
    look: Look, make_app: MakeApp, snap_compare: Snap, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with_nothing(monkeypatch)
    for name in NAMES:
        (tmp_path / "there" / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "there" / "documents" / name).write_text("A word.", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "there")
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def mark(pilot: Pilot[int]) -> None:
        screen = FilesScreen(Path("documents"), "filings")
        await pilot.app.push_screen(screen)
        tree = screen.query_one(PathTree)
        await until(pilot, lambda: tree.root.children and screen.query_one("#collection", Input).value)
        await pilot.press("down", "right")
        await until(pilot, lambda: tree.root.children[0].children)
        await pilot.press("space", "down", "down", "down", "space")
        await until(pilot, lambda: str(screen.query_one("#message", Static).content).startswith("2 marked"))

    assert snap_compare(app, terminal_size=look.size, run_before=mark)


@looks("80x24-dark", "120x40-light")
def test_a_passage_in_its_document(
    look: Look, make_app: MakeApp, snap_compare: Snap, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin_with_nothing(monkeypatch)
    app = make_app(theme=look.theme)
    ids = fill(app.engine.store)
    wanted = Library(app.engine.store).document_passages(ids["report.pdf"])[3].id

    async def open_it(pilot: Pilot[int]) -> None:
        screen = PassageScreen(wanted, QUOTE, number=3)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query_one(DocumentText).passage)

    assert snap_compare(app, terminal_size=look.size, run_before=open_it)
