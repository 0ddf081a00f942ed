"""Re-embedding: vectors for stored passages that have none of the current embedder.

This is needed after a change of the embedder. Each batch is stored separately, so an interruption loses
only seconds, and a search meanwhile uses the vectors that exist and finds the rest by keywords.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import filelock

from agent.documents.indexing import passage_text, stop_if
from models.protocols import Embedder
from traces.library import Library

_BATCH: Final = 16


@dataclass(frozen=True, slots=True)
class Embedded:
    """The progress.

    Attributes:
        done: Passages with a vector.
        total: All passages.
        seconds_left: Estimate.
    """

    done: int
    total: int
    seconds_left: float


def embed_library(
    library: Library,
    embedder: Embedder,
    *,
    cancel: threading.Event | None = None,
) -> Iterator[Embedded]:
    """Embed the passages without a vector; yields the progress after each batch.

    Does nothing if another process or thread already does it. Ends early if the library's embedder changes
    again.

    Vectors of another model are dropped with the first batch. ``cancel`` stops between two batches.

    Raises:
        GenerationCancelled: ``cancel`` was set.
        ModelError: The embedder is missing or fails.
        StoreError: The store cannot be read or written.
    """
    lock = filelock.FileLock(library.path.with_suffix(".embedding.lock"))
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        return
    try:
        began, made = time.monotonic(), 0
        while some := library.unembedded(embedder.name, _BATCH):
            stop_if(cancel)
            texts = [passage_text(one.title, one.section, one.text) for one in some]
            vectors = embedder.embed_passages(texts)
            if not library.put_vectors([one.id for one in some], vectors, embedder.name, first=not made):
                return
            made += len(some)
            done, total = library.embedded(embedder.name)
            yield Embedded(done, total, (time.monotonic() - began) / made * (total - done))
    finally:
        lock.release()
