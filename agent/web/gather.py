"""The entry point of the web: search, fetch, read, and keep pages in the library.

A page becomes a document of the collection `WEB_COLLECTION`, with its URL and date, and its passages are
then like any others. A page that was fetched within the last week is not fetched again.

Trafilatura removes navigation, adverts and footers and keeps headings, lists and tables; our HTML reader
then makes blocks of the rest. Other formats, filings (whose tables matter) and very long pages are kept
whole.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from agent.documents.document import NoText, ParsedDocument
from agent.documents.encoding import decode
from agent.documents.indexing import READER_VERSION
from agent.documents.ingest import FileDone, FileFailed, FileProgress, Reading
from agent.documents.reading import HTML, read_bytes
from agent.documents.sources import Content, Fetched, WebPage, page_name
from agent.web.fetch import Fetcher, run_within
from agent.web.search import WAY_OUT, SearchEngine, WebUnreachable
from models.protocols import Embedder
from traces.library import Library
from traces.records import WEB_COLLECTION, Document
from traces.store import Store, now

_DESCRIPTION: Final = "pages found on the web"
_FRESH_FOR: Final = timedelta(days=7)
_MOST_PAGES: Final = 3  # that one search adds
_ROUNDS: Final = 2  # rounds of fetching: the second makes up for pages that failed in the first
_LONGEST_QUERY: Final = 300  # characters; engines refuse long texts
_SEARCH_SECONDS: Final = 30.0

_FILING: Final = re.compile(rb"xbrl\.org/\d{4}/inlineXBRL|<(?:SEC-)?DOCUMENT>\s*<TYPE>", re.IGNORECASE)
_HEAD: Final = 1 << 16  # bytes in which a filing identifies itself
_LONGEST_ARTICLE: Final = 2 * 1024 * 1024  # bytes of HTML


def read_page(page: Fetched) -> Content:
    """The content of a page found by a search: of an article the main text, parsed already.

    The main text identifies its version, because the rest of a page changes with every visit.

    Raises `UnreadableDocument` if it is damaged, or its type is not supported, and `NoText` if it has no
    text.
    """
    full_document = page.parse()
    is_article = (
        full_document.media_type == HTML
        and len(page.data) <= _LONGEST_ARTICLE
        and not _FILING.search(page.data, 0, _HEAD)
    )
    return (_main_text(page, full_document) if is_article else None) or replace(
        page.content(), parse=lambda _recognised: full_document
    )


def _main_text(page: Fetched, full_document: ParsedDocument) -> Content | None:
    """The main text of a web page; None if Trafilatura finds none."""
    from trafilatura import extract_with_metadata

    text = decode(page.data, page.charset)
    try:
        article = extract_with_metadata(
            text,
            url=page.url,
            output_format="html",
            include_comments=False,
            # Otherwise it takes any date as the page's own, such as that of a copyright notice.
            date_extraction_params={
                "extensive_search": False,
                "original_date": True,
                "max_date": datetime.now(UTC).date().isoformat(),
            },
        )
    except Exception:  # noqa: BLE001 - it raises all kinds of errors on odd pages, which are then read whole
        return None
    if article is None or not (article.text or "").strip():
        return None
    content = str(article.text).encode()
    try:
        main = read_bytes("page.html", content, served_as=HTML)
    except NoText:
        return None
    document = replace(
        main,
        title=article.title or full_document.title,
        date=article.date or main.date or full_document.date,
        notices=()
        if _words(main) == _words(full_document)
        else ("Only the main text of the page is kept.",),
    )
    return replace(page.content(), data=content, parse=lambda _recognised: document)


def _words(document: ParsedDocument) -> list[str]:
    return document.visible_text.split()


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the web in the library."""

    url: str  # where it was found
    title: str
    date: str  # the ISO date that it states, else the date on which it was fetched
    document_id: int  # id of its document in the library
    cached: bool  # whether it was already in the library


@dataclass(frozen=True, slots=True)
class Gathered:
    """The result of one search; ``problems`` has a sentence for each failure."""

    pages: tuple[Page, ...]
    problems: tuple[str, ...]


