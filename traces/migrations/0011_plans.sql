-- For a run, the look-ups that it should have planned, by the user.

CREATE TABLE plans (
    run_id    VARCHAR PRIMARY KEY,
    lookups   VARCHAR NOT NULL,   -- JSON list of pairs: the collection, "" for all, and the question
    corrected TIMESTAMP NOT NULL
);
