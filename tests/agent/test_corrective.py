"""Corrective retrieval in two cases, and a network that is away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

import agent.events as ev
from agent.documents.ingest import ingest
from agent.run import Request, run
from agent.web.fetch import Fetcher
from agent.web.gather import Web
from agent.web.search import Searxng
from models.protocols import Embedder, Reading
from tests.agent.made import answered, only
from tests.agent.web.loopback import SearxngServer, Site
from tests.agent.web.pages import article
from tests.benchmarks.library import embedder as minilm
from tests.scripted import ScriptedChat, WordReader
from traces.store import Store

pytestmark = pytest.mark.model

REPORT = """\
# Facilities report of Veldkamp Hosting

Date: 2024-02-11

## Efficiency

Veldkamp Hosting measures the power usage effectiveness (PUE) of each of its data centers every year.

| PUE by data center | 2019 | 2021 | 2022 |
| --- | --- | --- | --- |
| Dublin | 1.12 | 1.11 | 1.10 |
| Singapore, first facility | 1.21 | 1.20 | 1.19 |
| Singapore, second facility | 1.45 | 1.30 | 1.21 |

## Carbon-free energy

In 2023 the average share of carbon-free energy was 68 percent in Europe and 57 percent in North America.
"""
DRONES = article(
    "Night drones count the herons of Lake Orrin",
    "The night drone census of Lake Orrin counted 412 grey herons in March 2024, wardens said on Monday.",
    "The census was flown with four thermal cameras and took three nights, one more than the year before.",
    date="2024-03-18",
)


@pytest.fixture(scope="module")
def vectors() -> Embedder:
    """The default embedder."""
    return minilm()


@pytest.fixture
def store_with_report(store: Store, tmp_path: Path, vectors: Embedder) -> Store:
    """One document in a library."""
    (tmp_path / "facilities.md").write_text(REPORT)
    list(ingest([tmp_path / "facilities.md"], collection="reports", store=store, embedder=vectors))
    return store


@pytest.fixture
def site() -> Iterator[Site]:
    """A page that answers what the library does not."""
    with Site({"/drones": DRONES}) as made:
        yield made


@pytest.fixture
def engine(site: Site) -> Iterator[SearxngServer]:
    """Finds it."""
    with SearxngServer({f"{site.url}/drones": "Night drones"}) as made:
        yield made


class Strict(WordReader):
    """Takes a passage with most of the question's words for an answer, and rules out any other."""

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """As `WordReader`, with probabilities near one and zero."""
        return [
            Reading(0.9 if one.probability > 0.6 else 0.01, ()) for one in super().read(question, passages)
        ]


Ask = Callable[[str, str], list[ev.Event]]


@pytest.fixture
def ask(store_with_report: Store, vectors: Embedder, site: Site, engine: SearxngServer) -> Ask:
    """Ask, with the web allowed, a model that gives one reply."""
    web = Web(
        Searxng(engine.url), Fetcher(allowed_hosts=frozenset({site.host})), store_with_report, vectors
    )

    def go(question: str, reply: str) -> list[ev.Event]:
        request = Request(question, route="single", approve="always")
        with ScriptedChat([reply]) as chat:
            parts = {"chat": chat, "embedder": vectors, "reader": Strict(), "store": store_with_report}
            return list(run(request, web=web, **parts))  # type: ignore[arg-type]

    return go


def test_what_the_library_answers_is_not_corrected(ask: Ask, engine: SearxngServer) -> None:
    question = "What was the average share of carbon-free energy in Europe in 2023?"
    written = "The average share of carbon-free energy in Europe was 68 percent in 2023 [1]."
    events = ask(question, written)
    assert [e.grade for e in only(events, ev.Graded)] == ["correct"]
    assert not only(events, ev.Corrected)
    assert engine.queries == []
    assert answered(events).grounded


def test_what_it_cannot_answer_is_looked_for_on_the_web_and_cited(
    ask: Ask, site: Site, engine: SearxngServer
) -> None:
    question = "How many grey herons did the night drone census of Lake Orrin count in March 2024?"
    written = "The night drone census of Lake Orrin counted 412 grey herons in March 2024."
    events = ask(question, written)
    corrected = only(events, ev.Corrected)
    assert corrected[-1].rung == "web"
    assert corrected[-1].pages[0]["url"] == f"{site.url}/drones"
    assert engine.queries == [question]
    assert only(events, ev.Graded)[0].grade != "correct"
    (source,) = answered(events).sources
    assert (source["collection"], source["date"]) == ("web", "2024-03-18")
    assert answered(events).grounded
