"""What is read of a page: the article without what surrounds it, a document whole."""

from __future__ import annotations

import pytest

from agent.documents.document import NoText, ParsedDocument, UnreadableDocument
from agent.documents.sources import Fetched
from agent.web.gather import read_page
from tests.agent.web.pages import article

_PARAGRAPHS = (
    "A fire at the Brevnes plant of Tolvang Ceramics halted the production of bearings for seven weeks.",
    "Orlavane, which buys all of its ceramic bearings there, said that deliveries would resume in July.",
)


def _page(
    data: bytes, media_type: str = "text/html", charset: str = "utf-8", name: str = "fire"
) -> Fetched:
    return Fetched(f"https://bearing.example/2025/{name}", media_type, charset, data)


def _parsed(data: bytes, *served: str, **named: str) -> ParsedDocument:
    return read_page(_page(data, *served, **named)).parse(None)


def _texts(document: ParsedDocument) -> list[str]:
    return [block.text for block in document.blocks if block.table is None]


def test_of_an_article_the_main_text_is_read_with_headings_and_tables() -> None:
    read = _parsed(article("Fire halts Tolvang", *_PARAGRAPHS, date="2025-05-14"))
    assert (read.title, read.date) == ("Fire halts Tolvang", "2025-05-14")
    assert _texts(read) == ["Fire halts Tolvang", *_PARAGRAPHS, "Figures"]
    (table,) = [block.table for block in read.blocks if block.table]
    assert table.rows == (("2023", "4,120"), ("2024", "5,310"))
    assert read.notices == ("Only the main text of the page is kept.",)


def test_the_encoding_that_a_site_names_counts() -> None:
    text = article(
        "Größe zählt", "Die Größe der Lager von Müller zählt für alle Käufer in Österreich. " * 3
    )
    read = _parsed(text.decode().encode("iso-8859-1"), charset="iso-8859-1")
    assert read.title == "Größe zählt"
    assert "Müller" in _texts(read)[1]


@pytest.mark.parametrize(
    ("data", "media_type", "name", "wanted"),
    [
        (b"# Fire\n\nIt burnt.\n", "text/markdown", "fire", "text/markdown"),
        (b"# Fire\n\nIt burnt.\n", "text/plain", "fire.md", "text/markdown"),
        (b"name,value\nx,1\ny,2\n", "text/csv", "download?id=3", "text/csv"),
        (b"<html><body><p>It burnt.</p></body></html>", "application/octet-stream", "x", "text/html"),
    ],
)
def test_other_formats_are_read_as_they_are(data: bytes, media_type: str, name: str, wanted: str) -> None:
    assert _parsed(data, media_type, "", name).media_type == wanted


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", UnreadableDocument),
        (b"%PDF-1.7\nnothing of the kind", UnreadableDocument),
        (b"<html><body><script>render()</script></body></html>", NoText),
    ],
)
def test_what_cannot_be_read_says_so(data: bytes, error: type[UnreadableDocument]) -> None:
    with pytest.raises(error) as caught:
        read_page(_page(data))
    assert caught.value.message
