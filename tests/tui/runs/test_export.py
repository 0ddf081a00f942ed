"""A run written to a file: the HTML page, whole and safe, and the window that asks for form and name."""

from __future__ import annotations

import json
import re
from datetime import datetime
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, Static

from agent import events as ev
from tests.tui import parts, stored
from tests.tui.conftest import MakeApp, Run
from tests.tui.seen import text_of
from tests.tui.waiting import comes, until
from tui.app.app import DeepthinkApp
from tui.app.lists import MarkedList
from tui.run.export import file_name, to_markdown, web_address
from tui.run.fold import RunFold
from tui.runs.windows import ExportScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (80, 24)
NAME = "who-supplies-orlavane-s-ceramic-bearings"
_VOID = {"meta", "br", "link", "img", "input", "hr"}


class Page(HTMLParser):
    """The elements and the text of a page; fails where tags do not nest."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self._open[-1] if self._open else "", data))

    @property
    def text(self) -> str:
        return " ".join(" ".join(data for tag, data in self.texts if tag != "style").split())

    def values(self, name: str) -> list[str]:
        return [value for _tag, found, value in self.attributes if found == name]


def test_a_page_links_only_to_its_sources_and_the_web_and_runs_nothing(deepthink: Run) -> None:
    stored.store_page()
    stored.store_run(stored.everything(), question=stored.ASKED)
    html = deepthink("runs", "export", "-f", "html").out
    page = Page(html)
    sources = {"source-1", "source-2", "source-3"}
    assert set(page.values("id")) == sources
    links = set(page.values("href"))
    assert stored.PAGE in links
    assert links <= {stored.PAGE, *(f"#{name}" for name in sources)}
    assert "[9]" in page.text
    assert "javascript:alert(1)" in page.text
    assert not {"script", "img", "iframe", "object", "link", "form", "base"} & set(page.tags)
    assert "<script>alert('gotcha')</script> & [2J*stars*" in page.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    assert not [name for _tag, name, _value in page.attributes if name.startswith("on")]
    assert not page.values("src")
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values("content")
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


@pytest.mark.parametrize("status", ["running", "rejected"])
def test_a_run_without_an_answer_is_a_page_too(status: str, deepthink: Run) -> None:
    run_id = stored.store_run(status=status)
    page = Page(deepthink("runs", "export", run_id, "-f", "html").out)
    assert stored.QUESTION in page.text
    assert not page.values("id")


def test_what_was_kept_is_shown_where_the_answer_cites_nothing(deepthink: Run) -> None:
    withheld = ev.Answered("No answer that the sources support.", [], [])
    stored.store_run([*stored.everything(), (3.5, withheld)], status="rejected")
    page = Page(deepthink("runs", "export", "-f", "html").out)
    assert "Also kept" in page.text
    assert "source-1" in page.values("id")


def test_a_step_that_was_skipped_or_cut_off_has_not_found_nothing(deepthink: Run) -> None:
    begun = [(0.0, parts.started()), (1.0, ev.StepStarted(1, parts.STEP))]
    for events, told in (
        (begun, "not finished"),
        ([*begun, (2.0, ev.NodeStarted("retrieve", 1)), (3.0, ev.Steered("skip"))], "skipped"),
    ):
        run_id = stored.store_run(events, status="cancelled")
        markdown = deepthink("runs", "export", run_id).out
        assert f"   {told}\n" in markdown
        assert "nothing found" not in markdown


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://example.org/a?b=1", "https://example.org/a?b=1"),
        ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/"),
        ("javascript:alert(1)", ""),
        ("JavaScript://example.org/%0aalert(1)", ""),
        ("data:text/html,x", ""),
        ("file:///etc/passwd", ""),
        ("//example.org", ""),
        ("https://", ""),
        ("http://[::1", ""),
        ("https://example.org/a b", ""),
        ('https://example.org/"><b>', ""),
        ("supplier.md", ""),
    ],
)
def test_what_is_an_address_on_the_web(text: str, address: str) -> None:
    assert web_address(text) == address


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that the app was started in."""
    place = tmp_path / "here"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


async def exporting(pilot: Pilot[Any], run_id: str) -> ExportScreen:
    """The window for a run."""
    pilot.app.push_screen(ExportScreen(run_id, stored.QUESTION))
    return await comes(pilot, ExportScreen)


async def test_each_form_has_its_name_but_one_that_was_typed_stays(here: Path, app: DeepthinkApp) -> None:
    run_id = stored.store_run(stored.everything())
    async with app.run_test(size=SIZE) as pilot:
        screen = await exporting(pilot, run_id)
        await pilot.press("enter")  # without going to the file
        await until(pilot, lambda: app.screen is not screen)
        assert any(str(here / f"{NAME}-{run_id[:6]}.md") in n.message for n in app._notifications)
        text = (here / f"{NAME}-{run_id[:6]}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {stored.QUESTION}")
        screen = await exporting(pilot, run_id)
        assert screen.query_one(MarkedList).has_focus
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: app.screen is not screen)
        assert json.loads((here / f"{NAME}-{run_id[:6]}.json").read_text(encoding="utf-8"))
        screen = await exporting(pilot, run_id)
        screen.query_one(Input).value = "mine.txt"
        await pilot.press("up", "up", "ctrl+s")
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
        await until(pilot, lambda: "exists" in text_of(screen, ".note"))
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
        path, note = screen.query_one(Input), screen.query_one(".note", Static)
        path.value = ""
        await pilot.press("ctrl+s")
        assert "Type a file name" in str(note.content)
        for count, typed in enumerate(("not/there.md", "~nobody-here/run.md", "x" * 300), start=1):
            path.value = typed
            await pilot.press("ctrl+s")
            await until(pilot, lambda: "✗" in str(note.content) and len(app.failures) == count)  # noqa: B023
        assert {failure.error.title for failure in app.failures} == {"That path cannot be used"}
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is not screen)


def test_a_name_is_made_of_words() -> None:
    assert (
        file_name("abc123def", f"Why {stored.EVIL}?", "md")
        == "why-script-alert-gotcha-script-2j-stars-abc123.md"
    )
    assert file_name("abc123def", "???", "html") == "run-abc123.html"
    assert file_name("abc123def", "Què és això?", "json") == "què-és-això-abc123.json"


def test_versions_without_a_date_are_told_apart_by_their_titles() -> None:
    kept = [parts.evidence(number, title=f"Prices {year}") for number, year in ((1, 2025), (2, 2024))]
    disagreeing = ev.Contradicted(1, "£104", 1, "", "£96", 2, "")
    text = to_markdown(RunFold(evidence=kept, events=[disagreeing]), datetime(2026, 1, 1))
    assert "- £104 [1] (Prices 2025) is followed, £96 [2] (Prices 2024) is superseded" in text
