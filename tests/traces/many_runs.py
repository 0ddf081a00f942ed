"""A store of very many runs, made in one go: for tests and measurements of what has to stay fast."""

from __future__ import annotations

from traces.store import Store

EVENTS = 40
"""Stored for each run, its beginning and its end included."""
DECISIONS = 3
"""Taken in each run; every fifth run has a shadow decision beside each."""

_RUNS = """
INSERT INTO runs (id, question, profile, chat_model, embedder, reranker, decider, collections, status,
    stopped_because, answer, started, finished, model_calls, evaluated, reused, generated, session,
    standalone, request, superstep, seconds)
SELECT substr(md5(i::VARCHAR), 1, 12),
    format('What did company {} say about {} in {}?', i % 1000,
        ['revenue', 'risks', 'suppliers', 'research', 'staff', 'prices', '100%_growth'][1 + i % 7],
        2000 + i % 25),
    'lean', 'qwen2.5-coder-0.5b', 'all-MiniLM-L6-v2', '', 'rules', '["filings"]',
    CASE i % 20 WHEN 0 THEN 'not_found' WHEN 1 THEN 'failed' WHEN 2 THEN 'cancelled' ELSE 'answered' END,
    'rules: every step of the plan has its finding',
    format('Company {} named {} [1]. ', i % 1000, md5((i * 7)::VARCHAR))
        || repeat('It repeated this in its report of the year [2]. ', 12),
    TIMESTAMP '2025-01-01' + to_minutes(30 * i), TIMESTAMP '2025-01-01' + to_minutes(30 * i + 1),
    6, 4000, 9000, 400, substr(md5((i // 10)::VARCHAR), 1, 8), '', '{}', 30, 60
FROM range(?) AS t(i)
"""

_SESSIONS = """
INSERT INTO sessions SELECT session, '', min(started) FROM runs WHERE session <> '' GROUP BY session
"""

_EVENTS = f"""
INSERT INTO events
SELECT id, n, n * 1.5,
    CASE n WHEN 0 THEN 'RunStarted' WHEN {EVENTS - 2} THEN 'Answered' WHEN {EVENTS - 1} THEN 'RunFinished'
        ELSE ['NodeStarted', 'NotebookGrew', 'NodeFinished'][1 + n % 3] END,
    CASE
        WHEN n = 0 THEN json_object('run_id', id, 'question', question, 'profile', profile,
            'chat_model', chat_model, 'embedder', embedder, 'reranker', '', 'decider', decider,
            'collections', ['filings'], 'session', session)
        WHEN n = {EVENTS - 2} THEN json_object('answer', answer, 'sentences', [], 'sources', [],
            'share', 1.0, 'grounded', true)
        WHEN n = {EVENTS - 1} THEN json_object('status', status, 'stopped_because', stopped_because,
            'seconds', 60.0, 'model_calls', model_calls, 'evaluated', evaluated, 'reused', reused,
            'generated', generated)
        WHEN n % 3 = 0 THEN json_object('node', 'retrieve', 'step', 1 + n // 13)
        WHEN n % 3 = 1 THEN json_object('entry', repeat(md5(id || n::VARCHAR) || ' ', 10))
        ELSE json_object('node', 'retrieve', 'step', 1 + n // 13, 'seconds', 1.5)
    END
FROM runs, range({EVENTS}) AS t(n) ORDER BY started, n
"""

_DECISIONS = f"""
INSERT INTO decisions
SELECT id, n, n + 1, 2,
    json_object('question', question, 'step', n + 1, 'open_questions', ['What else?'],
        'evidence', [json_object('title', 'Annual report', 'excerpt', repeat(md5(id), 10))]),
    '["CONTINUE", "REVISE", "FINISH"]', acted,
    json_object('CONTINUE', CAST(acted = 'CONTINUE' AS DOUBLE), 'REVISE', CAST(acted = 'REVISE' AS DOUBLE),
        'FINISH', CAST(acted = 'FINISH' AS DOUBLE)),
    1.0, source, 0.1, '', source = 'llm', started + to_seconds(15 * n), repeat('C', n), '', '{{}}'
FROM (
    SELECT id, question, started, n, source,
        CASE
            WHEN source = 'llm' AND hash(id, n) % 4 = 0 THEN 'REVISE'
            WHEN n = {DECISIONS - 1} THEN 'FINISH' ELSE 'CONTINUE'
        END AS acted
    FROM runs, range({DECISIONS}) AS t(n), (VALUES ('rules'), ('llm')) AS s(source)
    WHERE source = 'rules' OR hash(id) % 5 = 0
) ORDER BY started, n
"""

_LABELS = """
INSERT INTO labels
SELECT run_id, seq, CASE hash(seq, run_id) % 3 WHEN 0 THEN 'FINISH' ELSE action END, 'said', '', taken
FROM decisions WHERE NOT shadow AND hash(run_id, seq) % 20 = 0
"""

_RATINGS = """
INSERT INTO ratings
SELECT id, ['good', 'good', 'partly', 'wrong'][1 + (hash(id, 'rating') % 4)::INTEGER], '', finished
FROM runs WHERE hash(id) % 10 = 0
"""


def fill(store: Store, runs: int = 10_000) -> None:
    """Fill an empty store with runs, half an hour apart, ten to a session, all of the same size.

    The database makes them itself, in seconds where storing them one by one takes many minutes. What is
    in them follows from their number alone, so that two such stores are the same.
    """
    with store.transaction() as db:
        db.execute(_RUNS, [runs])
        for statement in (_SESSIONS, _EVENTS, _DECISIONS, _LABELS, _RATINGS):
            db.execute(statement)
