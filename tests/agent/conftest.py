"""A small library of two collections, read without any model, and sessions on scripted ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from agent.budget import Budget
from agent.session import Session
from agent.text.terms import terms
from models.protocols import Reading, Span
from tests.scripted import HashEmbedder, ScriptedChat, WordReader
from traces.library import Library
from traces.records import NewChunk, NewDocument
from traces.store import Store

REPORTS = {
    "annual-report": [
        "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics.",
        "Orlavane employed 3,940 people at the end of 2024.",
        "Competition in industrial heat pumps may reduce our prices and our market share.",
    ],
}
NEWS = {
    "fire": ["A fire at the Brevnes plant of Tolvang Ceramics halted production for seven weeks."],
    "launch": ["Haldrecht launched the Ostra 180, an industrial heat pump, in May 2025."],
}


SAID = ("A fire", "Tolvang Ceramics")


class UnsureReader(WordReader):
    """Takes a passage with `SAID` in it rather for an answer than not, and is not sure of the words.

    A step takes the words in its best passage for its finding; where a later step needs them, the model is
    asked, and agreed to.
    """

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """As `WordReader`, with the words marked: the better the passage, the more probable both."""
        readings = super().read(question, passages)
        return [
            _marked(reading, passage) if any(words in passage for words in SAID) else reading
            for reading, passage in zip(readings, passages, strict=True)
        ]


def _marked(reading: Reading, passage: str) -> Reading:
    found = [(passage.find(words), words) for words in SAID]
    probability = 0.3 + 0.1 * reading.probability
    spans = tuple(Span(at, at + len(words), probability) for at, words in found if at >= 0)
    return Reading(0.5 + 0.5 * reading.probability, spans)


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
            found.put_document(
                _document(collection, name, texts), embedder.embed_passages(texts), embedder.name
            )
    return found


def _document(collection: str, name: str, texts: list[str]) -> NewDocument:
    return NewDocument(
        collection=collection,
        source=f"/{collection}/{name}",
        name=name,
        title=name.replace("-", " ").capitalize(),
        media_type="text/plain",
        sha256=name,
        bytes=sum(map(len, texts)),
        pages=None,
        date="2025-01-01",
        coverage=1.0,
        notices=(),
        reader=1,
        chunks=tuple(
            NewChunk(i, "text", (f"Item {i}",), None, text, tuple(terms(text)))
            for i, text in enumerate(texts)
        ),
    )


@pytest.fixture
def idle_session() -> Iterator[Session]:
    """A session whose model must not be asked anything."""
    with ScriptedChat([]) as chat:
        yield Session(chat, Budget(), lambda _event: None)
