-- Passages may be stored without a vector: those of a library whose embedder was changed. `embedded` grows with
-- every change of the vectors that is no change of the documents.

ALTER TABLE library ADD COLUMN embedded BIGINT DEFAULT 0;
