"""Pictures of the passage viewer."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from tests.tui.conftest import Look, MakeApp, Snap, looks
from tests.tui.library.shelf import begin_with_nothing, fill
from tests.tui.waiting import until
from traces.library import Library
from tui.library.passage import DocumentText, PassageScreen

QUOTE = "The company did not draw on its credit line in the quarter."


@pytest.fixture(autouse=True)
def beneath(monkeypatch: pytest.MonkeyPatch) -> None:
    begin_with_nothing(monkeypatch)


@looks("80x24-dark", "120x40-light")
def test_a_passage_in_its_document(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)
    ids = fill(app.engine.store)
    wanted = Library(app.engine.store).document_passages(ids["report.pdf"])[3].id

    async def open_it(pilot: Pilot[int]) -> None:
        screen = PassageScreen(wanted, QUOTE, number=3)
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query_one(DocumentText).passage)

    assert snap_compare(app, terminal_size=look.size, run_before=open_it)


@looks("80x24-dark")
def test_a_passage_that_is_gone(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    app = make_app(theme=look.theme)

    async def open_it(pilot: Pilot[int]) -> None:
        screen = PassageScreen(
            7, "It was so.", "news", 2, title="An old page", section="Then", text="Once. It was so."
        )
        await app.push_screen(screen)
        await until(pilot, lambda: screen.query_one("#gone").display)

    assert snap_compare(app, terminal_size=look.size, run_before=open_it)
