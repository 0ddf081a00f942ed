"""Pictures of the library screen: empty, filled, reading, after a failure, searching."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from textual.pilot import Pilot

from agent.documents import ingest as ing
from agent.documents.document import UnreadableDocument
from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.library.shelf import fill
from tests.tui.library.test_screen import facts, opened
from tests.tui.library.test_search import search
from tests.tui.waiting import until
from tui.app.app import DeepthinkApp
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.shelves import Outline, Shelves


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
    ing.FileEmbedding("/documents/report.pdf", 96, 240),
]
REST = [
    ing.FileDone(
        "/documents/report.pdf", "report.pdf", "added", 240, 0.31, 9, 5.0, ("6 of 9 pages hold no text.",)
    ),
    ing.IngestFinished(2, 0, 0, 0, 0, 1, 244, 6.0),
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
def test_a_collection_with_low_coverage(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def wait(pilot: Pilot[int]) -> None:
        await opened(pilot)
        await until(pilot, lambda: "on average" in facts(pilot))

    assert snap_compare(app, terminal_size=look.size, run_before=wait)


async def reading(pilot: Pilot[int]) -> IngestPanel:
    screen = await opened(pilot)
    await until(pilot, lambda: "on average" in facts(pilot))
    panel = screen.query_one(IngestPanel)
    panel.show(IngestJob("into filings", nothing), UNDER_WAY)
    screen.refresh_bindings()
    await pilot.pause()
    return panel


@looks("120x40-dark")
def test_reading_under_way(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def begin(pilot: Pilot[int]) -> None:
        await reading(pilot)

    assert snap_compare(app, terminal_size=look.size, run_before=begin)


@looks("80x24-dark")
def test_reading_with_a_file_that_failed(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def end(pilot: Pilot[int]) -> None:
        panel = await reading(pilot)
        panel.take(REST)
        panel.finish()
        await pilot.pause()

    assert snap_compare(app, terminal_size=look.size, run_before=end)


@looks("80x24-dark")
def test_what_a_search_found(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    fill(app.engine.store)

    async def find(pilot: Pilot[int]) -> None:
        await opened(pilot)
        await search(pilot, "fire at the Brevnes plant")

    assert snap_compare(app, terminal_size=look.size, run_before=find)
