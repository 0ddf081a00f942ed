-- Feedback: for a decision, the action it should have been; for a run, how good its answer was.

CREATE TABLE labels (
    run_id   VARCHAR NOT NULL,
    seq      INTEGER NOT NULL,    -- of the decision within its run
    action   VARCHAR NOT NULL,
    origin   VARCHAR NOT NULL,    -- override (stepped in live), teach (teach mode), said (afterwards)
    note     VARCHAR NOT NULL,
    labelled TIMESTAMP NOT NULL,
    PRIMARY KEY (run_id, seq)     -- one label per decision: the last one counts
);

CREATE TABLE ratings (
    run_id VARCHAR PRIMARY KEY,
    rating VARCHAR NOT NULL,      -- good, partly, wrong
    note   VARCHAR NOT NULL,
    rated  TIMESTAMP NOT NULL
);

-- Decisions that a person took before there were labels; "answer now" does not judge the state.
INSERT INTO labels
SELECT run_id, seq, action, 'override', '', taken FROM decisions
WHERE source = 'human' AND justification = 'as you decided' AND NOT shadow;
