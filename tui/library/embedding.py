"""Embedding the library again after its embedder was changed."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Final

from agent.documents.embedding import embed_library
from models.protocols import Embedder, GenerationCancelled
from traces.library import Library
from traces.store import Store
from tui import failures
from tui.bars import show_progress
from tui.interrupts import ctrl_c

_FEW: Final = 32  # passages; takes about as long as loading the model


def before(store: Store, embedder: Embedder) -> None:
    """Make the missing vectors if they are few; else warn that only words find these passages.

    Raises:
        ModelError: the embedder fails.
    """
    library = Library(store)
    done, total = library.embedded(embedder.name)
    if 0 < total - done <= _FEW:
        for _ in embed_library(library, embedder):
            pass
    elif done < total:
        failures.warn(
            f"{total - done:,} of {total:,} passages have no vector by {embedder.name} yet: words alone "
            "find them. `deepthink library embed` makes the vectors at once."
        )


def embed(store: Store, embedder: Embedder, cancel: threading.Event | None = None) -> bool:
    """Embed the passages without a vector, showing progress; returns whether all have one now.

    Args:
        store: The store of the library.
        embedder: Makes the vectors.
        cancel: Stops the embedding; if None, Ctrl-C does.

    Raises:
        ModelError: the embedder fails.
    """
    library = Library(store)
    with nullcontext(cancel) if cancel is not None else ctrl_c() as stop:
        try:
            show_progress(
                embed_library(library, embedder, cancel=stop), lambda _progress: "embedding the library"
            )
        except GenerationCancelled:
            return False
    done, total = library.embedded(embedder.name)
    return done == total


def vectors_by(library: Library) -> str:
    """The embedder of the library's vectors, with its progress unless all passages are embedded."""
    embedder = library.embedder()
    if embedder is None:
        return "no model yet"
    done, total = library.embedded(embedder)
    return embedder if done == total else f"{embedder}, {done:,} of {total:,} passages so far"
