"""Reading the sample library: the documents that ship with the program, for the first question."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

from agent.documents import ingest as ing
from agent.documents import sample_library
from models.protocols import Embedder
from traces.library import Library
from traces.store import Store

COLLECTIONS = sample_library.COLLECTIONS
"""Its collections, each with one line on what it holds."""


def read(
    collection: str, store: Store, embedder: Embedder, cancel: threading.Event | None = None
) -> Iterator[ing.IngestEvent]:
    """Bring one sample collection up to date; what is already read is unchanged.

    Raises what `agent.documents.ingest.ingest` raises.
    """
    _forget_moved(Library(store), collection)
    yield from ing.ingest(
        [sample_library.root() / collection],
        collection=collection,
        description=COLLECTIONS[collection],
        store=store,
        embedder=embedder,
        cancel=cancel,
    )


def _forget_moved(library: Library, collection: str) -> None:
    """Drop the samples of another installation, which would stand beside this one's as doubles."""
    here = sample_library.root() / collection
    names = {path.name for path in sample_library.documents(collection)}
    for document in library.documents(collection):
        source = Path(document.source)
        copied = source.parent.parts[-2:] == here.parts[-2:] and source.name in names
        if copied and source.parent != here.resolve():
            library.remove_document(document.id)
