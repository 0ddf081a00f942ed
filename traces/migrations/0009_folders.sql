-- Folders that a collection follows, their unreadable files, and the changes of the other files;
-- and facts about a document's file: who sent it and when it was last changed.

CREATE TABLE folders (
    collection VARCHAR NOT NULL,
    path       VARCHAR NOT NULL,   -- absolute, links resolved
    exclude    VARCHAR NOT NULL    -- JSON list of patterns as in .gitignore
);

CREATE TABLE unreadable (
    collection VARCHAR NOT NULL,
    source     VARCHAR NOT NULL,
    bytes      BIGINT  NOT NULL,
    modified   BIGINT  NOT NULL,   -- nanoseconds since 1970
    reader     INTEGER NOT NULL    -- version of reading that failed
);

CREATE TABLE changes (
    seen       TIMESTAMP NOT NULL, -- the same for all changes found in one scan
    collection VARCHAR NOT NULL,
    outcome    VARCHAR NOT NULL,   -- added, updated, moved, removed, failed, away
    source     VARCHAR NOT NULL,
    name       VARCHAR NOT NULL,
    detail     VARCHAR NOT NULL    -- the previous name, or the problem
);

ALTER TABLE documents ADD COLUMN sender VARCHAR DEFAULT '';   -- of the mail that it is, or is attached to
ALTER TABLE documents ADD COLUMN modified BIGINT DEFAULT 0;   -- of its file, nanoseconds since 1970; 0 if unknown