class Web:
    """The web, for one run."""

    def __init__(self, engine: SearchEngine, fetcher: Fetcher, store: Store, embedder: Embedder) -> None:
        self._engine = engine
        self._fetcher = fetcher
        self._store = store
        self._library = Library(store)
        self._embedder = embedder
        # URLs of this run, so that a page that several steps find is tried only once.
        self._tried: set[str] = set()

    def gather(
        self,
        query: str,
        *,
        stop: threading.Event | None = None,
        on_page: Callable[[str], None] = lambda _what: None,
    ) -> Gathered:
        """Search for ``query`` and store the pages found in the library.

        ``stop`` ends the work within about a second; pages stored by then stay. ``on_page`` is called in
        this thread with the current activity, in a few words. Raises `WebUnreachable` if the search failed,
        `GenerationCancelled` if ``stop`` was set, and `StoreError` if the store cannot be written.
        """
        words = " ".join(query.split())[:_LONGEST_QUERY]
        if not words:
            return Gathered((), ())
        on_page(f"asking {self._engine.name} for “{words}”")
        result_urls = self._search(words, stop)
        if not result_urls:
            return Gathered((), (f"The web search found nothing for “{words}”.",))
        stored_documents = self._documents()
        urls = deque(url for url in result_urls if url in stored_documents or url not in self._tried)
        pages: list[Page] = []
        problems: list[str] = []
        for _ in range(_ROUNDS):
            batch = [urls.popleft() for _ in range(min(len(urls), _MOST_PAGES - len(pages)))]
            stale = [url for url in batch if not self._is_fresh(stored_documents.get(url))]
            outcomes = self._read(stale, stop, on_page)
            documents = self._documents()
            for url in batch:
                document, outcome = documents.get(url), outcomes.get(url)
                if isinstance(outcome, FileFailed):
                    problem = f"{page_name(url)}: {outcome.error.message}"
                    if document is not None:
                        problem += f" The copy of {document.ingested.date().isoformat()} is used."
                    problems.append(problem)
                if document is not None:
                    is_new = isinstance(outcome, FileDone) and outcome.outcome != "unchanged"
                    pages.append(Page(url, document.title, document.date, document.id, cached=not is_new))
        return Gathered(tuple(pages), tuple(problems))

    def _search(self, words: str, stop: threading.Event | None) -> list[str]:
        results = run_within(
            _SEARCH_SECONDS,
            stop,
            lambda: self._engine.search(words, _ROUNDS * _MOST_PAGES),
            WebUnreachable(f"{self._engine.name} takes longer than {_SEARCH_SECONDS:g} seconds.", WAY_OUT),
        )
        return list(dict.fromkeys(url.partition("#")[0] for url in results))

    def _documents(self) -> dict[str, Document]:
        return {document.source: document for document in self._library.documents(WEB_COLLECTION)}

    def _is_fresh(self, document: Document | None) -> bool:
        """Whether the library's copy of a page is recent enough."""
        if document is None:
            return False
        return document.source in self._tried or (
            document.reader == READER_VERSION and now() - document.ingested < _FRESH_FOR
        )

    def _read(
        self, urls: Sequence[str], stop: threading.Event | None, on_page: Callable[[str], None]
    ) -> dict[str, FileDone | FileFailed]:
        """Fetch pages in parallel and read them into the library; returns what came of each, by URL."""
        if not urls:
            return {}
        self._tried.update(urls)
        on_page(f"fetching {', '.join(page_name(url).partition('/')[0] for url in urls)}")
        with ThreadPoolExecutor(len(urls), thread_name_prefix="deepthink-web") as pool:
            fetched = {url: pool.submit(self._fetcher.fetch, url, stop=stop) for url in urls}
        is_first = not self._library.generations([WEB_COLLECTION])
        reading = Reading(self._store, WEB_COLLECTION, self._embedder, None, stop)
        pages = [WebPage(url, lambda url: read_page(fetched[url].result())) for url in urls]
        outcomes: dict[str, FileDone | FileFailed] = {}
        for event in reading.read_all(pages, (), ()):
            if isinstance(event, FileProgress):
                on_page(f"reading {event.name}: {event.done} of {event.total} {event.unit}")
            elif isinstance(event, (FileDone, FileFailed)):
                outcomes[event.source] = event
        if is_first and self._library.generations([WEB_COLLECTION]):
            self._library.describe_collection(WEB_COLLECTION, _DESCRIPTION)
        return outcomes
