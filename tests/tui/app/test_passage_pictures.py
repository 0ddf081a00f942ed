"""Pictures of the passage viewer."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.tui.app.conftest import Look, MakeApp, Snap
from tests.tui.app.library_shelf import begin_with_nothing, fill
from tests.tui.app.waiting import until
from traces.library import Library
from tui.app.screens.passage import PassageScreen
from tui.app.widgets.library_text import DocumentText

QUOTE = "The company did not draw on its credit line in the quarter."


@pytest.fixture(autouse=True)
def beneath(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_nothing(monkeypatch)


def test_a_passage_in_its_document(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    ids = fill(app.engine.store)
    wanted = Library(app.engine.store).document_passages(ids["report.pdf"])[3].id

    async def open_it(pilot: Pilot[int]) -> None:
        screen = PassageScreen(wanted, QUOTE, number=3)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query_one(DocumentText).passage)

    assert snap_compare(app, terminal_size=look.size, run_before=open_it)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_words_found(size: tuple[int, int], make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app()
    ids = fill(app.engine.store)
    wanted = Library(app.engine.store).document_passages(ids["report.pdf"])[2].id

    async def find(pilot: Pilot[int]) -> None:
        screen = PassageScreen(wanted, "Europe 1,204 1,118", number=1)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query_one(DocumentText).passage)
        await pilot.press("slash", *"bonds")

    assert snap_compare(app, terminal_size=size, run_before=find)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_a_passage_that_is_gone(size: tuple[int, int], make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app()

    async def open_it(pilot: Pilot[int]) -> None:
        screen = PassageScreen(
            7, "It was so.", "news", 2, title="An old page", section="Then", text="Once. It was so."
        )
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query_one("#gone").display)

    assert snap_compare(app, terminal_size=size, run_before=open_it)
