"""Re-embedding: vectors for stored passages that have none from the current embedder.

This is needed when the embedder changes. Each batch is stored separately, so an interruption loses only
seconds; a search in the meantime uses the vectors that exist and finds the other passages by keywords.
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
    """Progress of re-embedding.

    Attributes:
        done: Passages with a vector.
        total: All passages.
        seconds_left: Estimated time left.
    """

    done: int
    total: int
    seconds_left: float


def embed_library(
    library: Library, embedder: Embedder, *, cancel: threading.Event | None = None
) -> Iterator[Embedded]:
    """Embed the passages without a vector; yields the progress after each batch.

    Does nothing if another process or thread is already re-embedding. Ends early if the library's embedder
    changes again.

    The first batch drops the vectors of other models. ``cancel`` stops between two batches.

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
        began, embedded_count = time.monotonic(), 0
        while passages := library.unembedded(embedder.name, _BATCH):
            stop_if(cancel)
            texts = [passage_text(passage.title, passage.section, passage.text) for passage in passages]
            vectors = embedder.embed_passages(texts)
            if not library.put_vectors(
                [passage.id for passage in passages], vectors, embedder.name, first=not embedded_count
            ):
                return
            embedded_count += len(passages)
            done, total = library.embedded(embedder.name)
            yield Embedded(done, total, (time.monotonic() - began) / embedded_count * (total - done))
    finally:
        lock.release()
