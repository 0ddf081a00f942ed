"""Taking over rows that were checked: what the store has stays, what it lacks is added, nothing doubles.

A decision never changes, so one that the store has otherwise under the same key belongs to other traces.
What people and measurements say may change: there the newer counts, as it does within one store. A run that
was imported before it ended is taken as it ended since. A question that was collected here too, which gives
its run the same id, stays as it was collected here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from traces.errors import DeepthinkError
from traces.exchange_table import DECISION, ENDING, GOLD, IDENTITY, RATING, RUNS, TABLE
from traces.run_records import COLLECTED

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class DifferentTraces(DeepthinkError):
    """Raised when the store has something else under the same key."""

    title = "The traces contradict those of the library"
    kind = "input"


def merge(db: DuckDBPyConnection, name: str, rows: str) -> dict[str, int]:
    """Take over checked rows within a transaction that is under way.

    Args:
        db: The store.
        name: The file that they are from, which imported runs are marked with.
        rows: The table that holds them, named as SQL names it.

    Returns:
        How many were added of: runs, decisions, labels, ratings, outcomes, gold; how many runs ``ended``
        since; how many decisions were ``known``; how many collected questions were ``collected`` here too.

    Raises:
        DifferentTraces: something of them is otherwise in the store.
    """
    runs = ", ".join(("run_id", *IDENTITY, *ENDING, *GOLD, *RATING))
    db.execute(f"CREATE OR REPLACE TEMP TABLE come AS SELECT * FROM {rows}")
    collected = _count(db, f"SELECT count(DISTINCT run_id) FROM come SEMI JOIN ({_TWICE}) USING (run_id)")
    db.execute(f"DELETE FROM come WHERE run_id IN (SELECT run_id FROM ({_TWICE}))")
    db.execute(f"CREATE OR REPLACE TEMP TABLE come_runs AS SELECT DISTINCT {runs} FROM come")
    for table, those in (("held_runs", RUNS), ("held", TABLE)):
        fitting = f"SELECT * FROM ({those}) WHERE run_id IN (SELECT run_id FROM come)"
        db.execute(f"CREATE OR REPLACE TEMP TABLE {table} AS {fitting}")
    for table in ("come", "held"):
        db.execute(f"CREATE OR REPLACE TEMP TABLE {table}_outcomes AS {_OUTCOMES.format(table)}")
    _refuse_contradictions(db)
    known = _count(db, "SELECT count(*) FROM come SEMI JOIN held USING (run_id, seq, shadow)")
    added = {what: _count(db, statement) for what, statement in _ADD.items()}
    db.execute(_MARK, [name])
    return {**added, "known": known, "collected": collected}


def _refuse_contradictions(db: DuckDBPyConnection) -> None:
    for about, query in _CONTRADICTIONS.items():
        row = db.execute(f"{query} LIMIT 1").fetchone()
        if row is not None:
            raise DifferentTraces(
                f"Run {row[0]}: {about.format(*row)}.",
                f"Nothing was imported. `deepthink runs show {row[0]}` shows the run here; if the file has "
                f"the right one, delete it: `deepthink runs delete {row[0]}`.",
            )


def _count(db: DuckDBPyConnection, statement: str) -> int:
    row = db.execute(statement).fetchone()
    return int(row[0]) if row else 0


def _differ(columns: Sequence[str]) -> str:
    return "(" + " OR ".join(f"c.{name} IS DISTINCT FROM h.{name}" for name in columns) + ")"


_TWICE = f"""
    SELECT c.run_id FROM come c JOIN ({RUNS}) AS h USING (run_id)
    WHERE c.status = '{COLLECTED}' AND h.status = '{COLLECTED}' AND c.started <> h.started
"""

_OUTCOMES = """
    SELECT run_id, path, o.source AS source, o.quality AS quality, CAST(o.detail AS VARCHAR) AS detail,
        o.measured AS measured
    FROM (
        SELECT run_id, path, unnest(from_json(outcomes,
            '[{{"source": "VARCHAR", "quality": "DOUBLE", "detail": "JSON", "measured": "VARCHAR"}}]')) AS o
        FROM {} WHERE NOT shadow
    )
