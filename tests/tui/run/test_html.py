"""The HTML page of a run: whole, self-contained, and safe whatever the documents hold."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from agent import events as ev
from tests.tui import stored
from tests.tui.conftest import Run
from tui.run.export import web_address

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


@pytest.fixture
def html(deepthink: Run) -> str:
    stored.store_page()
    stored.store_run(stored.everything(), question=stored.ASKED)
    return deepthink("runs", "export", "-f", "html").out


def test_it_holds_everything(html: str) -> None:
    text = Page(html).text
    for part in (
        stored.ASKED,
        f"Taken to ask: {stored.QUESTION}",
        "supported: Tolvang supplies it. [1]",
        "only partly supported (the sources do not say “May”): It burnt in May. [2]",
        "[1] Supply › Bearings, p. 3",
        "40 units [1] (2024-05-01) is followed",
        "search: who supplies it (hybrid, in facts: 2 passages)",
        "FINISH by rules",
        "Which year? → the last one (person, to clarify)",
    ):
        assert part in text


def test_marks_lead_to_the_sources_that_are_there(html: str) -> None:
    page = Page(html)
    ids = set(page.values("id"))
    inner = [href for href in page.values("href") if href.startswith("#")]
    assert ids == {"source-1", "source-2", "source-3"}
    assert set(inner) <= {f"#{name}" for name in ids}
    assert "[9]" in page.text
    assert "#source-9" not in inner


def test_documents_cannot_bring_markup_scripts_or_control_characters(html: str) -> None:
    page = Page(html)
    assert not {"script", "img", "iframe", "object", "link", "form", "base"} & set(page.tags)
    assert "<script>alert('gotcha')</script> & [2J*stars*" in page.text
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    assert not [name for _tag, name, _value in page.attributes if name.startswith("on")]


def test_only_addresses_on_the_web_are_links(html: str) -> None:
    page = Page(html)
    outer = [href for href in page.values("href") if not href.startswith("#")]
    assert set(outer) == {stored.PAGE}
    assert "javascript:alert(1)" in page.text


def test_nothing_is_loaded_from_elsewhere(html: str) -> None:
    page = Page(html)
    assert not page.values("src")
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'; style-src 'unsafe-inline'" in page.values("content")
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html


@pytest.mark.parametrize("status", ["running", "waiting", "failed", "not_found", "rejected"])
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
