-- What a run took: seconds spent running, without those between being cut off and resumed. Every event
-- tells them since the run began, so the last one of a run that ended has them.

ALTER TABLE runs ADD COLUMN seconds DOUBLE;  -- NULL while it runs, or if it was killed

UPDATE runs SET seconds = spent.seconds
FROM (SELECT run_id, max(elapsed) AS seconds FROM events GROUP BY run_id) AS spent
WHERE spent.run_id = runs.id AND runs.finished IS NOT NULL;
