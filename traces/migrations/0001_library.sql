-- The library. `vectors` is created by the first ingestion, because its column type includes the
-- embedder's number of dimensions. No foreign keys or unique constraints beside the primary keys:
-- DuckDB checks them eagerly, which prevents "delete, then insert again" inside one transaction.

CREATE TABLE library (
    embedder   VARCHAR NOT NULL,
    dimensions INTEGER NOT NULL
);

CREATE TABLE collections (
    name        VARCHAR PRIMARY KEY,
    description VARCHAR NOT NULL DEFAULT '',
    generation  BIGINT  NOT NULL DEFAULT 0,  -- grows with every change of its documents
    created     TIMESTAMP NOT NULL
);

CREATE SEQUENCE document_ids;
CREATE TABLE documents (
    id         BIGINT PRIMARY KEY,
    collection VARCHAR NOT NULL,
    source     VARCHAR NOT NULL,   -- absolute path or URL; unique within its collection
    name       VARCHAR NOT NULL,   -- the user-visible name: the path relative to what was ingested
    title      VARCHAR NOT NULL,
    media_type VARCHAR NOT NULL,
    sha256     VARCHAR NOT NULL,
    bytes      BIGINT  NOT NULL,
    pages      INTEGER,
    date       VARCHAR NOT NULL,   -- ISO date stated in the document, or ''
    coverage   DOUBLE  NOT NULL,   -- share of its visible text that ended up in chunks
    notices    VARCHAR NOT NULL,   -- JSON list of sentences
    reader     INTEGER NOT NULL,   -- version of reading and chunking that made the chunks
    ingested   TIMESTAMP NOT NULL
);

CREATE SEQUENCE chunk_ids;
CREATE TABLE chunks (
    id          BIGINT PRIMARY KEY,
    document_id BIGINT  NOT NULL,
    position    INTEGER NOT NULL,
    kind        VARCHAR NOT NULL,
    section     VARCHAR NOT NULL,  -- headings above it, outermost first, joined by ' › '
    page        INTEGER,
    text        VARCHAR NOT NULL,
    terms       VARCHAR NOT NULL   -- normalised keyword terms, space-joined
);
