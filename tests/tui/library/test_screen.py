"""The library screen: what is there, reading more, changing it, searching it; by keys alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, DataTable, Input, OptionList, Static, TextArea

from agent.documents import ingest as ing
from agent.documents.document import UnreadableDocument
from agent.documents.following import sync
from agent.documents.ingest import ingest
from agent.documents.sample_library import COLLECTIONS
from models.protocols import ModelMissing
from tests.scripted import HashEmbedder
from tests.tui.conftest import MakeApp, Picture, Scene
from tests.tui.library.shelf import fill, put
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import PATIENCE, comes, until
from traces.folders import Folders
from traces.library import Library
from traces.records import Collection
from traces.store import Store, StoreError
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen
from tui.app.engine import Engine
from tui.app.failure import FailureScreen
from tui.assemble import open_store
from tui.library.actions import read_samples, summary
from tui.library.files import FilesScreen, PathInput, PathTree
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.passage import DocumentText, PassageScreen
from tui.library.screen import LibraryScreen
from tui.library.search_panel import SearchPanel
from tui.library.shelves import ChangesScreen, DescribeScreen, Outline, Shelves

SIZE = (80, 24)


@pytest.fixture(autouse=True)
def begin_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "library")


async def opened(pilot: Pilot[int]) -> LibraryScreen:
    screen = await comes(pilot, LibraryScreen)
    await until(pilot, lambda: "…" not in facts(pilot))
    return screen


async def chosen(pilot: Pilot[int]) -> LibraryScreen:
    """The screen, with a collection under the cursor."""
    screen = await opened(pilot)
    await until(pilot, lambda: screen.query_one(Shelves).chosen)
    return screen


async def confirm(pilot: Pilot[int], key: str, answer: str) -> str:
    """Press a key that asks first, and answer; what was asked."""
    await pilot.press(key)
    window = await comes(pilot, ConfirmScreen)
    asked = f"{text_of(window, '.title')} {text_of(window, '#detail')}"
    await pilot.press(answer)
    return asked


@pytest.mark.usefixtures("home")
async def test_an_app_begun_with_paths_goes_to_adding_them(
    make_app: MakeApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "ask")
    paths = [tmp_path / "my notes.md", tmp_path / "letters"]
    paths[0].write_text("A note.", encoding="utf-8")
    paths[1].mkdir()
    async with make_app(begin_with=[str(path) for path in paths]).run_test(size=SIZE) as pilot:
        window = await comes(pilot, FilesScreen)
        await until(pilot, lambda: window.query_one("#collection", Input).value)  # the settings are read
        await pilot.press("enter")
        screen = await comes(pilot, LibraryScreen)
        await until(pilot, lambda: "my notes.md" in str(screen._documents))


def facts(pilot: Pilot[int]) -> str:
    """The details, in one line."""
    screen = pilot.app.screen_stack[0]
    if not screen.query("#facts"):
        return "…"
    return " ".join(text_of(screen, "#facts").split()) or "…"


def told(pilot: Pilot[int]) -> str:
    """What the panel tells of the reading."""
    return str(pilot.app.screen_stack[0].query_one(IngestPanel).query_one(Static).content)


def held(app: DeepthinkApp) -> dict[str, list[str]]:
    """Names of the stored documents by collection."""
    library = Library(app.engine.store)
    return {c.name: [d.name for d in library.documents(c.name)] for c in library.collections()}


def notices(app: DeepthinkApp) -> str:
    return "\n".join(toasts(app))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "shelf"
    made.mkdir()
    (made / "fire.md").write_text("# Fire\n\nA fire at the Brevnes plant halted production.\n")
    (made / "empty.md").touch()
    monkeypatch.chdir(made)
    return made


async def test_an_empty_library_says_how_to_begin_and_reads_the_samples(
    app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(HashEmbedder, "name", "bge-small-en")  # supports English only
    found_all = threading.Event()

    def held_back(*arguments: Any) -> Iterator[ing.IngestEvent]:
        events = read_samples(*arguments)
        yield next(events)
        found_all.wait(PATIENCE)
        yield from events

    monkeypatch.setattr("tui.library.ingest_panel.read_samples", held_back)
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        for action in ("reread", "remove", "describe", "stop", "hide"):
            assert screen.check_action(action, ()) is False
        await pilot.press("t")
        await until(pilot, lambda: "0 of 12 files" in told(pilot))
        found_all.set()
        await until(pilot, lambda: "✓ Read the sample library: 12 added" in told(pilot))
        assert sum(one.documents for one in screen._collections or ()) == 12, "as it is told"
        assert "Chinese" not in told(pilot)
        assert set(held(app)) == set(COLLECTIONS)
        tree = screen.query_one(Shelves)
        await until(pilot, lambda: tree.chosen and screen.focused is tree)
        assert screen.check_action("samples", ()) is False
        await pilot.press("up", "right")
        await until(pilot, lambda: tree.root.children[0].children)
        await pilot.press(*["down"] * 7)
        await until(pilot, lambda: "language Chinese: found by its words" in facts(pilot))
        await pilot.press("up")
        await until(pilot, lambda: "board-note" in facts(pilot))
        assert "language" not in facts(pilot)
        assert screen.query_one(IngestPanel).has_class("-shown")
        await pilot.press("escape")
        assert not screen.query_one(IngestPanel).has_class("-shown")


async def test_collections_documents_sections_and_passages(app: DeepthinkApp, stocked: None) -> None:
    long_name = f"minutes-{'of-the-association-' * 4}2025.md"
    put(Library(app.engine.store), "minutes", long_name, [("", "The chair is Ilse Brandt.")])
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        tree = screen.query_one(Shelves)
        await until(pilot, lambda: "on average" in facts(pilot))
        assert isinstance(tree.chosen, Collection)
        assert not tree.root.children[0].children, "documents come when the collection is opened"
        await pilot.press("right")
        await until(pilot, lambda: tree.root.children[0].children)
        await pilot.press("down", "down")
        await until(pilot, lambda: "A scanned letter" in facts(pilot))
        assert "coverage 31.0% low: the rest of its text is in no passage" in facts(pilot)
        assert "! 8 of 9 pages hold pictures only" in facts(pilot)
        await pilot.press("up")
        outline = screen.query_one(Outline)
        await until(
            pilot, lambda: "Report for the second quarter" in facts(pilot) and outline.root.children
        )
        await pilot.press("tab")
        await until(pilot, lambda: screen.focused is outline)
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: isinstance(app.screen, PassageScreen) and app.screen.query(DocumentText))
        text = app.screen.query_one(DocumentText)
        await until(pilot, lambda: text.passage)
        assert text.passage is not None
        assert text.passage.section == "Item 7. Results › Liquidity"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await pilot.press("shift+tab", "enter")
        await comes(pilot, PassageScreen)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen and screen.focused is tree)
        await pilot.press("left", "left")
        await until(pilot, lambda: tree.root.children[0].is_collapsed)
        await pilot.press("enter")
        assert tree.root.children[0].is_expanded
        await pilot.press("end", "up", "right")
        await until(pilot, lambda: tree.root.children[1].children)
        await pilot.pause()
        line = tree.render_line(4).text.rstrip()
        assert line.endswith("…")
        assert "minutes-of" in line
        assert app.failures == []


async def test_an_unreadable_library_says_why(app: DeepthinkApp, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_library: Library) -> list[Collection]:
        raise StoreError("It cannot be written.", "Make its folder writable.")

    with monkeypatch.context() as broken:
        broken.setattr(Library, "collections", fail)
        async with app.run_test(size=SIZE) as pilot:
            await until(pilot, lambda: "It cannot be written. Make its folder writable." in facts(pilot))
            broken.undo()
            await pilot.press("u")
            await until(pilot, lambda: "The library is empty." in facts(pilot))


async def test_files_are_chosen_what_fails_is_told_and_what_is_gone_when_they_are_read_again(
    folder: Path, app: DeepthinkApp
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("a")
        picker = await comes(pilot, FilesScreen)
        await until(pilot, lambda: picker.query_one("#collection", Input).value)
        picker.query_one(PathInput).focus()
        picker.query_one(PathInput).value = str(folder)
        await pilot.press("enter")
        await until(pilot, lambda: "! Read into documents: 1 added, 1 failed" in told(pilot))
        assert "✗ empty.md: empty.md is empty." in told(pilot)
        assert "Check that it is the file you meant." in told(pilot)
        assert held(app) == {"documents": ["fire.md"]}
        await until(pilot, lambda: "documents 1 passages 1 not read empty.md is empty." in facts(pilot))
        await pilot.press("ctrl+r")
        await comes(pilot, FailureScreen)
        assert "empty.md is empty.\nCheck that it" in app.screen.query_one(TextArea).text
        await pilot.press("escape", "a")
        await comes(pilot, FilesScreen)
        await pilot.press("escape")
        assert app.screen is screen
        (folder / "fire.md").write_text("# Fire\n\nThe plant runs again.\n\n# Later\n\nMore.\n")
        put(Library(app.engine.store), "documents", "gone.md", [("", "Gone.")])
        await pilot.press("u", "r")
        await until(pilot, lambda: "✓ Read into documents: 1 updated" in told(pilot))
        await until(pilot, lambda: "gone.md is no longer at /documents/gone.md." in notices(app))
        assert "What is in the library stays." in notices(app)
        assert held(app) == {"documents": ["fire.md", "gone.md"]}
        await pilot.press("right")
        shelf = screen.query_one(Shelves).root.children[0]
        await until(pilot, lambda: len(shelf.children) == 2)
        await pilot.press("down", "r")
        await until(pilot, lambda: "1 unchanged" in told(pilot))


async def test_dropped_files_are_read_into_the_collection_one_is_in(
    folder: Path, app: DeepthinkApp, stocked: None
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await chosen(pilot)
        await pilot.press("down")
        app.post_message(events.Paste(f"'{folder / 'fire.md'}'"))
        await until(pilot, lambda: "✓ Read into news: 1 added" in told(pilot))
        assert held(app)["news"] == ["example.org/bearings", "fire.md", "fire.md"]
        screen.post_message(events.Paste("just some words"))
        await until(pilot, lambda: app.failures)
        assert "just does not exist" in app.failures[0].error.message


async def test_removing_asks_first_and_what_is_being_read_stays(app: DeepthinkApp, stocked: None) -> None:
    slow, refused = Slow(), "filings is being read."
    async with app.run_test(size=SIZE) as pilot:
        screen = await chosen(pilot)
        tree = screen.query_one(Shelves)
        await pilot.press("right")
        await until(pilot, lambda: tree.root.children[0].children)
        await pilot.press("down")
        assert "Remove report.pdf from filings? Its 6 passages" in await confirm(pilot, "d", "n")
        assert held(app)["filings"] == ["report.pdf", "scan.pdf"]
        await confirm(pilot, "d", "y")
        await until(pilot, lambda: held(app)["filings"] == ["scan.pdf"])
        await until(pilot, lambda: len(tree.root.children[0].children) == 1)
        assert tree.root.children[0].is_expanded
        await until(pilot, lambda: isinstance(tree.chosen, Collection))
        await until(pilot, lambda: facts(pilot).startswith("filings "))
        await pilot.press("d")
        await comes(pilot, ConfirmScreen)
        screen._begin(IngestJob("into filings", slow, ["filings"]))
        await pilot.press("y")
        await until(pilot, lambda: refused in notices(app))
        app.clear_notifications()
        await pilot.press("d")
        await until(pilot, lambda: refused in notices(app))
        assert app.screen is screen
        assert "filings" in held(app)
        slow.go.set()
        await until(pilot, lambda: not screen.query_one(IngestPanel).running)
        assert "Remove “filings” with its 1 document?" in await confirm(pilot, "d", "y")
        await until(pilot, lambda: set(held(app)) == {"news"})
        await until(pilot, lambda: len(tree.root.children) == 1)
        await until(pilot, lambda: facts(pilot).startswith("news "))


async def test_a_collection_is_described_here_and_by_another_process(
    app: DeepthinkApp, stocked: None
) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await chosen(pilot)
        await pilot.press("down", "e")
        await comes(pilot, DescribeScreen)
        await pilot.press("escape", "e")
        await comes(pilot, DescribeScreen)
        await pilot.press(*"What happened", "enter")
        await until(pilot, lambda: "news What happened" in facts(pilot))
        described = {c.name: c.description for c in Library(app.engine.store).collections()}
        assert described["news"] == "What happened"
        Library(Store(app.engine.store.path)).describe_collection("news", "Of 2025")
        await until(pilot, lambda: "news Of 2025" in facts(pilot))


class Slow:
    """A reading that goes on when it is told to."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.cancelled = False

    def __call__(self, cancel: threading.Event) -> Iterator[ing.IngestEvent]:
        yield ing.FileFound(2)
        yield ing.FileStarted("/a.md", "a.md")
        yield ing.FileProgress("/a.md", "a.md", 32, 64, "passages")
        while not self.go.wait(0.01):
            if cancel.is_set():
                self.cancelled = True
                return
        yield ing.FileDone("/a.md", "a.md", "added", 64, 1.0, None, 1.0, ())
        yield ing.IngestFinished(0, 1.0)


