-- A step that found nothing may be tried further: MORE passages, other WORDS, or ASK the language model.

CREATE OR REPLACE VIEW transitions AS
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
    SELECT run_id, seq, text, left(path, length(path) - 1) AS before, CASE right(path, 1)
        WHEN 'C' THEN 'CONTINUE' WHEN 'R' THEN 'REVISE' WHEN 'M' THEN 'MORE' WHEN 'W' THEN 'WORDS' ELSE 'ASK'
        END AS action
    FROM decisions WHERE NOT shadow AND right(path, 1) IN ('C', 'R', 'M', 'W', 'A')
) AS n ON n.run_id = d.run_id AND n.before = d.path
WHERE NOT d.shadow;
