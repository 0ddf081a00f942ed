"""The passage viewer: where it opens, what it marks, how one moves in it."""

from __future__ import annotations

import shutil
from pathlib import Path, PurePath
from typing import cast
from urllib.parse import unquote

import pytest
from PIL.Image import Image
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import Static

from agent.documents.ingest import ingest
from agent.state import Evidence
from tests.agent.documents.formats.samples import pdf_file
from tests.formats import FILES
from tests.scripted import HashEmbedder
from tests.tui.library.shelf import BANK, TABLE, fill, put
from tests.tui.seen import text_of, toasts
from tests.tui.waiting import until
from traces.library import Library
from tui.app.app import DeepthinkApp
from tui.app.engine import Engine
from tui.app.find import FindBar
from tui.library.passage import (
    DocumentText,
    PagePicture,
    PassageScreen,
    align_table,
    find_original,
    find_quote,
    find_words,
    list_table,
)

SIZE = (80, 24)
pytestmark = pytest.mark.usefixtures("bare")


async def opened(pilot: Pilot[int], screen: PassageScreen) -> DocumentText:
    """The text on a screen that is put on top, once it is there."""
    pilot.app.push_screen(screen)
    await until(pilot, lambda: screen.is_mounted and screen.query_one(DocumentText).passage)
    return screen.query_one(DocumentText)


def shown(text: DocumentText) -> str:
    """What is in view."""
    return "\n".join(text.render_line(y).text.rstrip() for y in range(text.size.height))


async def test_it_opens_at_the_passage_and_one_moves_by_passages_and_by_words(app: DeepthinkApp) -> None:
    ids = fill(app.engine.store)
    passages = Library(app.engine.store).document_passages(ids["report.pdf"])
    async with app.run_test(size=SIZE) as pilot:
        screen = PassageScreen(passages[3].id, "It expects to repay the bonds", number=3)
        text = await opened(pilot, screen)
        assert text.current == 3
        await pilot.press("n")
        assert text.current == 4
        await pilot.press("p", "p")
        assert text.current == 2
        await pilot.press("c")
        assert app.clipboard == TABLE
        await pilot.press("end", "n")
        assert text.current == 5
        await pilot.press("home")
        assert text.current == 0
        words = screen.query_one(FindBar)
        await pilot.press("slash", *"bonds")
        assert words.has_focus
        assert text.current == 3
        assert words.border_subtitle == "1 of 2"
        await pilot.press("enter")
        assert text.current == 4
        await pilot.press("down")
        assert text.current == 3, "it goes on at the other end"
        await pilot.press("up")
        assert text.current == 4
        await pilot.press(*"xyz")
        assert words.border_subtitle == "not found"
        await pilot.press("escape")
        assert text.has_focus
        assert not words.display
        await pilot.press("q")
        assert app.screen is not screen


async def test_many_passages_are_laid_out_as_they_come_near(app: DeepthinkApp) -> None:
    library = Library(app.engine.store)
    said = "This is passage number {}. It says little, but at some length: "
    texts = [(f"Part {number // 40 + 1}", said.format(number) * 3) for number in range(1000)]
    document = put(library, "long", "long.md", texts)
    async with app.run_test(size=SIZE) as pilot:
        text = await opened(pilot, PassageScreen(library.document_passages(document)[500].id))
        assert text.virtual_size.height < 600, "about 40 passages are laid out"
        assert "passage number 500." in shown(text)
        for _ in range(12):
            await pilot.press("pageup")
        view = shown(text)
        assert "passage number 500." not in view
        await pilot.press("pagedown", "pageup")
        assert shown(text) == view, "what comes before does not push the view away"
        await pilot.press("end")
        assert "passage number 999." in shown(text)
        await pilot.press("home")
        assert "passage number 0." in shown(text)


async def test_a_passage_that_is_gone_is_shown_as_it_was_kept(app: DeepthinkApp) -> None:
    async with app.run_test(size=SIZE) as pilot:
        kept = {"title": "An old page", "document": "page", "section": "Then", "text": "Once. It was so."}
        screen = PassageScreen(7, "It was so.", 2, cast(Evidence, {"collection": "news", **kept}))
        app.push_screen(screen)
        await until(pilot, lambda: screen.is_mounted and screen.query_one("#gone").display)
        assert "no longer in the library" in text_of(screen, "#gone")
        assert text_of(screen, "#heading") == "An old page"
        assert "Once. “It was so.”" in shown(screen.query_one(DocumentText))
        bare = PassageScreen(8)
        app.push_screen(bare)
        await until(pilot, lambda: bare.is_mounted and bare.query_one("#gone").display)
        await pilot.press("n", "c", "slash", "a", "escape", "escape")
        assert app.screen is screen