def breaks_off(_cancel: threading.Event) -> Iterator[ing.IngestEvent]:
    """A reading without a model."""
    yield ing.FileFound(1)
    raise ModelMissing("The embedder is not here.", "Fetch it: `deepthink models pull bge-small-en`.")


async def test_a_reading_goes_on_while_one_is_elsewhere_can_be_stopped_and_may_break_off(
    app: DeepthinkApp,
) -> None:
    slow, other = Slow(), Slow()
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        panel = screen.query_one(IngestPanel)
        assert panel.begin(IngestJob("into first", slow))
        await until(pilot, lambda: "32 of 64 passages" in told(pilot))
        screen._begin(IngestJob("into second", other))
        assert "Reading into first; then into second" in told(pilot)
        await until(pilot, lambda: "into second: read after" in notices(app))
        await pilot.press("f9")
        assert app.screen is not screen
        slow.go.set()
        told_by = panel.query_one(Static)
        await until(pilot, lambda: "Reading into second" in str(told_by.content))
        await until(pilot, lambda: "Reading has ended: 1 added." in notices(app))
        await pilot.press("f3", "x")
        await until(pilot, lambda: "✓ Stopped reading into second: nothing was read" in told(pilot))
        assert other.cancelled
        panel.begin(IngestJob("into x", breaks_off))
        await until(pilot, lambda: "✗ The embedder is not here. Fetch it in F7 Models" in told(pilot))
        assert "✗ Read into x: nothing was read" in told(pilot)
        await until(pilot, lambda: app.failures)
        assert screen.is_running


