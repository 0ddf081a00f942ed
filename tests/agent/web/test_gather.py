"""The door to the web: search, fetch, read, keep; what is cached, what fails, and what stopping does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from agent.documents.document import NoText, ParsedDocument, UnreadableDocument
from agent.documents.sources import Fetched
from agent.web import gather as gathering
from agent.web.fetch import Fetcher, Limits
from agent.web.gather import Gathered, Web, read_page
from agent.web.search import Searxng, WebUnreachable
from models.protocols import GenerationCancelled
from tests.agent.web.loopback import Answer, SearxngServer, Site
from tests.agent.web.pages import article
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import WEB_COLLECTION
from traces.store import Store, now

_PARAGRAPHS = (
    "A fire at the Brevnes plant of Tolvang Ceramics halted the production of bearings for seven weeks.",
    "Orlavane, which buys all of its ceramic bearings there, said that deliveries would resume in July.",
)
_FIRE = article("Fire halts Tolvang", *_PARAGRAPHS, date="2025-05-14")
_LAUNCH = article(
    "Haldrecht launches a pump",
    "Haldrecht launched the Ostra 180, an industrial heat pump, and named three customers for it.",
    "The pump reaches 180 degrees, which the company says no other heat pump of its size does today.",
)

Open = Callable[[], Web]


@pytest.fixture
def site() -> Iterator[Site]:
    with Site({"/fire": _FIRE, "/launch": _LAUNCH}) as made:
        yield made


@pytest.fixture
def engine(site: Site) -> Iterator[SearxngServer]:
    with SearxngServer({f"{site.url}/fire#top": "Fire", f"{site.url}/launch": "Launch"}) as made:
        yield made


@pytest.fixture
def web(site: Site, engine: SearxngServer, store: Store) -> Open:
    """A new run's web on the same store."""

    fetcher = Fetcher(allowed_hosts=frozenset({site.host}), limits=Limits(read=1.0))
    return lambda: Web(Searxng(engine.url), fetcher, store, HashEmbedder())


def _age(store: Store, days: float) -> None:
    with store.transaction() as db:
        db.execute("UPDATE documents SET ingested = ?", [now() - timedelta(days=days)])


def test_pages_become_documents_that_are_searched_like_any_other(
    web: Open, site: Site, engine: SearxngServer, store: Store
) -> None:
    told: list[str] = []
    gathered = web().gather("what halted\n  Tolvang?", on_page=told.append)
    assert gathered.problems == ()
    fire, launch = gathered.pages
    assert (fire.url, fire.title, fire.date) == (f"{site.url}/fire", "Fire halts Tolvang", "2025-05-14")
    assert launch.date == now().date().isoformat(), "it gives itself none, so the day it was fetched"
    assert not fire.cached
    assert not launch.cached
    library = Library(store)
    assert {d.source: d.name for d in library.documents(WEB_COLLECTION)} == {
        f"{site.url}/fire": f"{site.host}/fire",
        f"{site.url}/launch": f"{site.host}/launch",
    }
    (collection,) = library.collections()
    assert (collection.name, bool(collection.description)) == (WEB_COLLECTION, True)
    passages = library.document_passages(fire.document_id)
    assert "halted the production" in passages[0].text
    assert not any("cookies" in passage.text or "Subscribe" in passage.text for passage in passages)
    assert engine.queries == ["what halted Tolvang?"]
    assert told[0] == f"asking SearXNG at {engine.host} for “what halted Tolvang?”"
    assert any(text.startswith("fetching ") for text in told)
    assert any("passages" in text for text in told)


