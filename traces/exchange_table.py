"""The table that traces are exported as: one row per decision, second opinions included.

A file of it, Parquet or JSONL, stands by itself: every row tells its run too, so that any number of exports
read as one table (``read_parquet('exports/*.parquet')``). No cell is ever empty, so that whatever reads a
file finds the same types in all of its parts. Times are ISO text in UTC and "" where there is none; objects
and lists of objects are JSON text.

The run, the same in each of its rows:

| column | what |
| --- | --- |
| ``format`` | version of this table, 1 |
| ``run_id``, ``question``, ``standalone`` | the run, its question, and that as a question of its own |
| ``dataset``, ``question_id``, ``answers``, ``passages`` | gold, the last two JSON; "" if unknown |
| ``profile``, ``chat_model``, ``embedder``, ``reranker``, ``decider``, ``collections`` | what it ran with |
| ``status``, ``stopped_because``, ``answer``, ``started``, ``finished`` | how it ended |
| ``cost`` | JSON: ``seconds``, ``model_calls``, ``evaluated``, ``reused``, ``generated`` (tokens) |
| ``request`` | JSON: what it was started with |
| ``rating``, ``rating_note``, ``rated`` | what the person said of its answer |

The decision:

| column | what |
| --- | --- |
| ``seq``, ``shadow``, ``step``, ``path`` | its place; ``shadow`` is true for a second opinion |
| ``state_version``, ``text``, ``features``, ``state`` | the state as text, as numbers and whole (JSON) |
| ``valid_actions``, ``action``, ``probabilities`` | a list of text, text, JSON by action |
| ``behaviour_probability``, ``source``, ``latency_ms``, ``justification``, ``taken`` | who decided, how |
| ``label``, ``label_origin``, ``label_note``, ``labelled`` | what a person said it should have been |
| ``outcomes`` | JSON list of ``source``, ``quality``, ``detail``, ``measured``: finishing in this state |
| ``quality``, ``quality_source`` | of those and of what people said, the one that counts |

Where nothing is known of a state, ``quality_source`` is "" and ``quality`` means nothing. Both follow from
the rest and are not read on import.

Not in it: the events of a run, which are for replaying it, and its session. An outcome of a path without a
decision is no part of the process.
"""

from __future__ import annotations

FORMAT = 1

IDENTITY = (
    "question",
    "profile",
    "chat_model",
    "embedder",
    "reranker",
    "decider",
    "collections",
    "started",
)
"""What a run began with: two runs that differ in it are not the same."""
ENDING = ("standalone", "status", "stopped_because", "answer", "finished", "cost", "request")
"""What a run has once it ended; it changes if the run is resumed."""
GOLD = ("dataset", "question_id", "answers", "passages")
RATING = ("rating", "rating_note", "rated")
DECISION = (
    "step",
    "path",
    "state_version",
    "text",
    "features",
    "state",
    "valid_actions",
    "action",
    "probabilities",
    "behaviour_probability",
    "source",
    "latency_ms",
    "justification",
    "taken",
)
"""What a decision is, beside its key (run_id, seq, shadow)."""

_OTHER_TYPES = {
    "format": "INTEGER",
    "seq": "INTEGER",
    "shadow": "BOOLEAN",
    "step": "INTEGER",
    "state_version": "INTEGER",
    "valid_actions": "VARCHAR[]",
    "behaviour_probability": "DOUBLE",
    "latency_ms": "DOUBLE",
    "quality": "DOUBLE",
}
_DERIVED = ("quality", "quality_source")

_ISO = "'%Y-%m-%dT%H:%M:%S.%f'"

RUNS = f"""
SELECT {FORMAT} AS format, r.id AS run_id, r.question, coalesce(r.standalone, '') AS standalone,
    coalesce(g.dataset, '') AS dataset, coalesce(g.question_id, '') AS question_id,
    coalesce(g.answers, '') AS answers, coalesce(g.passages, '') AS passages,
    r.profile, r.chat_model, r.embedder, r.reranker, r.decider, r.collections,
    r.status, r.stopped_because, r.answer,
    strftime(r.started, {_ISO}) AS started, coalesce(strftime(r.finished, {_ISO}), '') AS finished,
    CAST(json_object('seconds', r.seconds, 'model_calls', r.model_calls, 'evaluated', r.evaluated,
        'reused', r.reused, 'generated', r.generated) AS VARCHAR) AS cost,
    CAST(json_merge_patch(coalesce(r.request, '{{}}'), '{{"imported_from": null}}') AS VARCHAR) AS request,
    coalesce(t.rating, '') AS rating, coalesce(t.note, '') AS rating_note,
    coalesce(strftime(t.rated, {_ISO}), '') AS rated
FROM runs r LEFT JOIN gold g ON g.run_id = r.id LEFT JOIN ratings t ON t.run_id = r.id
"""
"""The runs of a store as rows of the table have them."""

TABLE = f"""
SELECT run.*, d.seq, d.shadow, d.step, d.path, d.state_version, d.text, d.features, d.state,
    from_json(d.valid_actions, '["VARCHAR"]') AS valid_actions, d.action, d.probabilities,
    d.behaviour_probability, d.source, d.latency_ms, d.justification, strftime(d.taken, {_ISO}) AS taken,
    coalesce(l.action, '') AS label, coalesce(l.origin, '') AS label_origin,
    coalesce(l.note, '') AS label_note, coalesce(strftime(l.labelled, {_ISO}), '') AS labelled,
    coalesce(o.outcomes, '[]') AS outcomes,
    coalesce(f.quality, 0.0) AS quality, coalesce(f.source, '') AS quality_source
FROM ({RUNS}) AS run
JOIN decisions d ON d.run_id = run.run_id
LEFT JOIN labels l ON l.run_id = d.run_id AND l.seq = d.seq AND NOT d.shadow
LEFT JOIN (
    SELECT run_id, path, CAST(to_json(list(
        {{source: source, quality: quality, detail: CAST(detail AS JSON),
            measured: strftime(measured, {_ISO})}} ORDER BY source)) AS VARCHAR) AS outcomes
    FROM (
        SELECT run_id, path, source, quality, detail, measured FROM outcomes
        UNION ALL
        SELECT run_id, path, 'verifier', quality, '{{}}', measured FROM verdicts
    ) GROUP BY run_id, path
) AS o ON o.run_id = d.run_id AND o.path = d.path AND NOT d.shadow
LEFT JOIN finishes f ON f.run_id = d.run_id AND f.path = d.path AND NOT d.shadow
"""
"""The decisions of a store as rows of the table."""

ORDER = "ORDER BY started, run_id, seq, shadow"

COLUMNS = {
    name: _OTHER_TYPES.get(name, "VARCHAR")
    for name in (
        "format",
        "run_id",
        *("question", "standalone", *GOLD, *IDENTITY[1:-1]),
        *("status", "stopped_because", "answer", "started", "finished", "cost", "request"),
        *RATING,
        *("seq", "shadow", *DECISION),
        *("label", "label_origin", "label_note", "labelled", "outcomes"),
    )
}
"""Name and DuckDB type of every column that an import reads."""
