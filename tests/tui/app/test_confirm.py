"""The question before something that cannot be undone."""

from __future__ import annotations

import pytest

from tests.tui.conftest import Look, MakeApp, Snap, looks
from tui.app.app import DeepthinkApp
from tui.app.confirm import ConfirmScreen

pytestmark = pytest.mark.usefixtures("bare")


async def test_what_each_key_answers(app: DeepthinkApp) -> None:
    answers: list[bool | None] = []
    async with app.run_test(size=(80, 24)) as pilot:
        for keys in ("y", "n", "escape", "enter", "right enter", "tab enter", "left left enter"):
            app.push_screen(ConfirmScreen("Remove it?", "It is gone then.", yes="Remove"), answers.append)
            await pilot.pause()
            await pilot.press(*keys.split())
            await pilot.pause()
    assert answers == [True, False, False, False, True, True, False]


def _question() -> ConfirmScreen:
    return ConfirmScreen(
        "Remove the collection “letters”?",
        "Its 12 documents leave the library; the files stay where they are. [b]Nothing[/b] else changes.",
        yes="Remove",
    )


@looks("80x24-dark")
def test_confirm_in_pictures(look: Look, make_app: MakeApp, snap_compare: Snap) -> None:
    async def ask(pilot: object) -> None:
        app.push_screen(_question())

    app = make_app(theme=look.theme)
    assert snap_compare(app, terminal_size=look.size, run_before=ask)
