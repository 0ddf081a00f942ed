"""Libraries for the benchmarks, made by the product's own ingestion."""

from __future__ import annotations

from pathlib import Path

from agent.documents.ingest import FileDone, FileFailed, ingest
from models.protocols import Embedder
from tests.conftest import DATA
from traces.store import Store

FILINGS = DATA / "filings"
NVIDIA = FILINGS / "nvda-10k-fy2023.html"


def read_into(
    store: Store, collection: str, files: list[Path], embedder: Embedder, description: str = ""
) -> list[FileDone]:
    """Ingest files and folders; raises the first failure."""
    done: list[FileDone] = []
    for event in ingest(
        files, collection=collection, description=description, store=store, embedder=embedder
    ):
        if isinstance(event, FileFailed):
            raise event.error
        if isinstance(event, FileDone):
            done.append(event)
    return done
