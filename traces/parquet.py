"""Export traces to Parquet files and import them, with DuckDB's `COPY`.

A file has one row per decision, second opinions included, and is self-contained: every row includes its
run. So any number of exports can be read as one table (``read_parquet('exports/*.parquet')``). Its columns
are those of the store's tables: ``runs`` (``id`` as ``run_id``), ``gold``, ``ratings`` (``rating_note``),
``decisions``, and ``labels`` (``label``, ``label_origin``, ``label_note``, ``labelled``). ``outcomes`` are
the measured worths of finishing in the state; ``quality`` and ``quality_source`` are the one that counts.
The events of a run and its session are not exported.
"""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traces.errors import DeepthinkError
from traces.runs import RUN_ID
from traces.store import Store, is_full, literal

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


class NoTraces(DeepthinkError, title="Nothing to export", kind="usage"):
    """Raised when there is nothing to export."""


class BadTraces(DeepthinkError, title="These traces cannot be imported", kind="input"):
    """Raised when a file is not an export of traces, or contains rows that must not be learned from."""


@dataclass(frozen=True, slots=True)
class Exported:
    """The contents of a file: ``decisions`` include the ``shadows``."""

    runs: int
    decisions: int
    shadows: int


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import."""

    runs: int
    decisions: int  # new decisions, second opinions included
    known: int  # decisions that the store already had
    labels: int  # new or newer labels; ratings and outcomes likewise; new gold
    ratings: int
    outcomes: int
    gold: int
    older: int  # decisions whose state is older than can be read: kept, not learned from


def export(store: Store, target: Path) -> Exported:
    """Write all decisions to a Parquet file, which replaces ``target`` once it is complete.

    Raises `NoTraces` if there is none, and `OSError` if the file cannot be written.
    """
    import duckdb

    part = target.with_name(f".{target.name}.part")
    try:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        part.touch()
        with store.connect() as db:
            db.execute(f"CREATE OR REPLACE TEMP TABLE exported AS {_TABLE}")
            counts = "SELECT count(DISTINCT run_id), count(*), count_if(shadow) FROM exported"
            [row] = db.execute(counts).fetchall()
            exported = Exported(*row)
            if not exported.decisions:
                raise NoTraces("No decision is stored yet.", "`deepthink traces list` shows what there is.")
            try:
                order = "ORDER BY started, run_id, seq, shadow"
                db.execute(
                    f"COPY (FROM exported {order}) TO {literal(part)} (FORMAT parquet, COMPRESSION zstd)"
                )
            except duckdb.Error as error:
                if is_full(error):  # the disk of the file, not necessarily of the store
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
                raise
            db.execute("DROP TABLE exported")
        part.replace(target)
    except OSError as error:  # report the requested file
        raise OSError(error.errno, error.strerror, str(target)) from error
    finally:
        part.unlink(missing_ok=True)
    return exported


def take_in(store: Store, sources: Sequence[Path], *, newest: int, oldest: int) -> Imported:
    """Import files that `export` wrote, all or none; ``newest`` is the current version of the state, and
    ``oldest`` the first that can still be read.

    A run that the store already has is not changed, unless it was imported before it ended. For labels,
    ratings and outcomes the newer one counts. An imported run keeps its status and has the file's name as
    ``imported_from`` in its request; it has no checkpoint, so it is never offered for resuming. Raises
    `BadTraces` if a file is not an export, or a row of it is invalid, and `OSError` if a file cannot be
    read.
    """
    import duckdb

    tables = []
    for source in sources:
        source.open("rb").close()  # the operating system's error is clearer than the database's
        with duckdb.connect() as scratch:
            try:
                scratch.execute(
                    f"CREATE TABLE incoming AS FROM read_parquet({literal(glob.escape(str(source)))})"
                )
                _check(scratch, source, newest)
            except duckdb.Error as error:
                reason = next(iter(str(error).splitlines()), "").partition(": ")[2]
                raise _bad(source, f"cannot be read as exported traces: {reason}") from error
            tables.append(scratch.table("incoming").to_arrow_table())
    totals = dict.fromkeys(Imported.__dataclass_fields__, 0)
    with store.transaction() as db:
        for source, table in zip(sources, tables, strict=True):
            db.register("file", table)
            db.execute("CREATE OR REPLACE TEMP TABLE incoming AS FROM file")
            db.unregister("file")
            db.execute(_MARK, [source.name])
            for statement in _REPLACE:
                db.execute(statement)
            for count, statement in _ADD.items():
                [(rows,)] = db.execute(statement.replace("$oldest", str(oldest))).fetchall()
                totals[count] += rows
            db.execute("DROP TABLE incoming")
    return Imported(**totals)


def _check(db: DuckDBPyConnection, source: Path, newest: int) -> None:
    """Check for rows that must not be learned from. Raises `BadTraces`."""
    if db.execute("SELECT count(*) FROM incoming").fetchone() == (0,):
        raise _bad(source, "holds no traces")
    for reason, condition in _WRONG.items():
        query = f"SELECT run_id, seq + 1 FROM incoming WHERE {condition} ORDER BY ALL LIMIT 1"
        invalid = db.execute(query.replace("$newest", str(newest))).fetchone()
        if invalid:
            raise _bad(source, f"run {invalid[0]!r}, decision {invalid[1]}: {reason}")


def _bad(source: Path, problem: str) -> BadTraces:
    return BadTraces(
        f"{source} {problem}.".replace("..", "."),
        "Nothing was imported. `deepthink traces export` writes what can be.",
    )


_RUN = """
    question, standalone, profile, chat_model, embedder, reranker, decider, collections, request, started,
    finished, status, stopped_because, answer, seconds, model_calls, evaluated, reused, generated
