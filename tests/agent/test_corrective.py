"""Corrective retrieval in whole runs: what the library does not answer is found on the web."""

from __future__ import annotations

from collections.abc import Sequence

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


def test_the_web_is_asked_for_what_the_library_cannot_answer_and_cited(
    ask: Ask, store: Store, embedder: HashEmbedder
) -> None:
    question = "How many grey herons did the night drone census of Lake Orrin count in March 2024?"
    reply = "The night drone census of Lake Orrin counted 412 grey herons in March 2024."
    with Site({"/drones": DRONES}) as site, SearxngServer({f"{site.url}/drones": "Drones"}) as engine:
        web = Web(Searxng(engine.url), Fetcher(allowed_hosts=frozenset({site.host})), store, embedder)
        asked = Request(question, route="single", approve="always")
        events = ask([reply], asked, reader=Strict(), embedder=embedder, web=web)
    assert only(events, ev.Graded)[0].grade != "correct"
    assert engine.queries == [question]
    pages = [found["url"] for event in only(events, ev.Corrected) for found in event.pages]
    assert pages == [f"{site.url}/drones"]
    (source,) = answered(events).sources
    assert (source["collection"], answered(events).grounded) == ("web", True)
