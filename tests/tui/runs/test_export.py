"""Writing a run to a file from the app: each form, the default name, what is there, what cannot be."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, RadioSet, Static

from tests.tui import stored
from tests.tui.conftest import MakeApp
from tests.tui.waiting import until
from tui.app.app import DeepthinkApp
from tui.run.export import file_name
from tui.runs.windows import ExportScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (80, 24)
NAME = "who-supplies-orlavane-s-ceramic-bearings"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the app was started in."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


async def exporting(pilot: Pilot[Any], run_id: str) -> ExportScreen:
    """The window for a run."""
    pilot.app.action_mode("runs")  # type: ignore[attr-defined]
    await pilot.pause()
    screen = ExportScreen(run_id, stored.QUESTION)
    pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.is_mounted and screen.query(Input))
    await pilot.pause()
    return screen


async def test_enter_in_the_file_writes_markdown(here: Path, make_app: MakeApp) -> None:
    run_id = stored.store_run(stored.everything())
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await exporting(pilot, run_id)
        await pilot.press("tab", "enter")
        await until(pilot, lambda: app.screen is not screen)
        assert any(str(here / f"{NAME}-{run_id[:6]}.md") in n.message for n in app._notifications)
    text = (here / f"{NAME}-{run_id[:6]}.md").read_text(encoding="utf-8")
    assert text.startswith(f"# {stored.QUESTION}")


async def test_each_form_has_its_name_but_one_that_was_typed_stays(here: Path, make_app: MakeApp) -> None:
    run_id = stored.store_run(stored.everything())
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await exporting(pilot, run_id)
        assert screen.query_one(RadioSet).has_focus
        await pilot.press("down", "down", "space", "ctrl+s")
        await until(pilot, lambda: app.screen is not screen)
        assert json.loads((here / f"{NAME}-{run_id[:6]}.json").read_text(encoding="utf-8"))
        screen = await exporting(pilot, run_id)
        screen.query_one(Input).value = "mine.txt"
        await pilot.press("down", "space", "ctrl+s")
        await until(pilot, lambda: app.screen is not screen)
    assert (here / "mine.txt").read_text(encoding="utf-8").startswith("<!")


async def test_a_file_is_replaced_only_after_a_second_enter_and_a_folder_gets_the_default_name(
    here: Path, make_app: MakeApp
) -> None:
    (here / "there.md").write_text("old", encoding="utf-8")
    app = make_app()
    async with app.run_test(size=SIZE) as pilot:
        screen = await exporting(pilot, stored.store_run())
        path = screen.query_one(Input)
        path.value = "there.md"
        path.focus()
        await pilot.press("enter")
        await until(pilot, lambda: "exists" in str(screen.query_one("#export-note", Static).content))
        assert (here / "there.md").read_text(encoding="utf-8") == "old"
        await pilot.press("enter")
        await until(pilot, lambda: app.screen is not screen)
        assert (here / "there.md").read_text(encoding="utf-8").startswith("# ")
        (here / "runs").mkdir()
        screen = await exporting(pilot, "last")
        screen.query_one(Input).value = "runs"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.screen is not screen)
    assert [path.name for path in (here / "runs").iterdir()] == [f"{NAME}-last.md"]


async def test_a_file_that_cannot_be_written_is_told(app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        screen = await exporting(pilot, stored.store_run())
        path, note = screen.query_one(Input), screen.query_one("#export-note", Static)
        path.value = ""
        await pilot.press("ctrl+s")
        assert "Type a file name" in str(note.content)
        for count, typed in enumerate(("not/there.md", "~nobody-here/run.md", "x" * 300), start=1):
            path.value = typed
            await pilot.press("ctrl+s")
            await until(pilot, lambda: "✗" in str(note.content))
            await until(pilot, partial(_failed, app, count))
        assert {failure.error.title for failure in app.failures} == {"That path cannot be used"}
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)


def _failed(app: DeepthinkApp, count: int) -> bool:
    return len(app.failures) == count


def test_a_name_is_made_of_words() -> None:
    assert (
        file_name("abc123def", f"Why {stored.EVIL}?", "md")
        == "why-script-alert-gotcha-script-2j-stars-abc123.md"
    )
    assert file_name("abc123def", "???", "html") == "run-abc123.html"
    assert file_name("abc123def", "Què és això?", "json") == "què-és-això-abc123.json"