async def test_the_original_is_opened_or_named(
    library: Path, monkeypatch: pytest.MonkeyPatch, app: DeepthinkApp
) -> None:
    originals: list[str] = []
    monkeypatch.setattr(app, "open_url", originals.append)
    stored = Library(app.engine.store)
    (document,) = (d for d in stored.documents("facts") if d.name == "fire.md")
    async with app.run_test(size=SIZE) as pilot:
        await opened(pilot, PassageScreen(stored.document_passages(document.id)[0].id))
        monkeypatch.setenv("DISPLAY", ":0")
        await pilot.press("o")
        await until(pilot, lambda: originals == [(library / "fire.md").resolve().as_uri()])
        (library / "fire.md").unlink()
        await pilot.press("o")
        await until(pilot, lambda: "no longer there" in toasts(app)[-1])


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("1.eml/lamps-Ardenford.csv", ""),
        ("1.mbox/2024-03-05 The lamp of Corinford.eml/lamps-Corinford.csv", ""),
        ("1.pdf", "#page=1"),
        ("1.pptx", ""),
    ],
)
def test_the_original_is_at_hand_wherever_it_lies(tmp_path: Path, name: str, place: str) -> None:
    engine = Engine()
    outer = tmp_path / name.partition("/")[0]
    shutil.copy(FILES / outer.name, outer)
    list(ingest([outer], collection="c", store=engine.store, embedder=HashEmbedder()))
    library = Library(engine.store)
    (document,) = (d for d in library.documents("c") if d.name == name)
    address, place_text = find_original(engine, library.document_passages(document.id)[0].id)
    path, _, fragment = address.partition("#")
    opened = Path(unquote(path.removeprefix("file://")))
    assert (opened.name, bool(opened.read_bytes())) == (PurePath(name).name, True)
    assert (opened == outer, fragment) == ("/" not in name, place.removeprefix("#"))
    assert name in place_text
    outer.unlink()
    assert not find_original(engine, library.document_passages(document.id)[0].id)[0]


class _Drawn(Static):
    """Stands for a widget that draws pictures."""

    image: Image | None = None


async def test_the_page_of_a_passage_is_pictured(tmp_path: Path, app: DeepthinkApp) -> None:
    app.picture_widget = _Drawn
    (tmp_path / "plan.pdf").write_bytes(pdf_file("The first page. " * 9, "The second page. " * 9))
    (tmp_path / "note.md").write_text("A note without pages.")
    store = app.engine.store
    list(ingest([tmp_path], collection="c", store=store, embedder=HashEmbedder()))
    library = Library(store)
    note, plan = (library.document_passages(document.id) for document in library.documents("c"))
    async with app.run_test(size=(140, 40)) as pilot:
        screen = PassageScreen(plan[0].id)
        app.push_screen(screen)
        await until(pilot, lambda: screen.is_mounted and screen.query_one(_Drawn).image)
        picture = screen.query_one(_Drawn)
        first = picture.image
        assert first is not None
        assert first.height > first.width
        place = screen.query_one(PagePicture)
        await until(pilot, lambda: place.region.width > 40)
        await pilot.press("n")
        await until(pilot, lambda: picture.image is not first)
        await pilot.resize_terminal(80, 24)
        await until(pilot, lambda: not place.region)
        screen = PassageScreen(note[0].id)
        await opened(pilot, screen)
        assert not screen.has_class("-pictured")
        assert screen.query_one(_Drawn).image is None


def test_a_quotation_is_found_however_it_is_broken() -> None:
    (span,) = find_quote(BANK, "the company did not draw  on its credit\nline in the quarter.")
    assert BANK[slice(*span)] == "The company did not draw on its credit line in the quarter."
    (row,) = find_quote(TABLE, "Europe 1,204 1,118")
    assert TABLE[slice(*row)] == "Europe | 1,204 | 1,118"
    spans = find_quote(BANK, "It expects to repay the bonds in 2027. Something that is not there at all.")
    assert [BANK[slice(*span)] for span in spans] == ["It expects to repay the bonds in 2027."]
    parted = find_quote(BANK, "At the end of June … to repay the bonds in 2027.")
    assert len(parted) == 2
    assert find_quote(BANK, "") == []
    assert find_quote(BANK, "nowhere") == []
    assert find_words("Fire, fire and FIRE", "fire") == [(0, 4), (6, 10), (15, 19)]


def test_a_table_is_aligned_where_there_is_room() -> None:
    assert align_table(TABLE, 60).splitlines() == [
        "Net sales by region (in millions)",
        "Region   2024   2023",
        "Europe  1,204  1,118",
        "Asia      618    655",
    ]
    assert align_table(TABLE, 10) == TABLE
    named = (
        "(in millions) | Year ended 2024 | Year ended 2023\nNet income | $92.8 | $74.2\nTaxes | (27.0) | —"
    )
    assert align_table(named, 40).splitlines() == [
        "              Year   Year",
        "(in          ended  ended",
        "millions)     2024   2023",
        "Net income   $92.8  $74.2",
        "Taxes       (27.0)      —",
    ]
    assert align_table("No cells", 60) == "No cells"
    assert align_table("a | b | c\nlonger | x", 60) == "a       b  c\nlonger  x"
    assert align_table("| 24 | 23\nEurope | 1 | 2", 60) == "        24  23\nEurope   1   2"


def test_a_table_that_is_too_wide_is_listed_row_by_row_beside_the_columns_names() -> None:
    text = (
        "Depots\n| Region | Jan litres | Feb litres | Remark\nNorth side\n"
        "Depot 1 | North | 18,611 | 75,606 | The pump leaks when it is cold outside\nDepot 2 |  | 7"
    )
    start = text.index("75,606")
    listed = list_table(Content(text).stylize("reverse", start, start + 6), 34)
    assert [line.rstrip() for line in listed.plain.splitlines()] == [
        "Depots",
        "North side",
        "Depot 1",
        "  Region North",
        "  Jan litres 18,611",
        "  Feb litres 75,606",
        "  Remark The pump leaks when it is",
        "  cold outside",
        "Depot 2",
        "  Jan litres 7",
    ]
    assert "[reverse]75,606[/reverse]" in listed.markup, "what is marked stays marked"
    wide = list_table(Content(text), 70).plain.splitlines()
    assert wide[3] == "  Region North       Jan litres 18,611  Feb litres 75,606"