def test_what_is_there_is_not_fetched_again_for_a_week_unless_it_is_outgrown(
    web: Open, site: Site, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = web().gather("x")
    asked = list(site.asked)
    again = web().gather("y")
    assert site.asked == asked
    assert [page.cached for page in again.pages] == [True, True]
    assert [page.document_id for page in again.pages] == [page.document_id for page in first.pages]
    assert [(p.title, p.date) for p in again.pages] == [(p.title, p.date) for p in first.pages]
    _age(store, days=6.9)
    web().gather("x")
    assert site.asked == asked
    monkeypatch.setattr("agent.documents.indexing.READER_VERSION", 99)
    monkeypatch.setattr(gathering, "READER_VERSION", 99)
    assert [page.cached for page in web().gather("x").pages] == [False, False]


def test_an_old_copy_is_fetched_again_and_replaced_if_changed(web: Open, site: Site, store: Store) -> None:
    before = web().gather("x").pages
    _age(store, days=8)
    site.answers["/fire"] = article("Tolvang is back", "The Brevnes plant is running again. " * 5)
    site.answers["/launch"] = Answer(_LAUNCH.replace(b"cookies", b"more cookies"))
    run = web()
    fire, launch = run.gather("x").pages
    assert (fire.title, fire.cached) == ("Tolvang is back", False)
    assert (launch.document_id, launch.cached) == (before[1].document_id, True), "its text is the same"
    documents = Library(store).documents(WEB_COLLECTION)
    assert len(documents) == 2
    assert all(now() - d.ingested < timedelta(days=1) for d in documents), "good for another week"
    site.asked.clear()
    assert all(page.cached for page in run.gather("another step").pages)
    assert site.asked == [], "within a run nothing is fetched twice"


def test_an_old_copy_serves_where_the_page_is_gone(web: Open, site: Site, store: Store) -> None:
    web().gather("x")
    _age(store, days=8)
    site.answers["/fire"] = Answer(b"", status=410)
    gathered = web().gather("x")
    assert [page.cached for page in gathered.pages] == [True, True]
    (problem,) = gathered.problems
    assert "410" in problem
    assert problem.endswith(f"The copy of {(now() - timedelta(days=8)).date().isoformat()} is used.")


def test_a_page_that_fails_is_replaced_by_the_next(web: Open, site: Site, engine: SearxngServer) -> None:
    site.answers |= {"/picture": Answer(b"\x89PNG", "image/png"), "/scan": Answer(b"%PDF-1.7 broken")}
    engine.results = {
        f"{site.url}/gone": "Gone",
        "http://169.254.169.254/latest/meta-data": "A trap",
        f"{site.url}/picture": "Picture",
        f"{site.url}/fire": "Fire",
        f"{site.url}/scan": "Scan",
        f"{site.url}/launch": "Launch",
        f"{site.url}/seventh": "More than two rounds of three",
    }
    run = web()
    gathered = run.gather("x")
    assert [page.title for page in gathered.pages] == ["Fire halts Tolvang", "Haldrecht launches a pump"]
    gone, trap, picture, scan = gathered.problems
    assert gone == f"{site.host}/gone: 127.0.0.1 answers 404 (Not Found)."
    assert "private network or this machine" in trap
    assert "image/png" in picture
    assert scan.startswith(f"{site.host}/scan: ")
    assert "/seventh" not in site.asked
    engine.results = {f"{site.url}/gone": "Gone"}
    site.asked.clear()
    assert run.gather("y") == Gathered((), ()), "what failed is not tried again in the same run"
    assert site.asked == []


def test_nothing_found_is_a_sentence_and_an_essay_is_cut(web: Open, engine: SearxngServer) -> None:
    engine.results = {}
    gathered = web().gather("essay " * 500)
    assert gathered.pages == ()
    assert gathered.problems[0].startswith("The web search found nothing for “essay essay")
    assert len(engine.queries[0]) <= 300
    assert web().gather(" \n ") == Gathered((), ())
    assert len(engine.queries) == 1, "nothing is not searched for"


def test_a_search_that_cannot_be_done_is_raised(
    store: Store, monkeypatch: pytest.MonkeyPatch, engine: SearxngServer, web: Open
) -> None:
    away = Web(Searxng("http://127.0.0.1:1"), Fetcher(), store, HashEmbedder())
    with pytest.raises(WebUnreachable, match="cannot be reached"):
        away.gather("x")
    monkeypatch.setattr(gathering, "_SEARCH_SECONDS", 0.2)
    engine.fault = Answer(waits=30)
    with pytest.raises(WebUnreachable, match="takes longer"):
        web().gather("x")


@pytest.mark.parametrize("where", ["search", "page"])
def test_stop_ends_the_wait(where: str, web: Open, site: Site, engine: SearxngServer, store: Store) -> None:
    if where == "search":
        engine.fault = Answer(waits=30)
    else:
        site.answers["/launch"] = Answer(_LAUNCH, waits=30)
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    with pytest.raises(GenerationCancelled):
        web().gather("x", stop=stop)
    assert Library(store).documents(WEB_COLLECTION) == []


# --- what is read of a page ---------------------------------------------------------------------------


def _page(
    data: bytes, media_type: str = "text/html", charset: str = "utf-8", name: str = "fire"
) -> Fetched:
    return Fetched(f"https://bearing.example/2025/{name}", media_type, charset, data)


def _parsed(data: bytes, *served: str, **named: str) -> ParsedDocument:
    return read_page(_page(data, *served, **named)).parse(None)


def _texts(document: ParsedDocument) -> list[str]:
    return [block.text for block in document.blocks if block.table is None]


def test_of_an_article_the_main_text_is_read_with_headings_and_tables() -> None:
    read = _parsed(_FIRE)
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