"""

_CONTRADICTIONS = {
    "the library has another run of this id": f"""
        SELECT c.run_id FROM come_runs c JOIN held_runs h USING (run_id) WHERE {_differ(IDENTITY)}
        """,
    "the library has another end of it": f"""
        SELECT c.run_id FROM come_runs c JOIN held_runs h USING (run_id)
        WHERE c.finished = h.finished AND c.finished <> '' AND {_differ(ENDING)}
        """,
    "its decision {1} is another one in the library": f"""
        SELECT c.run_id, c.seq + 1 FROM come c JOIN held h USING (run_id, seq, shadow)
        WHERE {_differ(DECISION)} ORDER BY ALL
        """,
    "the library has another decision at the path “{1}”": """
        SELECT c.run_id, c.path FROM come c JOIN held h USING (run_id, path)
        WHERE NOT c.shadow AND NOT h.shadow AND c.seq <> h.seq ORDER BY ALL
        """,
    "the library knows another answer to its question": f"""
        SELECT c.run_id FROM come_runs c JOIN held_runs h USING (run_id)
        WHERE c.answers <> '' AND h.answers <> '' AND {_differ(GOLD)}
        """,
    "its decision {1} has another label of the same moment": f"""
        SELECT c.run_id, c.seq + 1 FROM come c JOIN held h USING (run_id, seq, shadow)
        WHERE c.labelled <> '' AND c.labelled = h.labelled
            AND {_differ(("label", "label_origin", "label_note"))} ORDER BY ALL
        """,
    "it has another rating of the same moment": f"""
        SELECT c.run_id FROM come_runs c JOIN held_runs h USING (run_id)
        WHERE c.rated <> '' AND c.rated = h.rated AND {_differ(RATING)}
        """,
    "the path “{1}” has another outcome of the same moment": f"""
        SELECT c.run_id, c.path
        FROM come_outcomes c JOIN held_outcomes h USING (run_id, path, source, measured)
        WHERE {_differ(("quality", "detail"))} ORDER BY ALL
        """,
}

_TOKENS = ", ".join(
    f"CAST(cost ->> '{name}' AS BIGINT) AS {name}"
    for name in ("model_calls", "evaluated", "reused", "generated")
)
_END = f"""
    standalone, status, stopped_because, answer, CAST(nullif(finished, '') AS TIMESTAMP) AS finished,
    CAST(cost ->> 'seconds' AS DOUBLE) AS seconds, {_TOKENS}
"""

# Runs come first: what is marked as imported is what this adds or brings to its end.
_ADD = {
    "ended": f"""
        UPDATE runs SET standalone = n.standalone, status = n.status, stopped_because = n.stopped_because,
            answer = n.answer, finished = n.finished, seconds = n.seconds, model_calls = n.model_calls,
            evaluated = n.evaluated, reused = n.reused, generated = n.generated,
            request = json_merge_patch(
                n.request, json_object('imported_from', runs.request ->> 'imported_from'))
        FROM (
            SELECT c.run_id, c.request, {_END} FROM come_runs c
            WHERE c.finished > (SELECT h.finished FROM held_runs h WHERE h.run_id = c.run_id)
        ) AS n
        WHERE n.run_id = runs.id AND json_exists(runs.request, '$.imported_from')
        """,
    "runs": f"""
        INSERT INTO runs BY NAME
        SELECT run_id AS id, question, profile, chat_model, embedder, reranker, decider, collections,
            CAST(started AS TIMESTAMP) AS started, '' AS session, request, -2 AS superstep, {_END}
        FROM come_runs ANTI JOIN held_runs USING (run_id) ORDER BY started, run_id
        """,
    "decisions": f"""
        INSERT INTO decisions BY NAME
        SELECT run_id, seq, shadow, {", ".join(DECISION[:6])}, CAST(to_json(valid_actions) AS VARCHAR)
                AS valid_actions, {", ".join(DECISION[7:-1])}, CAST(taken AS TIMESTAMP) AS taken
        FROM come ANTI JOIN held USING (run_id, seq, shadow) ORDER BY come.started, run_id, seq, shadow
        """,
    "labels": """
        INSERT OR REPLACE INTO labels BY NAME
        SELECT c.run_id, c.seq, c.label AS action, c.label_origin AS origin, c.label_note AS note,
            CAST(c.labelled AS TIMESTAMP) AS labelled
        FROM come c LEFT JOIN held h USING (run_id, seq, shadow)
        WHERE NOT c.shadow AND c.labelled > coalesce(h.labelled, '')
        """,
    "ratings": """
        INSERT OR REPLACE INTO ratings BY NAME
        SELECT c.run_id, c.rating, c.rating_note AS note, CAST(c.rated AS TIMESTAMP) AS rated
        FROM come_runs c LEFT JOIN held_runs h USING (run_id) WHERE c.rated > coalesce(h.rated, '')
        """,
    "outcomes": """
        INSERT OR REPLACE INTO outcomes BY NAME
        SELECT c.run_id, c.path, c.source, c.quality, c.detail, CAST(c.measured AS TIMESTAMP) AS measured
        FROM come_outcomes c LEFT JOIN held_outcomes h USING (run_id, path, source)
        WHERE c.measured > coalesce(h.measured, '')
        """,
    "gold": """
        INSERT INTO gold BY NAME
        SELECT c.run_id, c.dataset, c.question_id, c.answers, c.passages
        FROM come_runs c LEFT JOIN held_runs h USING (run_id)
        WHERE c.answers <> '' AND coalesce(h.answers, '') = ''
        """,
}

_MARK = """
    UPDATE runs SET request = json_merge_patch(request, json_object('imported_from', ?))
    WHERE id IN (SELECT run_id FROM come_runs ANTI JOIN held_runs USING (run_id))
"""
