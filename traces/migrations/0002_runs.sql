-- Runs. A run is its question, its settings and its events; every decision is one row with
-- the state exactly as the decider saw it.

CREATE TABLE runs (
    id              VARCHAR PRIMARY KEY,
    question        VARCHAR NOT NULL,
    profile         VARCHAR NOT NULL,
    chat_model      VARCHAR NOT NULL,
    embedder        VARCHAR NOT NULL,
    reranker        VARCHAR NOT NULL,
    decider         VARCHAR NOT NULL,
    collections     VARCHAR NOT NULL,  -- JSON list
    status          VARCHAR NOT NULL,  -- running, answered, not_found, failed, cancelled
    stopped_because VARCHAR NOT NULL,
    answer          VARCHAR NOT NULL,
    started         TIMESTAMP NOT NULL,
    finished        TIMESTAMP,
    model_calls     BIGINT NOT NULL,
    evaluated       BIGINT NOT NULL,
    reused          BIGINT NOT NULL,
    generated       BIGINT NOT NULL
);

CREATE TABLE events (
    run_id  VARCHAR NOT NULL,
    seq     INTEGER NOT NULL,
    elapsed DOUBLE  NOT NULL,          -- seconds since the run began
    kind    VARCHAR NOT NULL,
    payload VARCHAR NOT NULL           -- JSON
);

CREATE TABLE decisions (
    run_id                VARCHAR NOT NULL,
    seq                   INTEGER NOT NULL,   -- 0-based order within the run
    step                  INTEGER NOT NULL,   -- research steps finished at the time
    state_version         INTEGER NOT NULL,
    state                 VARCHAR NOT NULL,   -- JSON, exactly as the decider saw it
    valid_actions         VARCHAR NOT NULL,   -- JSON list
    action                VARCHAR NOT NULL,
    probabilities         VARCHAR NOT NULL,   -- JSON object, one entry per action
    behaviour_probability DOUBLE  NOT NULL,   -- of the action taken, under its source
    source                VARCHAR NOT NULL,   -- rules, llm, learned, human, budget
    latency_ms            DOUBLE  NOT NULL,
    justification         VARCHAR NOT NULL,
    shadow                BOOLEAN NOT NULL,   -- recorded for comparison, not acted on
    taken                 TIMESTAMP NOT NULL
);