"""
_DECISION = """
    seq, shadow, step, path, state_version, text, features, state, valid_actions, action, probabilities,
    behaviour_probability, source, latency_ms, justification, taken
"""
_OUTCOMES = """
    SELECT run_id, path, source, quality, detail, measured FROM outcomes
    UNION ALL
    SELECT run_id, path, 'verifier', quality, '{}', measured FROM verdicts
"""

_TABLE = f"""
SELECT r.id AS run_id, r.* EXCLUDE (id, session, superstep),
    g.* EXCLUDE (run_id), t.rating, t.note AS rating_note, t.rated, d.* EXCLUDE (run_id),
    l.action AS label, l.origin AS label_origin, l.note AS label_note, l.labelled,
    coalesce(o.outcomes, []) AS outcomes, f.quality, f.source AS quality_source
FROM decisions d
JOIN runs r ON r.id = d.run_id
LEFT JOIN gold g ON g.run_id = r.id
LEFT JOIN ratings t ON t.run_id = r.id
LEFT JOIN labels l ON l.run_id = d.run_id AND l.seq = d.seq AND NOT d.shadow
LEFT JOIN (
    SELECT run_id, path, list(
        {{source: source, quality: quality, detail: detail, measured: measured}} ORDER BY source
    ) AS outcomes
    FROM ({_OUTCOMES}) GROUP BY run_id, path
) AS o ON o.run_id = d.run_id AND o.path = d.path AND NOT d.shadow
LEFT JOIN finishes f ON f.run_id = d.run_id AND f.path = d.path AND NOT d.shadow
"""

_PROBABILITIES = "map_values(CAST(CAST(probabilities AS JSON) AS MAP(VARCHAR, DOUBLE)))"
_FEATURES = "map_values(CAST(CAST(features AS JSON) AS MAP(VARCHAR, DOUBLE)))"
_REQUIRED = "question, answer, started, seq, shadow, text, action, source, taken".split(", ")
_WRONG = {
    "its id is not valid": f"coalesce(NOT regexp_full_match(run_id, '{RUN_ID[1:-1]}'), true)",
    "a required value is missing": " OR ".join(f"{name} IS NULL" for name in _REQUIRED),
    "its state is of a later version: upgrade this deepthink": "coalesce(state_version > $newest, true)",
    "its path has letters that are no action's": "coalesce(NOT regexp_full_match(path, '[CRFMWA]*'), true)",
    "its action was not possible": """
        coalesce(NOT list_contains(CAST(valid_actions AS VARCHAR[]), action), true)
        AND NOT (source = 'human' AND action = 'FINISH')
    """,
    "its behaviour probability is not valid": """
        coalesce(NOT (behaviour_probability > 0 AND behaviour_probability <= 1), true)
    """,
    "its probabilities do not sum to 1": f"""
        coalesce(abs(list_sum({_PROBABILITIES}) - 1) > 1e-6 OR list_min({_PROBABILITIES}) < 0, true)
    """,
    "a feature is not a finite number": f"""
        NOT list_bool_and(list_transform({_FEATURES}, lambda number: isfinite(number)))
    """,
    "its state is not a JSON object": "coalesce(json_type(state) <> 'OBJECT', true)",
    "its label was not possible": "NOT list_contains(CAST(valid_actions AS VARCHAR[]), label)",
    "its rating is not valid": "rating NOT IN ('good', 'partly', 'wrong')",
    "the quality of an outcome is not valid": """
        list_bool_or(list_transform(outcomes, lambda o: NOT o.quality BETWEEN 0 AND 1))
    """,
    "it occurs twice": """
        (run_id, seq, shadow) IN
            (SELECT (run_id, seq, shadow) FROM incoming GROUP BY run_id, seq, shadow HAVING count(*) > 1)
    """,
}
"""Conditions that must not hold for a row: training trusts imported traces."""

_MARK = """
    UPDATE incoming SET request = json_merge_patch(request, json_object('imported_from', ?))
