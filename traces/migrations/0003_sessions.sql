-- Sessions: runs that belong to one conversation. A run also keeps the request it was started with, so
-- that it can be resumed, and how far its events are stored, so that a resumed run stores none twice.

CREATE TABLE sessions (
    id      VARCHAR PRIMARY KEY,
    name    VARCHAR NOT NULL,           -- '' until the user names it; otherwise unique
    created TIMESTAMP NOT NULL
);

ALTER TABLE runs ADD COLUMN session VARCHAR DEFAULT '';     -- '' for runs from before there were sessions
ALTER TABLE runs ADD COLUMN standalone VARCHAR DEFAULT '';  -- the question, reworded to stand alone
ALTER TABLE runs ADD COLUMN request VARCHAR DEFAULT '{}';   -- JSON: what the run was started with
ALTER TABLE runs ADD COLUMN superstep INTEGER DEFAULT -2;   -- the last one whose events are stored
