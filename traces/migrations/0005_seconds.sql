-- Duration of a run: seconds spent running, without the time between interruption and resumption. Every
-- event records the seconds since the run began, so the last event of a finished run has the total.

ALTER TABLE runs ADD COLUMN seconds DOUBLE;  -- NULL while it runs, or if it was killed

UPDATE runs SET seconds = spent.seconds
FROM (SELECT run_id, max(elapsed) AS seconds FROM events GROUP BY run_id) AS spent
WHERE spent.run_id = runs.id AND runs.finished IS NOT NULL;
