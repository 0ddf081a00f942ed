"""Embedding anew: stored passages that have no vector by the embedder in use are given one.

That is so after another embedder was chosen. Each batch is stored by itself, so whatever ends the work
loses seconds of it, and a search meanwhile has the vectors that are there and finds the rest by words.
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
    """How far it is.

    Attributes:
        done: Passages that have a vector.
        total: Passages there are.
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
    seconds: float | None = None,
) -> Iterator[Embedded]:
    """Embed what has no vector yet, telling after each batch how far it is.

    Nothing is done where another process or thread is at it. It ends early where the library goes over to
    yet another embedder.

    Args:
        library: Whose passages; vectors that another model made are dropped with the first batch.
        embedder: Makes the vectors.
        cancel: Stops between two batches.
        seconds: Stops after about that long; None for all of it.

    Raises:
        GenerationCancelled: ``cancel`` was set.
        ModelError: the embedder is missing or fails.
        StoreError: the store cannot be read or written.
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
            took = time.monotonic() - began
            yield Embedded(done, total, took / made * (total - done))
            if seconds is not None and took >= seconds:
                return
    finally:
        lock.release()