async def search(pilot: Pilot[int], words: str) -> SearchPanel:
    await pilot.press("slash", *words, "enter")
    panel = pilot.app.screen.query_one(SearchPanel)
    await until(pilot, lambda: "passages, in" in state(panel) or "Nothing" in state(panel))
    return panel


def state(panel: SearchPanel) -> str:
    return text_of(panel, "#state")


def columns(panel: SearchPanel) -> list[str]:
    return [str(column.label).strip() for column in panel.query_one(DataTable).ordered_columns]


def row(panel: SearchPanel, number: int) -> list[str]:
    return [str(cell) for cell in panel.query_one(DataTable).get_row_at(number)]


async def test_the_search_shows_every_stage(app: DeepthinkApp, stocked: None) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        panel = await search(pilot, "fire at the Brevnes plant")
        assert columns(panel) == ["#", "passage", "grade", "reader", "fused", "vector", "MMR", "keyword"]
        assert panel.query_one(DataTable).has_focus
        await pilot.press("enter")
        await comes(pilot, PassageScreen)
        await pilot.press("escape", "d", "a", "e", "r")
        assert app.screen is screen, "nothing of the shelves can be changed from here"
        await pilot.press("escape")
        assert screen.query_one(ContentSwitcher).current == "shelves"
        await pilot.press("s")
        query = screen.query_one("#query", Input)
        assert query.has_focus
        await pilot.press("down")
        assert panel.query_one(DataTable).has_focus
        before = state(panel)
        for words, told_then in (
            (" ? ", before),
            ("#filings fire", "7 passages"),
            ("#nosuch fire", "no collection “nosuch”"),
        ):
            query.focus()
            query.value = words
            await pilot.press("enter")
            await until(pilot, lambda: told_then in state(panel))  # noqa: B023
        assert row(panel, 0)[1].startswith("Item 1A.")


