"""Hard negatives: what our own funnel brings for a question and gold does not support."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from agent.retrieval.recall import Hit, Recall
from agent.retrieval.terms import terms
from models.protocols import Embedder
from policy import lines
from policy.reranking.questions import Asked, Pool
from traces.library import Library
from traces.records import NewChunk, NewDocument, Scope
from traces.store import Store


@dataclass(frozen=True)
class Found:
    """A passage that recall brought for a question, or that gold names.

    Attributes:
        text: ``title. text``, as the graph gives it to a reranker.
        gold: Whether it supports the question.
        doubtful: Whether it holds the answer without being marked as supporting.
        rank: Its place in the fused order from 0; None if recall did not bring it.
        vector: Cosine with the question; None if recall did not bring it.
        coverage: Share of the question's idf that it holds; None if recall did not bring it.
    """

    text: str
    gold: bool
    doubtful: bool
    rank: int | None
    vector: float | None
    coverage: float | None


@dataclass(frozen=True)
class Mined:
    """A question with what recall brought, best first, then the gold that it missed."""

    pool: str
    record: str
    question: str
    whole: bool
    found: list[Found]


def mine(pool: Pool, embedder: Embedder, depth: int) -> Iterator[Mined]:
    """Each question of the pool with its ``depth`` best passages by the hybrid funnel, and its gold.

    Raises:
        ModelError: the embedder fails.
        StoreError: the temporary library cannot be written.
    """
    texts = [one.passage for one in pool.paragraphs]
    with library_of(pool, embedder) as (library, number):
        recall = Recall(library, embedder)
        scope = [Scope(collections=(pool.name,))]
        for asked in pool.asked:
            hits = recall.search(asked.question, "hybrid", scope, depth)
            scored = [(number[h.passage.id], h.scores["vector"], h.scores["coverage"]) for h in hits]
            yield Mined(pool.name, asked.record, asked.question, asked.whole, _found(asked, scored, texts))


@contextmanager
def library_of(pool: Pool, embedder: Embedder) -> Iterator[tuple[Library, dict[int, int]]]:
    """A temporary library of the pool's paragraphs, and each chunk id's number in the pool."""
    vectors = embedder.embed_passages([one.passage for one in pool.paragraphs])
    with tempfile.TemporaryDirectory() as folder:
        library = Library(Store(Path(folder) / "pool.duckdb"))
        library.put_document(document_of(pool), vectors, embedder.name)
        (document,) = library.documents(pool.name)
        yield library, {p.id: p.position for p in library.document_passages(document.id)}


def _found(asked: Asked, scored: list[tuple[int, float, float]], texts: list[str]) -> list[Found]:
    brought = [
        Found(texts[i], i in asked.gold, i in asked.doubtful, rank, vector, coverage)
        for rank, (i, vector, coverage) in enumerate(scored)
    ]
    missed = sorted(asked.gold - {i for i, _, _ in scored})
    return brought + [Found(texts[i], True, False, None, None, None) for i in missed]


def document_of(pool: Pool) -> NewDocument:
    """The pool's paragraphs as one document, a chunk each, in their order."""
    chunks = tuple(
        NewChunk(i, "text", (one.title,), None, one.text, tuple(terms(one.passage)))
        for i, one in enumerate(pool.paragraphs)
    )
    return NewDocument(
        pool.name, pool.name, pool.name, "", "text/plain", pool.name, 0, None, "", 1.0, (), 1, chunks
    )


def as_the_product_has_it(hit: Hit) -> Hit:
    """A hit in a pool, which is one document, with its paragraph's title for its document's.

    In a person's library a paragraph's title is a document's, and is read by the reranker.
    """
    return replace(hit, passage=replace(hit.passage, title=hit.passage.section, section=""))


def write_mined(mined: Iterator[Mined], path: Path) -> None:
    """As JSON lines; the file appears when it is whole, so that a killed run leaves none half-written."""
    lines.write(path, map(asdict, mined))


def read_mined(path: Path) -> list[Mined]:
    """What `write_mined` wrote."""
    rows = [json.loads(line) for _, line in lines.whole_lines(path)]
    return [Mined(**{**row, "found": [Found(**found) for found in row["found"]]}) for row in rows]