"""
_REPLACE = (
    # Another run of the same id, such as a question collected here too: the existing one stays.
    "DELETE FROM incoming USING runs h WHERE h.id = incoming.run_id AND h.started <> incoming.started",
    # A run that was imported before it ended is imported again.
    """
    DELETE FROM runs WHERE finished IS NULL AND json_exists(request, '$.imported_from')
        AND id IN (SELECT run_id FROM incoming WHERE incoming.finished IS NOT NULL)
    """,
)
_ADD = {
    "older": "SELECT count_if(state_version < $oldest) FROM incoming",
    "known": "SELECT count(*) FROM incoming SEMI JOIN decisions USING (run_id, seq, shadow)",
    "decisions": f"""
        INSERT INTO decisions BY NAME
        SELECT run_id, {_DECISION} FROM incoming ANTI JOIN decisions USING (run_id, seq, shadow)
        ORDER BY incoming.started, run_id, seq, shadow
        """,
    "runs": f"""
        INSERT INTO runs BY NAME
        SELECT DISTINCT ON (run_id) run_id AS id, '' AS session, -2 AS superstep, {_RUN}
        FROM incoming WHERE run_id NOT IN (SELECT id FROM runs) ORDER BY run_id
        """,
    "labels": """
        INSERT OR REPLACE INTO labels BY NAME
        SELECT run_id, seq, label AS action, label_origin AS origin, label_note AS note, c.labelled
        FROM incoming c LEFT JOIN labels h USING (run_id, seq)
        WHERE NOT c.shadow AND label IS NOT NULL AND c.labelled > coalesce(h.labelled, '-infinity')
        """,
    "ratings": """
        INSERT OR REPLACE INTO ratings BY NAME
        SELECT DISTINCT ON (run_id) run_id, c.rating, rating_note AS note, c.rated
        FROM incoming c LEFT JOIN ratings h USING (run_id)
        WHERE c.rating IS NOT NULL AND c.rated > coalesce(h.rated, '-infinity')
        """,
    "outcomes": f"""
        INSERT OR REPLACE INTO outcomes BY NAME
        SELECT run_id, path, c.source, c.quality, c.detail, c.measured
        FROM (SELECT run_id, path, unnest(outcomes, recursive := true) FROM incoming) c
        LEFT JOIN ({_OUTCOMES}) h USING (run_id, path, source)
        WHERE c.measured > coalesce(h.measured, '-infinity')
        """,
    "gold": """
        INSERT INTO gold BY NAME
        SELECT DISTINCT ON (run_id) run_id, dataset, question_id, answers, passages
        FROM incoming WHERE dataset IS NOT NULL AND run_id NOT IN (SELECT run_id FROM gold)
        """,
}
"""What is counted and inserted, by the name of its count."""
