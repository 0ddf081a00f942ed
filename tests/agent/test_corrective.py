"""Corrective retrieval in whole runs: what the library does not answer is found on the web."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

import agent.events as ev
from agent.run import Request
from agent.web.fetch import Fetcher
from agent.web.gather import Web
from agent.web.search import Searxng
from models.protocols import Reading
from tests.agent.conftest import Ask
from tests.agent.made import answered, only
from tests.agent.web.loopback import SearxngServer, Site
from tests.agent.web.pages import article
from tests.scripted import HashEmbedder, WordReader
from traces.store import Store

DRONES = article(
    "Night drones count the herons of Lake Orrin",
    "The night drone census of Lake Orrin counted 412 grey herons in March 2024, wardens said on Monday.",
    "The census was flown with four thermal cameras and took three nights, one more than the year before.",
    date="2024-03-18",
)


class Strict(WordReader):
    """Takes a passage with most of the question's words for an answer, and rules out any other."""

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        return [
            Reading(0.9 if one.probability > 0.6 else 0.01, ()) for one in super().read(question, passages)
        ]


@pytest.fixture
def engine() -> Iterator[SearxngServer]:
    """Finds a page that answers what the library does not."""
    with Site({"/drones": DRONES}) as site, SearxngServer({f"{site.url}/drones": "Drones"}) as made:
        yield made


@pytest.mark.parametrize(
    ("question", "reply", "collection"),
    [
        (
            "Who buys all of its ceramic bearings from a single supplier?",
            "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics [1].",
            "reports",
        ),
        (
            "How many grey herons did the night drone census of Lake Orrin count in March 2024?",
            "The night drone census of Lake Orrin counted 412 grey herons in March 2024.",
            "web",
        ),
    ],
)
def test_the_web_is_asked_for_what_the_library_cannot_answer_and_cited(
    ask: Ask,
    engine: SearxngServer,
    store: Store,
    embedder: HashEmbedder,
    question: str,
    reply: str,
    collection: str,
) -> None:
    (page,) = engine.results
    site = page.split("/")[2]
    web = Web(Searxng(engine.url), Fetcher(allowed_hosts=frozenset({site})), store, embedder)
    asked = Request(question, route="single", approve="always")
    events = ask([reply], asked, reader=Strict(), embedder=embedder, web=web)
    corrected = only(events, ev.Corrected)
    assert (only(events, ev.Graded)[0].grade == "correct") == (collection == "reports")
    assert engine.queries == ([question] if collection == "web" else [])
    assert [found["url"] for event in corrected for found in event.pages] == ([page] if corrected else [])
    (source,) = answered(events).sources
    assert source["collection"] == collection
    assert answered(events).grounded
