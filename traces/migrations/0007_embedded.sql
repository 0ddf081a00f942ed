-- Passages may be stored without a vector, if the embedder of the library was changed. `embedded` grows with
-- every change of the vectors that does not change the documents.

ALTER TABLE library ADD COLUMN embedded BIGINT DEFAULT 0;
