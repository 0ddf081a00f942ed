"""The library: collections, documents, chunks and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from traces.errors import did_you_mean
from traces.records import (
    NO_FILTERS,
    SECTION_SEPARATOR,
    Chunk,
    Collection,
    Document,
    Filters,
    Generation,
    NewDocument,
    Passage,
    Scope,
    UnknownCollection,
    UnknownDocument,
)
from traces.store import Queries, columns, insert, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Library(Queries):
    """Queries on the library."""

    @property
    def path(self) -> Path:
        """The file of the store."""
        return self._store.path.absolute()

    # --- collections -------------------------------------------------------------------------

    def collections(self) -> list[Collection]:
        """All collections, by name."""
        query = """
            FROM (
                SELECT k.name, k.description, k.generation,
                    count(DISTINCT d.id) AS documents, count(c.id) AS chunks,
                    (SELECT to_json(coalesce(list(title ORDER BY first)[:20], []))
                     FROM (SELECT title, min(id) AS first FROM documents
                           WHERE collection = k.name AND title <> '' GROUP BY title)) AS titles
                FROM collections k
                LEFT JOIN documents d ON d.collection = k.name
                LEFT JOIN chunks c ON c.document_id = d.id
                GROUP BY ALL
            ) ORDER BY name
        """
        return self._store.records(Collection, query)

    def together(self) -> AbstractContextManager[object]:
        """Context in which the queries of one thread share one connection."""
        return self._store.connect()

    def generations(self, names: Sequence[str]) -> dict[str, Generation]:
        """Collection name to generation, for the named collections that exist, or for all."""
        rows = self._store.rows(
            """
            SELECT name, created, generation FROM collections
            WHERE len(?) = 0 OR list_contains(?, name) ORDER BY name
            """,
            [list(names), list(names)],
        )
        return {name: (created, generation) for name, created, generation in rows}

    def require_collections(self, names: Iterable[str]) -> list[Collection]:
        """The named collections, or all of them if no name is given.

        Raises `UnknownCollection` if one of them does not exist.
        """
        existing = {c.name: c for c in self.collections()}
        requested = list(names) or list(existing)
        for name in requested:
            if name not in existing:
                content = f"has: {', '.join(existing)}" if existing else "is empty"
                raise UnknownCollection(
                    f"There is no collection “{name}”; the library {content}.",
                    did_you_mean(
                        name, existing, "`deepthink ingest PATH --collection NAME` makes a new one."
                    ),
                )
        return [existing[name] for name in requested]

    def describe_collection(self, name: str, description: str) -> None:
        """Create the collection if it is new; set its description unless ``description`` is empty."""
        with self._store.transaction() as db:
            _touch_collection(db, name)
            if description:
                db.execute("UPDATE collections SET description = ? WHERE name = ?", [description, name])

    def remove_collection(self, name: str) -> None:
        """Remove a collection, its documents and followed folders.

        Raises `UnknownCollection` if it does not exist.
        """
        self.require_collections([name])
        with self._store.transaction() as db:
            _delete_documents(db, "collection = ?", [name])
            db.execute("DELETE FROM collections WHERE name = ?", [name])
            db.execute("DELETE FROM folders WHERE collection = ?", [name])
            db.execute("DELETE FROM unreadable WHERE collection = ?", [name])

    # --- documents ---------------------------------------------------------------------------

    def documents(self, collection: str | None = None, filters: Filters = NO_FILTERS) -> list[Document]:
        """The stored documents that pass the filters, by collection and name."""
        facts, values = filters.where()
        condition = " AND ".join(["(? IS NULL OR d.collection = ?)", *facts])
        return self._documents(condition, [collection, collection, *values])

    def document_of(self, passage_id: int) -> Document | None:
        """The document of a chunk; None if the chunk is gone."""
        condition = "d.id = (SELECT document_id FROM chunks WHERE id = ?)"
        return next(iter(self._documents(condition, [passage_id])), None)

    def _documents(self, condition: str, values: Sequence[Any]) -> list[Document]:
        query = f"""
            FROM (
                SELECT d.*, count(c.id) AS chunks
                FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
                WHERE {condition} GROUP BY ALL
            ) ORDER BY collection, name
        """
        return self._store.records(Document, query, values)

    def put_document(
        self,
        document: NewDocument,
        vectors: npt.NDArray[np.float32],
        embedder: str,
        *,
        must_follow: bool = False,
    ) -> int:
        """Store a document, replacing the one of the same collection and source; returns its id.

        Everything happens in one transaction: a crash leaves the library unchanged. ``vectors`` has a row
        for each chunk; those of other embedders are dropped. ``must_follow``: raise `UnknownCollection`
        unless the collection follows a folder, so that one removed during a sync does not come back.
        """
        with self._store.transaction() as db:
            query = "SELECT 1 FROM folders WHERE collection = ?"
            if must_follow and not db.execute(query, [document.collection]).fetchone():
                raise UnknownCollection(
                    f"The collection “{document.collection}” no longer follows a folder.",
                    "`deepthink ingest FOLDER` reads a folder, and follows it from then on.",
                )
            ensure_embedder(db, embedder, int(vectors.shape[1]))
            _touch_collection(db, document.collection)
            _delete_documents(db, "collection = ? AND source = ?", [document.collection, document.source])
            [(document_id,)] = db.execute("SELECT nextval('document_ids')").fetchall()
            row = {"id": document_id, **columns(document), "ingested": now()}
            del row["chunks"]
            insert(db, "documents", [row])
            _insert_chunks(db, document_id, document.chunks, vectors)
        return int(document_id)

    def date_documents(self, modified: Mapping[int, int]) -> None:
        """Date documents as ingested now: their sources were read again and are unchanged.

        ``modified`` is by id, in nanoseconds since 1970; 0 if it is no file. The collections' generations
        stay, since nothing searchable has changed.
        """
        with self._store.transaction() as db:
            for document_id, modified_ns in modified.items():
                values = [modified_ns, now(), document_id]
                db.execute("UPDATE documents SET modified = ?, ingested = ? WHERE id = ?", values)

    def move_document(
        self,
        document_id: int,
        source: str,
        name: str,
        *,
        title: str | None,
        terms: Mapping[int, Sequence[str]],
    ) -> None:
        """Give a document, and the documents inside its file, a new source and name; ignores an unknown id.

        ``title`` is the new title, None keeps it; ``terms`` are the keyword terms of chunks, by id, if they
        change with the title.
        """
        with self._store.transaction() as db:
            query = "SELECT collection, source, name FROM documents WHERE id = ?"
            row = db.execute(query, [document_id]).fetchone()
            if row is None:
                return
            collection, old_source, old_name = row
            replacements = [source, len(old_source) + 1, name, len(old_name) + 1]
            db.execute(
                """
                UPDATE documents SET source = ? || substr(source, ?), name = ? || substr(name, ?)
                WHERE collection = ? AND (source = ? OR starts_with(source, ?))
                """,
                [*replacements, collection, old_source, f"{old_source}/"],
            )
            if title is not None:
                db.execute("UPDATE documents SET title = ? WHERE id = ?", [title, document_id])
            for chunk_id, chunk_terms in terms.items():
                db.execute("UPDATE chunks SET terms = ? WHERE id = ?", [" ".join(chunk_terms), chunk_id])
            _touch_collection(db, collection)

    def remove_document(self, document_id: int) -> None:
        """Remove one document with its chunks and vectors.

        Raises `UnknownDocument` if there is none with this id.
        """
        with self._store.transaction() as db:
            if not _delete_documents(db, "id = ?", [document_id]):
                raise UnknownDocument(
                    f"There is no document {document_id}.", "`deepthink library` lists them."
                )

    # --- passages ----------------------------------------------------------------------------

    def passages(self, ids: Sequence[int]) -> list[Passage]:
        """The chunks with these ids, in the given order; unknown ids are left out."""
        if not ids:
            return []
        by_id = {passage.id: passage for passage in self._passages("c.id IN (SELECT unnest(?))", list(ids))}
        return [by_id[i] for i in ids if i in by_id]

    def document_passages(self, document_id: int) -> list[Passage]:
        """All chunks of a document in reading order."""
        return self._passages("d.id = ? ORDER BY c.position", document_id)

    def _passages(self, condition: str, value: Any) -> list[Passage]:
        return [Passage(*row) for row in self._store.rows(f"{_PASSAGE} WHERE {condition}", [value])]

    def sections(self, scope: Scope) -> list[str]:
        """The distinct section paths within ``scope``, in reading order."""
        condition, values = scope.where()
        rows = self._store.rows(
            f"""
            SELECT c.section FROM chunks c JOIN documents d ON d.id = c.document_id
            WHERE {condition} AND c.section <> ''
            GROUP BY c.section ORDER BY min(c.id)
            """,
            values,
        )
        return [row[0] for row in rows]

    def chunk_ids(self, scope: Scope) -> npt.NDArray[np.int64]:
        """Ids of all chunks within ``scope``, ascending."""
        condition, values = scope.where()
        with self._store.connect() as db:
            result = db.execute(
                f"""
                SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
                WHERE {condition} ORDER BY c.id
                """,
                values,
            ).fetchnumpy()
        return np.asarray(result["id"], dtype=np.int64)

    def terms(self, collection: str) -> Iterator[tuple[int, str]]:
        """``(chunk id, space-joined keyword terms)`` of every chunk of a collection, by id.

        In batches, with the store closed in between, so that other processes need not wait for all of them.
        """
        for batch in _batches(self.chunk_ids(Scope(collections=(collection,))), _TEXTS):
            with self._store.connect() as db, _little_memory(db):
                rows = db.execute(
                    """
                    SELECT c.id, c.terms FROM chunks c JOIN documents d ON d.id = c.document_id
                    WHERE d.collection = ? AND c.id BETWEEN ? AND ? ORDER BY c.id
                    """,
                    [collection, int(batch[0]), int(batch[-1])],
                ).fetchall()
            yield from rows

    # --- vectors -----------------------------------------------------------------------------

    def embedder(self) -> str | None:
        """Name of the model of the library's vectors, None before the first document."""
        return next((name for (name,) in self._store.rows("SELECT embedder FROM library")), None)

    def vector_generations(self, names: Sequence[str]) -> dict[str, Generation]:
        """As `generations`, also counting vectors that were added to stored passages later."""
        with self.together():
            embedded = sum(count for (count,) in self._store.rows("SELECT embedded FROM library"))
            generations = self.generations(names).items()
        return {name: (created, generation + embedded) for name, (created, generation) in generations}

    def collection_vectors(
        self, collection: str, embedder: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The ids of a collection's chunks with a vector of this model, ascending, and these vectors.

        In batches, as `terms`; one row of the vectors for each id.
        """
        ids = self.chunk_ids(Scope(collections=(collection,)))
        has_vector = np.zeros(len(ids), dtype=np.bool_)
        vectors = np.zeros((len(ids), 0), dtype=np.float32)
        for batch_ids in _batches(ids, _VECTORS):
            # A cursor, since another query of this connection may not be fully fetched yet.
            with self._store.connect() as db, _little_memory(db), db.cursor() as cursor:
                dimensions = cursor.execute(
                    "SELECT dimensions FROM library WHERE embedder = ?", [embedder]
                ).fetchall()
                if not dimensions:  # another process may have changed it meanwhile
                    return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
                if not vectors.shape[1]:
                    vectors = np.zeros((len(ids), dimensions[0][0]), dtype=np.float32)
                relation = cursor.sql(
                    "SELECT chunk_id, vector FROM vectors WHERE chunk_id BETWEEN ? AND ?",
                    params=[int(batch_ids[0]), int(batch_ids[-1])],
                )
                for batch in relation.to_arrow_reader(_BATCH):
                    chunk_ids = batch.column("chunk_id").to_numpy()
                    is_wanted = np.isin(chunk_ids, batch_ids)
                    flat = batch.column("vector").flatten().to_numpy()
                    rows = np.searchsorted(ids, chunk_ids[is_wanted])
                    vectors[rows] = flat.reshape(len(chunk_ids), -1)[is_wanted]
                    has_vector[rows] = True
        return (ids, vectors) if has_vector.all() else (ids[has_vector], vectors[has_vector])

    def embedded(self, embedder: str) -> tuple[int, int]:
        """How many chunks have a vector of this model, and how many chunks there are."""
        with self.together():
            [(chunks,)] = self._store.rows("SELECT count(*) FROM chunks")
            if self.embedder() != embedder:
                return 0, chunks
            [(vectors,)] = self._store.rows("SELECT count(*) FROM vectors")
        return vectors, chunks

    def unembedded(self, embedder: str, limit: int) -> list[Passage]:
        """At most ``limit`` chunks without a vector of this model, oldest first."""
        with self.together():
            is_current = self.embedder() == embedder
            condition = "c.id NOT IN (SELECT chunk_id FROM vectors)" if is_current else "true"
            return self._passages(f"{condition} ORDER BY c.id LIMIT ?", limit)

    def put_vectors(
        self, ids: Sequence[int], vectors: npt.NDArray[np.float32], embedder: str, *, first: bool
    ) -> bool:
        """Store vectors for existing chunks; returns whether that was done. Unknown chunks are ignored.

        ``first``: whether to drop the vectors of another model; otherwise nothing is done if the library
        has meanwhile switched to another model.
        """
        with self._store.transaction() as db:
            if not first and db.execute("SELECT embedder FROM library").fetchall() != [(embedder,)]:
                return False
            ensure_embedder(db, embedder, int(vectors.shape[1]))
            _insert_vectors(db, ids, vectors)
            db.execute("UPDATE library SET embedded = embedded + 1")
        return True


# Chunks that are read per connection; the texts of two batches are in memory.
_TEXTS = 10_000
_VECTORS = 50_000
_BATCH = 4_096  # vectors per Arrow batch


@contextmanager
def _little_memory(db: DuckDBPyConnection) -> Iterator[None]:
    """Keep DuckDB from caching everything that is read once: by default it fills most of the memory."""
    import duckdb

    try:
        db.execute("SET memory_limit = '128MB'")
    except duckdb.OutOfMemoryException:
        # Another thread is using more at the moment; the limit is per process, so it stays.
        yield
        return
    try:
        yield
    finally:
        db.execute("RESET memory_limit")


def _batches(ids: npt.NDArray[np.int64], size: int) -> Iterator[npt.NDArray[np.int64]]:
    for first in range(0, len(ids), size):
        yield ids[first : first + size]


_PASSAGE = """
    SELECT c.id, d.id, d.collection, d.name, d.title, d.date, c.section, c.page, c.position,
           c.kind, c.text, coalesce(nullif(d.author, ''), d.sender)
    FROM chunks c JOIN documents d ON d.id = c.document_id
"""


# --- rows, written within the caller's transaction ----------------------------------------------


def ensure_embedder(db: DuckDBPyConnection, embedder: str, dimensions: int) -> None:
    """Make the library hold vectors of this model only.

    Vectors of another model are dropped: vectors of two models are never searched together. Their passages
    stay, to be embedded again.
    """
    current = db.execute("SELECT embedder, dimensions FROM library").fetchall()
    if current == [(embedder, dimensions)]:
        return
    if not current:
        db.execute("INSERT INTO library VALUES (?, ?, 0)", [embedder, dimensions])
    else:
        db.execute(
            "UPDATE library SET embedder = ?, dimensions = ?, embedded = embedded + 1",
            [embedder, dimensions],
        )
        db.execute("DROP TABLE vectors")
    db.execute(f"CREATE TABLE vectors (chunk_id BIGINT NOT NULL, vector FLOAT[{dimensions}] NOT NULL)")


def _touch_collection(db: DuckDBPyConnection, name: str) -> None:
    """Create the collection if it is new, else increase its generation: its contents have changed."""
    db.execute(
        """
        INSERT INTO collections VALUES (?, '', 1, ?)
        ON CONFLICT (name) DO UPDATE SET generation = collections.generation + 1
        """,
        [name, now()],
    )


def _delete_documents(db: DuckDBPyConnection, condition: str, values: Sequence[Any]) -> int:
    """Remove the matching documents with their chunks and vectors; returns how many there were."""
    query = f"SELECT id, collection FROM documents WHERE {condition}"
    collections = dict(db.execute(query, list(values)).fetchall())
    if not collections:  # before the first document there is no table of vectors
        return 0
    ids = [list(collections)]
    chunks = "SELECT id FROM chunks WHERE document_id IN (SELECT unnest(?))"
    db.execute(f"DELETE FROM vectors WHERE chunk_id IN ({chunks})", ids)
    db.execute("DELETE FROM chunks WHERE document_id IN (SELECT unnest(?))", ids)
    db.execute("DELETE FROM documents WHERE id IN (SELECT unnest(?))", ids)
    for collection in set(collections.values()):
        _touch_collection(db, collection)
    return len(collections)


def _insert_chunks(
    db: DuckDBPyConnection, document_id: int, chunks: Sequence[Chunk], vectors: npt.NDArray[np.float32]
) -> None:
    """Store the chunks of a document, with one row of ``vectors`` each."""
    if not chunks:
        return
    import pyarrow as pa

    numbers = db.execute("SELECT nextval('chunk_ids') FROM range(?)", [len(chunks)])
    ids = [number for (number,) in numbers.fetchall()]
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
    _insert_vectors(db, ids, vectors)


def _insert_vectors(db: DuckDBPyConnection, ids: Sequence[int], vectors: npt.NDArray[np.float32]) -> None:
    """Store the vectors, one row each, of those chunks that exist and have none yet."""
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