async def test_the_search_takes_no_keys_from_who_types_while_something_is_read(
    app: DeepthinkApp, stocked: None
) -> None:
    slow = Slow()
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        panel = screen.query_one(SearchPanel)
        await pilot.press("slash")
        query = panel.query_one("#query", Input)
        screen.query_one(IngestPanel).begin(IngestJob("into notes", slow))
        await pilot.press(*"bearings")
        before = state(panel)
        put(Library(app.engine.store), "notes", "bearings.md", [("", "Bearings.")])
        screen._collections = None
        screen.action_refresh()
        await until(pilot, lambda: screen._collections)
        assert (query.value, state(panel)) == ("bearings", before)
        await pilot.press("enter")
        await until(pilot, lambda: panel.query_one(DataTable).has_focus)
        await pilot.press("x")
        assert screen.query_one(IngestPanel).running
        assert not slow.cancelled
        await pilot.press("escape", "x")
        await until(pilot, lambda: slow.cancelled)


def _followed(store: Store, folder: Path) -> None:
    """A folder of two files, one of which has been renamed since."""
    folder.mkdir()
    (folder / "a.md").write_text("Alpha is the first letter.")
    (folder / "b.md").write_text("Beta is the second letter.")
    list(ingest([folder], collection="c", store=store, embedder=HashEmbedder(), follow=True))
    (folder / "b.md").rename(folder / "beta.md")
    list(sync(store=store, embedder=HashEmbedder()))


