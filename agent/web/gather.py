"""The entry point of the web: search, fetch, read, and keep pages in the library.

A page becomes a document of the collection `WEB_COLLECTION`, with its URL and date, and its passages are
then like any others. A page that was fetched within the last week is not fetched again.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from agent.documents.document import UnreadableDocument
from agent.documents.indexing import READER_VERSION, Indexing, Origin, page_name
from agent.documents.wanted import Fetched
from agent.web.addresses import PageFailed
from agent.web.extract import read_page
from agent.web.fetch import Fetcher, run_within
from agent.web.search import WAY_OUT, SearchEngine, WebUnreachable
from models.protocols import Embedder
from traces.errors import DeepthinkError
from traces.library import Library
from traces.records import WEB_COLLECTION, Document
from traces.store import Store, now

__all__ = ["WEB_COLLECTION", "Gathered", "Page", "Web", "WebUnreachable"]

_DESCRIPTION: Final = "pages found on the web"
_FRESH_FOR: Final = timedelta(days=7)
_MOST_PAGES: Final = 3  # that one search adds
_ROUNDS: Final = 2  # rounds of fetching: the second makes up for pages that failed in the first
_LONGEST_QUERY: Final = 300  # characters; engines refuse long texts
_SEARCH_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the web in the library.

    Attributes:
        url: Where it was found.
        title: Its title.
        date: The ISO date that it states, else the date on which it was fetched.
        document_id: Id of its document in the library.
        cached: Whether it was already in the library.
    """

    url: str
    title: str
    date: str
    document_id: int
    cached: bool


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
        this thread with the current activity, in a few words.

        Raises:
            WebUnreachable: The search failed.
            GenerationCancelled: ``stop`` was set.
            StoreError: The store cannot be written.
        """
        words = " ".join(query.split())[:_LONGEST_QUERY]
        if not words:
            return Gathered((), ())
        on_page(f"asking {self._engine.name} for “{words}”")
        result_urls = self._search(words, stop)
        if not result_urls:
            return Gathered((), (f"The web search found nothing for “{words}”.",))
        stored_documents = {
            document.source: document for document in self._library.documents(WEB_COLLECTION)
        }
        urls = deque(url for url in result_urls if url in stored_documents or url not in self._tried)
        pages: list[Page] = []
        problems: list[str] = []
        for _ in range(_ROUNDS):
            batch = [urls.popleft() for _ in range(min(len(urls), _MOST_PAGES - len(pages)))]
            fetched = self._fetch_all(
                [url for url in batch if not self._is_fresh(stored_documents.get(url))], stop, on_page
            )
            for url in batch:
                document = stored_documents.get(url)
                try:
                    pages.append(self._store_page(url, fetched.get(url), document, stop, on_page))
                except (PageFailed, UnreadableDocument) as failure:
                    problems.append(_problem(url, failure, document))
                    if document is not None:
                        pages.append(_cached_page(document))
        return Gathered(tuple(pages), tuple(problems))

    def _search(self, words: str, stop: threading.Event | None) -> list[str]:
        results = run_within(
            _SEARCH_SECONDS,
            stop,
            lambda: self._engine.search(words, _ROUNDS * _MOST_PAGES),
            WebUnreachable(f"{self._engine.name} takes longer than {_SEARCH_SECONDS:g} seconds.", WAY_OUT),
        )
        return list(dict.fromkeys(url.partition("#")[0] for url in results))

    def _is_fresh(self, document: Document | None) -> bool:
        """Whether the library's copy of a page is recent enough."""
        if document is None:
            return False
        return document.source in self._tried or (
            document.reader == READER_VERSION and now() - document.ingested < _FRESH_FOR
        )

    def _fetch_all(
        self, urls: Sequence[str], stop: threading.Event | None, tell: Callable[[str], None]
    ) -> dict[str, Fetched | PageFailed]:
        """The pages at ``urls``, fetched in parallel, or the errors."""
        if not urls:
            return {}
        self._tried.update(urls)
        tell(f"fetching {', '.join(page_name(url).partition('/')[0] for url in urls)}")

        def fetch(url: str) -> Fetched | PageFailed:
            try:
                return self._fetcher.fetch(url, stop=stop)
            except PageFailed as failure:
                return failure

        with ThreadPoolExecutor(len(urls), thread_name_prefix="deepthink-web") as pool:
            return dict(zip(urls, pool.map(fetch, urls), strict=True))

    def _store_page(
        self,
        url: str,
        outcome: Fetched | PageFailed | None,
        document: Document | None,
        stop: threading.Event | None,
        tell: Callable[[str], None],
    ) -> Page:
        """The page in the library; it is stored unless the library already has this content.

        Raises:
            PageFailed, UnreadableDocument: It could not be fetched or read.
        """
        if isinstance(outcome, PageFailed):
            raise outcome
        if outcome is None:
            assert document is not None, "a page that is not fetched is in the library"
            return _cached_page(document)
        reading = read_page(outcome)
        origin = Origin.of_page(url, reading.content)
        if document is not None and origin.is_stored_as(document):
            self._library.date_documents({document.id: document.modified})
            return _cached_page(document)
        work = Indexing(origin, reading.parsed, self._embedder)
        for done, total in work.embed(stop):
            tell(f"reading {origin.name}: {done} of {total} passages")
        if not self._library.generations([WEB_COLLECTION]):
            self._library.describe_collection(WEB_COLLECTION, _DESCRIPTION)
        document_id = work.store(self._library, WEB_COLLECTION)
        date = reading.parsed.date or origin.date
        return Page(url, reading.parsed.title, date, document_id, cached=False)


def _cached_page(document: Document) -> Page:
    return Page(document.source, document.title, document.date, document.id, cached=True)


def _problem(url: str, failure: DeepthinkError, document: Document | None) -> str:
    instead = f" The copy of {document.ingested.date().isoformat()} is used." if document else ""
    return f"{page_name(url)}: {failure.message}{instead}"
