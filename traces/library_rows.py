"""The rows of collections, documents, chunks and vectors, written within a transaction of the caller's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from traces.records import SECTION_SEPARATOR, NewChunk, NewDocument
from traces.rows import columns, insert
from traces.store import now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


def ensure_embedder(db: DuckDBPyConnection, embedder: str, dimensions: int) -> None:
    """Have the library hold vectors of this model alone.

    Those that another made are dropped: never are two models' vectors searched together. Their passages
    stay, and wait to be embedded anew.
    """
    made = db.execute("SELECT embedder, dimensions FROM library").fetchall()
    if made == [(embedder, dimensions)]:
        return
    if not made:
        db.execute("INSERT INTO library VALUES (?, ?, 0)", [embedder, dimensions])
    else:
        db.execute(
            "UPDATE library SET embedder = ?, dimensions = ?, embedded = embedded + 1",
            [embedder, dimensions],
        )
        db.execute("DROP TABLE vectors")
    db.execute(f"CREATE TABLE vectors (chunk_id BIGINT NOT NULL, vector FLOAT[{dimensions}] NOT NULL)")


def touch_collection(db: DuckDBPyConnection, name: str) -> None:
    """Make the collection if it is new, else count a generation on: what is searched has changed."""
    known = db.execute("SELECT 1 FROM collections WHERE name = ?", [name]).fetchone()
    if known:
        db.execute("UPDATE collections SET generation = generation + 1 WHERE name = ?", [name])
    else:
        db.execute("INSERT INTO collections VALUES (?, '', 1, ?)", [name, now()])


def delete_document(db: DuckDBPyConnection, document_id: int) -> bool:
    """Remove the document with its chunks and vectors; returns whether there was one with this id."""
    row = db.execute("SELECT collection FROM documents WHERE id = ?", [document_id]).fetchone()
    if row is None:
        return False
    db.execute(
        "DELETE FROM vectors WHERE chunk_id IN (SELECT id FROM chunks WHERE document_id = ?)",
        [document_id],
    )
    db.execute("DELETE FROM chunks WHERE document_id = ?", [document_id])
    db.execute("DELETE FROM documents WHERE id = ?", [document_id])
    touch_collection(db, row[0])
    return True


def insert_document(db: DuckDBPyConnection, document: NewDocument) -> int:
    """Store the document's own row, not its chunks; returns its id."""
    (document_id,) = the_row(db.execute("SELECT nextval('document_ids')").fetchone())
    row = {"id": document_id, **columns(document), "ingested": now()}
    del row["chunks"]
    insert(db, "documents", [row])
    return int(document_id)


def insert_chunks(
    db: DuckDBPyConnection,
    document_id: int,
    chunks: Sequence[NewChunk],
    vectors: npt.NDArray[np.float32],
) -> None:
    """Store the chunks of a document, with one row of ``vectors`` each."""
    if not chunks:
        return
    import pyarrow as pa

    ids = [
        row[0] for row in db.execute("SELECT nextval('chunk_ids') FROM range(?)", [len(chunks)]).fetchall()
    ]
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "document_id": pa.array([document_id] * len(chunks), pa.int64()),
            "position": pa.array([c.position for c in chunks], pa.int32()),
            "kind": [c.kind for c in chunks],
            "section": [SECTION_SEPARATOR.join(c.section) for c in chunks],
            "page": pa.array([c.page for c in chunks], pa.int32()),
            "text": [c.text for c in chunks],
            "terms": [" ".join(c.terms) for c in chunks],
        }
    )
    db.register("new_chunks", rows)
    db.execute("INSERT INTO chunks SELECT * FROM new_chunks")
    db.unregister("new_chunks")
    insert_vectors(db, ids, vectors)


def insert_vectors(db: DuckDBPyConnection, ids: Sequence[int], vectors: npt.NDArray[np.float32]) -> None:
    """Store the vectors, one row each, of those of the chunks that are there and have none yet."""
    import pyarrow as pa

    flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    rows = pa.table(
        {
            "chunk_id": pa.array(ids, pa.int64()),
            "vector": pa.FixedSizeListArray.from_arrays(flat, int(vectors.shape[1])),
        }
    )
    db.register("new_vectors", rows)
    db.execute(
        """
        INSERT INTO vectors SELECT * FROM new_vectors
        WHERE chunk_id IN (SELECT id FROM chunks) AND chunk_id NOT IN (SELECT chunk_id FROM vectors)
        """
    )
    db.unregister("new_vectors")


def the_row(row: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """The row of a query that always gives one."""
    if row is None:
        raise AssertionError("a query that always gives a row gave none")
    return row