def test_one_line_says_that_a_folder_is_gone(store: Store, tmp_path: Path) -> None:
    folders = Folders(store)
    _followed(store, tmp_path / "letters")
    (tmp_path / "letters").rename(tmp_path / "elsewhere")
    list(sync(store=store, embedder=HashEmbedder()))
    assert str(tmp_path / "letters") in summary(folders)
    assert "stay" in summary(folders)


async def test_the_library_shows_what_happened(tmp_path: Path, app: DeepthinkApp) -> None:
    _followed(app.engine.store, tmp_path / "letters")
    async with app.run_test(size=(100, 30)) as pilot:
        await comes(pilot, LibraryScreen)
        line = app.screen.query_one("#followed", Static)
        await until(pilot, lambda: "1 moved. f shows more." in str(line.content))
        await pilot.press("f")
        await comes(pilot, ChangesScreen)
        await until(pilot, lambda: "was b.md" in text_of(app.screen, "#message"))
        choices = app.screen.query_one(OptionList)
        assert choices.option_count == 1
        choices.highlighted = 0
        await pilot.press("d")
        await until(pilot, lambda: choices.option_count == 0)
        await pilot.press("escape")
        await until(pilot, lambda: not line.display)
    assert Folders(app.engine.store).followed() == []


def test_changes_are_read_while_nobody_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


# --- pictures

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
    await pilot.press("space", *["down"] * 4, "space", "down")
    await until(pilot, lambda: "(2)" in text_of(screen, "#message"))


async def a_passage_in_its_document(pilot: Pilot[int]) -> None:
    screen = PassageScreen(4, QUOTE, number=3)  # the fourth that `fill` stores
    await pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.query_one(DocumentText).passage)


@pytest.mark.parametrize(
    ("scene", "look"),
    [
        (opened, "80x24-dark"),
        (a_document_and_its_sections, "80x24-light"),
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
    if scene in {choosing_files, a_passage_in_its_document}:
        monkeypatch.setattr(DeepthinkApp, "DEFAULT_MODE", "ask")
    if scene is not opened:
        fill(open_store())
    if scene is choosing_files:
        for name in NAMES:
            (tmp_path / "there" / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / "there" / "documents" / name).write_text("A word.", encoding="utf-8")
        monkeypatch.chdir(tmp_path / "there")
    picture(scene)
