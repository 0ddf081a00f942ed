"""A run written to a file: the HTML page, whole and safe, and the window that asks for form and name."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from lxml.html import HtmlElement, HTMLParser, document_fromstring
from textual.pilot import Pilot
from textual.widgets import Input, Static

from agent import events as ev
from tests.tui import parts, stored
from tests.tui.conftest import Run
from tests.tui.seen import toasts
from tests.tui.waiting import comes, until
from tui.app.app import DeepthinkApp
from tui.app.lists import MarkedList
from tui.run.export import file_name, to_markdown, web_address
from tui.run.fold import RunFold
from tui.runs.windows import ExportScreen

pytestmark = pytest.mark.usefixtures("bare")
SIZE = (80, 24)
NAME = "who-supplies-orlavane-s-ceramic-bearings"


def values(page: HtmlElement, name: str) -> set[str]:
    return set(page.xpath(f"//@{name}"))


def test_a_page_links_only_to_its_sources_and_the_web_and_runs_nothing(deepthink: Run) -> None:
    stored.store_page()
    stored.store_run(stored.everything(), question=stored.ASKED)
    html = deepthink("runs", "export", "-f", "html").out
    parser = HTMLParser()
    page = document_fromstring(html, parser=parser)
    assert not parser.error_log, "its tags nest"
    sources = {"source-1", "source-2", "source-3"}
    assert values(page, "id") == sources
    links = values(page, "href")
    assert stored.PAGE in links
    assert links <= {stored.PAGE, *(f"#{name}" for name in sources)}
    text = " ".join(page.body.text_content().split())
    for shown in ("[9]", "javascript:alert(1)", "<script>alert('gotcha')</script> & [2J*stars*"):
        assert shown in text
    assert not {"script", "img", "iframe", "object", "link", "form", "base"} & {e.tag for e in page.iter()}
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    assert not page.xpath("//@*[starts-with(name(), 'on')] | //@src")
    assert not re.search(r"url\(|@import", html)
    assert "default-src 'none'; style-src 'unsafe-inline'" in values(page, "content")
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


@pytest.mark.parametrize("status", ["running", "rejected"])
def test_a_run_without_an_answer_is_a_page_too(status: str, deepthink: Run) -> None:
    run_id = stored.store_run(status=status)
    page = document_fromstring(deepthink("runs", "export", run_id, "-f", "html").out)
    assert stored.QUESTION in page.text_content()
    assert not values(page, "id")


def test_what_was_kept_is_shown_where_the_answer_cites_nothing(deepthink: Run) -> None:
    unasked = ev.Replied("approve", "What now?", "stop", "rule")
    withheld = ev.Answered("No answer that the sources support.", [], [])
    stored.store_run([*stored.everything(), (3.4, unasked), (3.5, withheld)], status="rejected")
    assert (
        "- What now? → without asking (approve is never): stop, and withhold it\n"
        in deepthink("runs", "export").out
    )
    page = document_fromstring(deepthink("runs", "export", "-f", "html").out)
    assert "Also kept" in page.text_content()
    assert "source-1" in values(page, "id")
    before, _, kept_back = page.text_content().partition("Withheld answer")
    assert "Tolvang supplies it" not in before
    assert "Your documents do not support all of it." in kept_back
    assert "Tolvang supplies it [1]" in kept_back
    as_json = json.loads(deepthink("runs", "show", "--json").out)
    assert "Tolvang supplies it [1]" in as_json["withheld"]


def test_a_step_without_a_short_answer_has_not_found_nothing(deepthink: Run) -> None:
    begun = [(0.0, parts.started()), (1.0, ev.StepStarted(1, parts.STEP))]
    answered = ev.Answered("It is Tolvang [1].", [parts.claim("It is Tolvang.")], [parts.evidence(1)])
    rests_on_it = [
        (2.0, ev.EvidenceKept(1, [parts.evidence(1)], [])),
        (3.0, ev.Noted({**parts.note("Nothing."), "found": False}, "default")),
        (4.0, answered),
    ]
    for status, events, told in (
        ("cancelled", [], "not finished"),
        ("cancelled", [(2.0, ev.NodeStarted("retrieve", 1)), (3.0, ev.Steered("skip"))], "skipped"),
        (
            "answered",
            rests_on_it,
            "no short answer is certain; the answer is written from the passages kept",
        ),
    ):
        run_id = stored.store_run([*begun, *events], status=status)
        markdown = deepthink("runs", "export", run_id).out
        assert f"   {told}\n" in markdown
        assert "nothing found" not in markdown


def test_what_is_an_address_on_the_web_and_what_is_none() -> None:
    for text in ("https://example.org/a?b=1", "http://127.0.0.1:8080/", "HTTP://[::1]/"):
        assert web_address(text) == text
    for text in (
        *("javascript:alert(1)", "JavaScript://example.org/%0aalert(1)", "data:text/html,x", "supplier.md"),
        *("file:///etc/passwd", "//example.org", "https://", "http://[::1", "https://example.org/a b"),
        'https://example.org/"><b>',
    ):
        assert not web_address(text), text


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
        assert toasts(app) == [f"Wrote run {run_id} to {here / f'{NAME}-{run_id[:6]}.md'}."]
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


async def test_a_file_that_cannot_be_written_is_told_and_one_that_exists_replaced_by_a_second_enter(
    here: Path, app: DeepthinkApp
) -> None:
    (here / "there.md").write_text("old", encoding="utf-8")
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
        path.value = "there.md"
        path.focus()
        await pilot.press("enter")
        await until(pilot, lambda: "exists" in str(note.content))
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
        await exporting(pilot, "last")
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, ExportScreen))


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
