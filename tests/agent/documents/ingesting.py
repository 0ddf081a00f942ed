"""Reading files into the collection ``c``, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.documents.ingest import FileDone, IngestEvent, ingest
from models.protocols import Vectors
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Document
from traces.store import Store


class Counting(HashEmbedder):
    """Remembers the passages that it embedded."""

    def __init__(self, dimensions: int = 128) -> None:
        super().__init__(dimensions)
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.texts.extend(texts)
        return super().embed_passages(texts)


def read_in(
    store: Store, *paths: Path, embedder: HashEmbedder | None = None, **options: Any
) -> list[IngestEvent]:
    """Read files and folders; all events."""
    model = embedder or HashEmbedder()
    return list(ingest(paths, collection="c", store=store, embedder=model, **options))


def outcomes(events: Sequence[IngestEvent]) -> dict[str, str]:
    """What became of each file, by its name."""
    return {event.name: event.outcome for event in events if isinstance(event, FileDone)}


def stored(store: Store) -> dict[str, Document]:
    """The documents in the collection, by name."""
    return {document.name: document for document in Library(store).documents("c")}


def names(store: Store) -> set[str]:
    return {*stored(store)}


def texts(store: Store) -> list[str]:
    """The passages in the collection."""
    library = Library(store)
    return [p.text for d in library.documents("c") for p in library.document_passages(d.id)]
