"""Searching by hand on the library screen: every stage, the filters, and who keeps the keys."""

from __future__ import annotations

from textual.pilot import Pilot
from textual.widgets import ContentSwitcher, DataTable, Input, Select, Static

from tests.tui.library.shelf import put
from tests.tui.library.test_screen import SIZE, Slow, begin_here, opened
from tests.tui.waiting import until
from traces.library import Library
from tui.app.app import DeepthinkApp
from tui.library.ingest_panel import IngestJob, IngestPanel
from tui.library.passage import PassageScreen
from tui.library.search_panel import SearchPanel

__all__ = ["begin_here"]


async def search(pilot: Pilot[int], words: str) -> SearchPanel:
    await pilot.press("slash", *words, "enter")
    panel = pilot.app.screen.query_one(SearchPanel)
    await until(pilot, lambda: "passages, in" in state(panel) or "Nothing" in state(panel))
    return panel


def state(panel: SearchPanel) -> str:
    return str(panel.query_one("#state", Static).content)


def columns(panel: SearchPanel) -> list[str]:
    return [str(column.label).strip() for column in panel.query_one(DataTable).ordered_columns]


def row(panel: SearchPanel, number: int) -> list[str]:
    return [str(cell) for cell in panel.query_one(DataTable).get_row_at(number)]


async def test_the_search_shows_every_stage(app: DeepthinkApp, stocked: None) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        panel = await search(pilot, "fire at the Brevnes plant")
        assert columns(panel) == ["#", "passage", "grade", "reader", "fused", "vector", "MMR", "keyword"]
        first = row(panel, 0)
        assert [cell.strip() for cell in first[:2]] == ["1", "Fire · Fire at…"]
        assert all(cell.split()[0].isdigit() for cell in first[3:])
        assert first[2].strip() in {"relevant", "maybe relevant"}
        ranks = [row(panel, at)[3].split()[0] for at in range(panel.query_one(DataTable).row_count)]
        assert ranks == sorted(ranks, key=int), "the rows are in the order of a column"
        preview = str(panel.query_one("#preview Static", Static).content)
        assert "news · fire.md · 2025-05-12" in preview
        assert panel.query_one(DataTable).has_focus
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, PassageScreen))
        await pilot.press("escape", "d", "a", "e", "r")
        assert app.screen is screen, "nothing of the shelves can be changed from here"
        await pilot.press("escape")
        assert screen.query_one(ContentSwitcher).current == "shelves"
        await pilot.press("s")
        assert screen.query_one("#query", Input).has_focus
        await pilot.press("down")
        assert panel.query_one(DataTable).has_focus


async def test_the_search_is_filtered_and_says_what_is_wrong(app: DeepthinkApp, stocked: None) -> None:
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot)
        panel = await search(pilot, "fire")
        within = panel.query_one("#within", Select)
        within.value = "filings"
        await until(pilot, lambda: row(panel, 0)[1].startswith("Item 1A."))
        panel.query_one("#query", Input).focus()
        panel.query_one("#query", Input).value = " ? "
        before = state(panel)
        await pilot.press("enter")
        assert state(panel) == before


async def test_the_search_takes_no_keys_from_who_types_while_something_is_read(
    app: DeepthinkApp, stocked: None
) -> None:
    slow = Slow()
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        panel = screen.query_one(SearchPanel)
        await pilot.press("slash")
        within, query = panel.query_one("#within", Select), panel.query_one("#query", Input)
        within.value = "filings"
        await pilot.pause()
        screen.query_one(IngestPanel).begin(IngestJob("into notes", slow))
        await pilot.press(*"bearings")
        before = state(panel)
        put(Library(app.engine.store), "notes", "bearings.md", [("", "Bearings.")])
        for _ in range(2):  # with another collection than before, and with the same ones
            screen._collections = None
            screen.action_refresh()
            await until(pilot, lambda: screen._collections)
            assert within.value == "filings"
            assert (query.value, state(panel)) == ("bearings", before)
        within.value = "notes"
        await until(pilot, lambda: "1 passage, in" in state(panel))
        assert query.has_focus, "Enter did not begin it"
        await pilot.press("enter")
        await until(pilot, lambda: panel.query_one(DataTable).has_focus)
        await pilot.press("x")
        assert screen.query_one(IngestPanel).running
        assert not slow.cancelled
        await pilot.press("escape", "x")
        await until(pilot, lambda: slow.cancelled)


async def test_an_empty_library_cannot_be_searched(app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await opened(pilot)
        await pilot.press("slash", *"fire", "enter")
        await until(pilot, lambda: "No document has been read yet." in state(screen.query_one(SearchPanel)))
