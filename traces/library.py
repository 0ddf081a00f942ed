"""What was read: collections, documents, chunks and their vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from traces.records import (
    NO_FILTERS,
    SECTION_SEPARATOR,
    Collection,
    Document,
    Filters,
    Generation,
    NewChunk,
    NewDocument,
    Passage,
    Scope,
    Unembedded,
    UnknownCollection,
    UnknownDocument,
)
from traces.rows import columns, insert, select
from traces.store import Store, now

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class Library:
    """Queries on what was read. Every method opens the store, works and closes it again."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def path(self) -> Path:
        """The file it is stored in."""
        return self._store.path.absolute()

    # --- collections -------------------------------------------------------------------------

    def collections(self) -> list[Collection]:
        """All collections, by name."""
        with self._store.connect() as db:
            rows = db.execute(
                """
                SELECT k.name, k.description, k.generation,
                       count(DISTINCT d.id), count(c.id)
                FROM collections k
                LEFT JOIN documents d ON d.collection = k.name
                LEFT JOIN chunks c ON c.document_id = d.id
                GROUP BY ALL ORDER BY k.name
                """
            ).fetchall()
        return [Collection(*row) for row in rows]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Within this, the queries of one thread share one opening of the store."""
        with self._store.connect():
            yield

    def generations(self, names: Sequence[str]) -> dict[str, Generation]:
        """Collection name to generation, for the named collections that exist, or for all."""
        with self._store.connect() as db:
            rows = db.execute(
                """
                SELECT name, created, generation FROM collections
                WHERE len(?) = 0 OR list_contains(?, name) ORDER BY name
                """,
                [list(names), list(names)],
            ).fetchall()
        return {name: (created, generation) for name, created, generation in rows}

    def require_collections(self, names: Iterable[str]) -> list[Collection]:
        """The named collections, or all of them if no name is given.

        Raises:
            UnknownCollection: one of them does not exist.
        """
        known = {c.name: c for c in self.collections()}
        wanted = list(names) or list(known)
        for name in wanted:
            if name not in known:
                names_there = ", ".join(known) or "none yet"
                raise UnknownCollection(
                    f"There is no collection “{name}”; the library has: {names_there}.",
                    "Use one of these; `deepthink ingest PATH --collection NAME` makes a new one.",
                )
        return [known[name] for name in wanted]

    def describe_collection(self, name: str, description: str) -> None:
        """Make the collection if it is new; set its description unless ``description`` is empty."""
        with self._store.transaction() as db:
            _touch_collection(db, name)
            if description:
                db.execute("UPDATE collections SET description = ? WHERE name = ?", [description, name])

    def remove_collection(self, name: str) -> int:
        """Remove a collection, its documents and followed folders; returns how many documents there were.

        Raises:
            UnknownCollection: it does not exist.
        """
        self.require_collections([name])
        with self._store.transaction() as db:
            rows = db.execute("SELECT id FROM documents WHERE collection = ?", [name]).fetchall()
            ids = [row[0] for row in rows]
            for document_id in ids:
                _delete_document(db, document_id)
            db.execute("DELETE FROM collections WHERE name = ?", [name])
            db.execute("DELETE FROM folders WHERE collection = ?", [name])
            db.execute("DELETE FROM unreadable WHERE collection = ?", [name])
        return len(ids)

    # --- documents ---------------------------------------------------------------------------

    def documents(self, collection: str | None = None, filters: Filters = NO_FILTERS) -> list[Document]:
        """Stored documents with these facts, by collection and name."""
        facts, values = filters.where()
        condition = " AND ".join(["(? IS NULL OR d.collection = ?)", *facts])
        query = f"""
            FROM (
                SELECT d.*, count(c.id) AS chunks
                FROM documents d LEFT JOIN chunks c ON c.document_id = d.id
                WHERE {condition} GROUP BY ALL
            ) ORDER BY collection, name
        """
        with self._store.connect() as db:
            return select(db, Document, query, [collection, collection, *values])

    def put_document(
        self,
        document: NewDocument,
        vectors: npt.NDArray[np.float32],
        embedder: str,
        *,
        must_follow: bool = False,
    ) -> int:
        """Store a document, replacing the one of the same collection and source; returns its id.

        Everything happens in one transaction: a crash leaves the library as it was.

        Args:
            document: The document with its chunks.
            vectors: Shape ``(len(document.chunks), dimensions)``.
            embedder: Name of the model that made the vectors; those that another made are dropped.
            must_follow: Whether the collection must follow a folder, so that one that was removed during a
                sync does not come back. `UnknownCollection` if it does not.
        """
        with self._store.transaction() as db:
            following = "SELECT 1 FROM folders WHERE collection = ?"
            if must_follow and not db.execute(following, [document.collection]).fetchone():
                raise UnknownCollection(
                    f"The collection “{document.collection}” no longer follows a folder.",
                    "`deepthink ingest FOLDER` reads a folder, and follows it from then on.",
                )
            ensure_embedder(db, embedder, int(vectors.shape[1]))
            _touch_collection(db, document.collection)
            old = db.execute(
                "SELECT id FROM documents WHERE collection = ? AND source = ?",
                [document.collection, document.source],
            ).fetchall()
            for (old_id,) in old:
                _delete_document(db, old_id)
            document_id = _insert_document(db, document)
            _insert_chunks(db, document_id, document.chunks, vectors)
        return document_id

    def renew_document(self, document_id: int) -> None:
        """Date a document as ingested now: its source was read again and holds what it held.

        The collection's generation stays, as nothing that is searched has changed. An id that is gone
        is passed over.
        """
        with self._store.transaction() as db:
            db.execute("UPDATE documents SET ingested = ? WHERE id = ?", [now(), document_id])

    def date_files(self, modified: Mapping[int, int]) -> None:
        """Note when files that hold what they held were changed: document id to nanoseconds since 1970."""
        with self._store.transaction() as db:
            for document_id, when in modified.items():
                values = [when, now(), document_id]
                db.execute("UPDATE documents SET modified = ?, ingested = ? WHERE id = ?", values)

    def move_document(
        self,
        document_id: int,
        source: str,
        name: str,
        *,
        title: str | None = None,
        terms: Mapping[int, str] | None = None,
    ) -> None:
        """Give a document, and those of files inside its file, another source and name.

        Args:
            document_id: An id that is gone is passed over.
            title: The new title; None keeps it.
            terms: Space-joined keyword terms of chunks, by id, where they change with the title.
        """
        with self._store.transaction() as db:
            row = db.execute(
                "SELECT collection, source, name FROM documents WHERE id = ?", [document_id]
            ).fetchone()
            if row is None:
                return
            collection, old, called = row
            db.execute(
                """
                UPDATE documents SET source = ? || substr(source, ?), name = ? || substr(name, ?)
                WHERE collection = ? AND (source = ? OR starts_with(source, ?))
                """,
                [source, len(old) + 1, name, len(called) + 1, collection, old, f"{old}/"],
            )
            if title is not None:
                db.execute("UPDATE documents SET title = ? WHERE id = ?", [title, document_id])
            for chunk_id, words in (terms or {}).items():
                db.execute("UPDATE chunks SET terms = ? WHERE id = ?", [words, chunk_id])
            _touch_collection(db, collection)

    def remove_document(self, document_id: int) -> None:
        """Remove one document with its chunks and vectors.

        Raises:
            UnknownDocument: there is none with this id.
        """
        with self._store.transaction() as db:
            if not _delete_document(db, document_id):
                raise UnknownDocument(
                    f"There is no document {document_id}.", "`deepthink library` lists them."
                )

    # --- passages ----------------------------------------------------------------------------

    def passages(self, ids: Sequence[int]) -> list[Passage]:
        """The chunks with these ids, in the order asked for; ids that are gone are left out."""
        if not ids:
            return []
        with self._store.connect() as db:
            rows = db.execute(f"{_PASSAGE} WHERE c.id IN (SELECT unnest(?))", [list(ids)]).fetchall()
        by_id = {row[0]: Passage(*row) for row in rows}
        return [by_id[i] for i in ids if i in by_id]

    def document_passages(self, document_id: int) -> list[Passage]:
        """All chunks of a document in reading order."""
        with self._store.connect() as db:
            rows = db.execute(f"{_PASSAGE} WHERE d.id = ? ORDER BY c.position", [document_id]).fetchall()
        return [Passage(*row) for row in rows]

    def sections(self, scope: Scope) -> list[str]:
        """The distinct section paths within ``scope``, in reading order."""
        condition, values = scope.where()
        with self._store.connect() as db:
            rows = db.execute(
                f"""
                SELECT c.section FROM chunks c JOIN documents d ON d.id = c.document_id
                WHERE {condition} AND c.section <> ''
                GROUP BY c.section ORDER BY min(c.id)
                """,
                values,
            ).fetchall()
        return [row[0] for row in rows]

    def chunk_ids(self, scope: Scope) -> npt.NDArray[np.int64]:
        """Ids of all chunks within ``scope``, ascending."""
        condition, values = scope.where()
        with self._store.connect() as db:
            found = db.execute(
                f"""
                SELECT c.id FROM chunks c JOIN documents d ON d.id = c.document_id
                WHERE {condition} ORDER BY c.id
                """,
                values,
            ).fetchnumpy()
        return np.asarray(found["id"], dtype=np.int64)

    def terms(self, collection: str) -> Iterator[tuple[int, str]]:
        """``(chunk id, space-joined keyword terms)`` of every chunk of a collection, by id.

        In parts, the store being closed between them, so that other processes need not wait for all.
        """
        for some in _parts(self.chunk_ids(Scope(collections=(collection,))), _TEXTS):
            with self._store.connect() as db, _little_memory(db):
                rows = db.execute(
                    """
                    SELECT c.id, c.terms FROM chunks c JOIN documents d ON d.id = c.document_id
                    WHERE d.collection = ? AND c.id BETWEEN ? AND ? ORDER BY c.id
                    """,
                    [collection, int(some[0]), int(some[-1])],
                ).fetchall()
            yield from rows

    # --- vectors -----------------------------------------------------------------------------

    def embedder(self) -> str | None:
        """Name of the model that makes the library's vectors, None before the first document."""
        with self._store.connect() as db:
            row = db.execute("SELECT embedder FROM library").fetchone()
        return row[0] if row else None

    def vector_generations(self, names: Sequence[str]) -> dict[str, Generation]:
        """As `generations`, counting also the vectors that stored passages were given later."""
        with self.together(), self._store.connect() as db:
            row = db.execute("SELECT embedded FROM library").fetchone()
            later = row[0] if row else 0
            known = self.generations(names).items()
            return {name: (created, generation + later) for name, (created, generation) in known}

    def collection_vectors(
        self, collection: str, embedder: str
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        """The ids of a collection's chunks that have a vector by this model, ascending, and these vectors.

        In parts, as `terms`; one row of the vectors for each id.
        """
        ids = self.chunk_ids(Scope(collections=(collection,)))
        there = np.zeros(len(ids), dtype=np.bool_)
        vectors = np.zeros((len(ids), 0), dtype=np.float32)
        for some in _parts(ids, _VECTORS):
            # A cursor, for another query of this connection may not have been fetched to its end.
            with self._store.connect() as db, _little_memory(db), db.cursor() as own:
                made = own.execute(
                    "SELECT dimensions FROM library WHERE embedder = ?", [embedder]
                ).fetchall()
                if not made:  # another process may have changed it in between
                    return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
                if not vectors.shape[1]:
                    vectors = np.zeros((len(ids), made[0][0]), dtype=np.float32)
                stored = own.sql(
                    "SELECT chunk_id, vector FROM vectors WHERE chunk_id BETWEEN ? AND ?",
                    params=[int(some[0]), int(some[-1])],
                )
                for batch in stored.to_arrow_reader(_BATCH):
                    found = batch.column("chunk_id").to_numpy()
                    mine = np.isin(found, some)
                    flat = batch.column("vector").flatten().to_numpy()
                    rows = np.searchsorted(ids, found[mine])
                    vectors[rows] = flat.reshape(len(found), -1)[mine]
                    there[rows] = True
        return (ids, vectors) if there.all() else (ids[there], vectors[there])

    def embedded(self, embedder: str) -> tuple[int, int]:
        """How many chunks have a vector by this model, and how many chunks there are."""
        with self._store.connect() as db:
            [(chunks,)] = db.execute("SELECT count(*) FROM chunks").fetchall()
            made = db.execute("SELECT 1 FROM library WHERE embedder = ?", [embedder]).fetchone()
            if made is None:
                return 0, chunks
            [(vectors,)] = db.execute("SELECT count(*) FROM vectors").fetchall()
        return vectors, chunks

    def unembedded(self, embedder: str, limit: int) -> list[Unembedded]:
        """Some chunks that have no vector by this model, the first read first."""
        with self._store.connect() as db:
            made = db.execute("SELECT 1 FROM library WHERE embedder = ?", [embedder]).fetchone()
            lacking = "c.id NOT IN (SELECT chunk_id FROM vectors)" if made else "true"
            rows = db.execute(
                f"""
                SELECT c.id, d.title, c.section, c.text
                FROM chunks c JOIN documents d ON d.id = c.document_id
                WHERE {lacking} ORDER BY c.id LIMIT ?
                """,
                [limit],
            ).fetchall()
        return [
            Unembedded(chunk_id, title, tuple(section.split(SECTION_SEPARATOR)) if section else (), text)
            for chunk_id, title, section, text in rows
        ]

    def put_vectors(
        self, ids: Sequence[int], vectors: npt.NDArray[np.float32], embedder: str, *, first: bool
    ) -> bool:
        """Give stored chunks their vectors; whether that was done. Chunks that are gone are passed over.

        Args:
            ids: Chunk ids.
            vectors: Shape ``(len(ids), dimensions)``.
            embedder: Name of the model that made them.
            first: Whether vectors that another model made are dropped for them; else nothing is done
                where the library has meanwhile gone over to another.
        """
        with self._store.transaction() as db:
            if not first and db.execute("SELECT embedder FROM library").fetchall() != [(embedder,)]:
                return False
            ensure_embedder(db, embedder, int(vectors.shape[1]))
            _insert_vectors(db, ids, vectors)
            db.execute("UPDATE library SET embedded = embedded + 1")
        return True


# Chunks that are read while the store is open once; of two parts the texts are in memory.
_TEXTS = 10_000
_VECTORS = 50_000
_BATCH = 4_096  # vectors that are handed over at once


@contextmanager
def _little_memory(db: DuckDBPyConnection) -> Iterator[None]:
    """Keeps DuckDB from holding all that is read once: by default it fills most of the memory with it."""
    import duckdb

    try:
        db.execute("SET memory_limit = '128MB'")
    except duckdb.OutOfMemoryException:
        # Another thread uses more just now; the limit is for all of the process, so it is left as it is.
        yield
        return
    try:
        yield
    finally:
        db.execute("RESET memory_limit")


def _parts(ids: npt.NDArray[np.int64], size: int) -> Iterator[npt.NDArray[np.int64]]:
    for first in range(0, len(ids), size):
        yield ids[first : first + size]


_PASSAGE = """
    SELECT c.id, d.id, d.collection, d.name, d.title, d.date, c.section, c.page, c.position,
           c.kind, c.text, coalesce(nullif(d.author, ''), d.sender)
    FROM chunks c JOIN documents d ON d.id = c.document_id
"""


# --- rows, written within a transaction of the caller's --------------------------------------------


def ensure_embedder(db: DuckDBPyConnection, embedder: str, dimensions: int) -> None:
    """Have the library hold vectors of this model alone.

    Vectors of another model are dropped: two models' vectors are never searched together. Their passages
    stay, to be embedded again.
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


def _touch_collection(db: DuckDBPyConnection, name: str) -> None:
    """Make the collection if it is new, else raise its generation: what is searched has changed."""
    known = db.execute("SELECT 1 FROM collections WHERE name = ?", [name]).fetchone()
    if known:
        db.execute("UPDATE collections SET generation = generation + 1 WHERE name = ?", [name])
    else:
        db.execute("INSERT INTO collections VALUES (?, '', 1, ?)", [name, now()])


def _delete_document(db: DuckDBPyConnection, document_id: int) -> bool:
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
    _touch_collection(db, row[0])
    return True


def _insert_document(db: DuckDBPyConnection, document: NewDocument) -> int:
    """Store the document's own row, not its chunks; returns its id."""
    [(document_id,)] = db.execute("SELECT nextval('document_ids')").fetchall()
    row = {"id": document_id, **columns(document), "ingested": now()}
    del row["chunks"]
    insert(db, "documents", [row])
    return int(document_id)


def _insert_chunks(
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
    _insert_vectors(db, ids, vectors)


def _insert_vectors(db: DuckDBPyConnection, ids: Sequence[int], vectors: npt.NDArray[np.float32]) -> None:
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
