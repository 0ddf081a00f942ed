"""Libraries for the benchmarks, made by the product's own ingestion."""

from __future__ import annotations

from pathlib import Path

from agent.documents.ingest import FileDone, FileFailed, ingest
from models.boxed_reader import BoxedReader, RankedReader
from models.catalogue import BGE_SMALL_EN, MS_MARCO_MINILM_L12, entry
from models.encoders import open_embedder, open_reranker
from models.llama_cpp import LlamaCppChat
from models.protocols import Embedder, Reader
from tests.conftest import DATA
from traces import paths
from traces.store import Store

FILINGS = DATA / "filings"
NVIDIA = FILINGS / "nvda-10k-fy2023.html"


def embedder() -> Embedder:
    """The default embedder."""
    return open_embedder(BGE_SMALL_EN.location(paths.models_dir()))


def chat(name: str = "qwen2.5-coder-1.5b") -> LlamaCppChat:
    """A chat model of the catalogue."""
    return LlamaCppChat(entry(name).location(paths.models_dir()), name=f"llama.cpp:{name}")


def reader() -> Reader:
    """The default one: what ships, beside the published reranker."""
    return RankedReader(BoxedReader(), open_reranker(MS_MARCO_MINILM_L12.location(paths.models_dir())))


def read_into(store: Store, collection: str, files: list[Path], description: str = "") -> list[FileDone]:
    """Ingest files and folders; raises the first failure."""
    done: list[FileDone] = []
    for event in ingest(
        files, collection=collection, description=description, store=store, embedder=embedder()
    ):
        if isinstance(event, FileFailed):
            raise event.error
        if isinstance(event, FileDone):
            done.append(event)
    return done
