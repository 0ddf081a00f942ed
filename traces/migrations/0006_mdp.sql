-- Decisions as steps of a Markov decision process. A state is reached by a path, the first letters of the
-- actions taken since the first decision: '' for the first one, 'CR' after CONTINUE and REVISE. Collected
-- questions have many paths in one run; a user's run has one.

ALTER TABLE decisions ADD COLUMN path VARCHAR DEFAULT '';
ALTER TABLE decisions ADD COLUMN text VARCHAR DEFAULT '';        -- the state as text, as a reader saw it
ALTER TABLE decisions ADD COLUMN features VARCHAR DEFAULT '{}';  -- the state as numbers: JSON object

UPDATE decisions SET path = coalesce(earlier.path, '') FROM (
    SELECT run_id, seq, string_agg(left(action, 1), '') OVER (
        PARTITION BY run_id ORDER BY seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) AS path FROM decisions WHERE NOT shadow
) AS earlier WHERE earlier.run_id = decisions.run_id AND earlier.seq = decisions.seq;

-- The quality of the answer of a run that finishes, or would finish, at a path.
CREATE TABLE outcomes (
    run_id   VARCHAR NOT NULL,
    path     VARCHAR NOT NULL,   -- of a decision of the run
    source   VARCHAR NOT NULL,   -- answer (F1 against gold), evidence (gold passages held), verifier (share supported)
    quality  DOUBLE  NOT NULL CHECK (quality BETWEEN 0 AND 1),
    detail   VARCHAR NOT NULL,   -- JSON object: the measures behind it
    measured TIMESTAMP NOT NULL,
    PRIMARY KEY (run_id, path, source),
    CHECK (source IN ('answer', 'evidence', 'verifier'))
);

-- The known answer to a question.
CREATE TABLE gold (
    run_id      VARCHAR PRIMARY KEY,
    dataset     VARCHAR NOT NULL,
    question_id VARCHAR NOT NULL,
    answers     VARCHAR NOT NULL,   -- JSON list
    passages    VARCHAR NOT NULL    -- JSON list: what supports the answer, as the data set names it
);

-- The verifier's share for each answer of a run: the last answer before the next decision. The n-th decision
-- is reported by the n-th event Decided. A measured share (in outcomes) takes precedence.
CREATE VIEW verdicts AS
SELECT d.run_id, d.path, a.share AS quality, coalesce(r.finished, r.started) AS measured
FROM (
    SELECT run_id, decided - 1 AS seq, last(CAST(payload ->> 'share' AS DOUBLE) ORDER BY event) AS share
    FROM (
        SELECT run_id, seq AS event, kind, payload,
            count_if(kind = 'Decided') OVER (PARTITION BY run_id ORDER BY seq) AS decided
        FROM events WHERE kind IN ('Decided', 'Answered')
    ) WHERE kind = 'Answered' GROUP BY run_id, decided
) AS a
JOIN decisions d ON d.run_id = a.run_id AND d.seq = a.seq AND NOT d.shadow AND d.action = 'FINISH'
JOIN runs r ON r.id = a.run_id
ANTI JOIN outcomes o ON o.run_id = d.run_id AND o.path = d.path AND o.source = 'verifier'
WHERE a.share IS NOT NULL;

-- The quality of finishing at a path, by every source: a measured outcome, the user's rating of the run's
-- last answer, their label of the decision, the share of the answer that the verifier supports.
CREATE VIEW qualities AS
SELECT run_id, path, source, quality,
    list_position(['answer', 'evidence', 'rating', 'override', 'verifier'], source) AS rank
FROM (
    SELECT run_id, path, source, quality FROM outcomes
    UNION ALL
    SELECT d.run_id, d.path, 'rating', CASE r.rating WHEN 'good' THEN 1.0 WHEN 'partly' THEN 0.5 ELSE 0.0 END
    FROM ratings r JOIN (
        SELECT run_id, arg_max(path, seq) AS path FROM decisions WHERE NOT shadow
        GROUP BY run_id HAVING arg_max(action, seq) = 'FINISH'
    ) AS d ON d.run_id = r.run_id
    UNION ALL
    SELECT d.run_id, d.path, 'override', CASE l.action WHEN 'FINISH' THEN 1.0 ELSE 0.0 END
    FROM labels l JOIN decisions d ON d.run_id = l.run_id AND d.seq = l.seq AND NOT d.shadow
    UNION ALL
    SELECT run_id, path, 'verifier', quality FROM verdicts
);

-- The source that counts, if there are several.
CREATE VIEW finishes AS
SELECT run_id, path, arg_min(source, rank) AS source, arg_min(quality, rank) AS quality
FROM qualities GROUP BY run_id, path;

-- (state, action, reward, next_state, done). Every step but the last has the reward 0: the learner sets the
-- cost of a step. A FINISH that was not measured, or not valid, is not a transition. The behaviour
-- probability is that of the step the run took; NULL for transitions that the run did not take.
CREATE VIEW transitions AS
SELECT d.run_id, d.seq, d.path, d.state_version, d.text AS state, d.features,
    'FINISH' AS action, f.quality AS reward, f.source AS reward_source,
    NULL AS next_seq, NULL AS next_state, true AS done,
    CASE WHEN d.action = 'FINISH' THEN d.behaviour_probability END AS behaviour_probability
FROM decisions d JOIN finishes f ON f.run_id = d.run_id AND f.path = d.path
WHERE NOT d.shadow AND (d.action = 'FINISH' OR contains(d.valid_actions, '"FINISH"'))
UNION ALL
SELECT d.run_id, d.seq, d.path, d.state_version, d.text, d.features, n.action, 0.0, '', n.seq, n.text, false,
    CASE WHEN d.action = n.action THEN d.behaviour_probability END
FROM decisions d JOIN (
    SELECT run_id, seq, text, left(path, length(path) - 1) AS before,
        CASE right(path, 1) WHEN 'C' THEN 'CONTINUE' ELSE 'REVISE' END AS action
    FROM decisions WHERE NOT shadow AND right(path, 1) IN ('C', 'R')
) AS n ON n.run_id = d.run_id AND n.before = d.path
WHERE NOT d.shadow;
