"""The files are read once for all tests: it takes longer than they do."""

from __future__ import annotations

import pytest

from agent.documents.ingest import IngestEvent, ingest
from tests.formats import FILES, SCANS
from tests.scripted import HashEmbedder
from traces.store import Store


@pytest.fixture(scope="session")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[IngestEvent]]:
    """The store that all files but scans were read into, and the events of reading them."""
    store = Store(tmp_path_factory.mktemp("read") / "store.duckdb")
    paths = [path for path in FILES.iterdir() if not path.name.endswith(SCANS)]
    return store, list(ingest(paths, collection="c", store=store, embedder=HashEmbedder()))
