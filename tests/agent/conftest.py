"""A small library of two collections, read without any model, and sessions on scripted ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

import agent.events as ev
from agent.budget import Budget
from agent.run import Request, resume, run
from agent.session import Session
from models.protocols import Reading, Span
from tests.agent.made import QUESTION, put
from tests.scripted import HashEmbedder, Scripted, ScriptedChat, WordReader
from traces.library import Library
from traces.store import Store

settings.register_profile("unhurried", deadline=None, max_examples=60)  # a busy machine takes longer
settings.load_profile("unhurried")

REPORTS = {
    "annual-report": [
        "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics.",
        "Orlavane employed 3,940 people at the end of 2024.",
        "Competition in industrial heat pumps may reduce our prices and our market share.",
    ]
}
NEWS = {
    "fire": ["A fire at the Brevnes plant of Tolvang Ceramics halted production for seven weeks."],
    "launch": ["Haldrecht launched the Ostra 180, an industrial heat pump, in May 2025."],
}
SAID = ("A fire", "Tolvang Ceramics")
DEEP = Request(QUESTION, route="deep", approve="always")


class UnsureReader(WordReader):
    """Takes a passage with `SAID` in it for an answer, but is not sure of the words.

    A step takes the words in its best passage as its finding; where a later step needs them, the model is
    asked, and the reader agrees.
    """

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """As `WordReader`, with the words marked: the better the passage, the more probable both."""
        return [
            _marked(reading, passage)
            for reading, passage in zip(super().read(question, passages), passages, strict=True)
        ]


def _marked(reading: Reading, passage: str) -> Reading:
    probability = 0.3 + 0.1 * reading.probability
    places = [(passage.find(words), len(words)) for words in SAID]
    spans = tuple(Span(at, at + length, probability) for at, length in places if at >= 0)
    return Reading(0.5 + 0.5 * reading.probability, spans) if spans else reading


@pytest.fixture
def embedder() -> HashEmbedder:
    """Vectors of hashed words: texts that share words are near."""
    return HashEmbedder()


@pytest.fixture(scope="session")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a store with two collections of short passages."""
    file = tmp_path_factory.mktemp("filled") / "store.duckdb"
    fill(Store(file), HashEmbedder())
    return file


@pytest.fixture
def template(request: pytest.FixtureRequest, empty_store: Path, filled_store: Path) -> Path:
    """What `store` begins as: filled where the test asks for the library."""
    return filled_store if "library" in request.fixturenames else empty_store


@pytest.fixture
def library(store: Store) -> Library:
    """Two collections of short passages."""
    return Library(store)


def fill(store: Store, embedder: HashEmbedder) -> Library:
    """The same in a store of one's own."""
    found = Library(store)
    for collection, documents in (("reports", REPORTS), ("news", NEWS)):
        found.describe_collection(collection, f"the {collection} of Orlavane")
        for name, texts in documents.items():
            put(found, name, texts, collection, embedder)
    return found


Ask = Callable[..., list[ev.Event]]


@pytest.fixture
def ask(library: Library, store: Store, embedder: HashEmbedder) -> Ask:
    """Runs a request about the small library to its end on scripted replies; returns the events.

    ``resumed`` is the id of a run to resume instead; ``seen`` collects the events of a run that raises;
    ``do`` is called with each event; ``changes`` are fields of the request, and parts of the run.
    """

    def go(
        replies: Sequence[Scripted],
        request: Request = DEEP,
        *,
        resumed: str = "",
        seen: list[ev.Event] | None = None,
        do: Callable[[ev.Event], object] = lambda _event: None,
        **changes: Any,
    ) -> list[ev.Event]:
        own = {field.name for field in fields(Request)} - {"web"}  # `run` has another ``web``
        request = replace(request, **{name: changes.pop(name) for name in own & changes.keys()})
        parts: dict[str, Any] = {"embedder": embedder, "reader": UnsureReader(), "store": store, **changes}
        events = [] if seen is None else seen
        with ScriptedChat(replies) as chat:
            parts["chat"] = chat
            if resumed:
                settings: dict[str, Any] = {"interactive": request.interactive, "approve": request.approve}
                stream = resume(resumed, **settings, **parts)
            else:
                stream = run(request, **parts)
            for event in stream:
                events.append(event)
                do(event)
        return events

    return go


@pytest.fixture
def idle_session() -> Iterator[Session]:
    """A session whose model must not be asked anything."""
    with ScriptedChat([]) as chat:
        yield Session(chat, Budget(), lambda _event: None)
