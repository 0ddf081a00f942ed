"""Traces out of a store into a file, and from files into a store: without loss, and without double.

`traces.exchange_table` describes the file. What is imported is checked row by row before the store is
opened, and then taken over whole or not at all.
"""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from traces.errors import DeepthinkError
from traces.exchange_merge import DifferentTraces, merge
from traces.exchange_read import BadTraces, checked, quoted
from traces.exchange_table import ORDER, TABLE
from traces.store import Store, is_full

__all__ = ["BadTraces", "DifferentTraces", "Exported", "Form", "Imported", "NoTraces", "export", "take_in"]

Form = Literal["parquet", "jsonl"]
_WRITTEN: dict[Form, str] = {"parquet": "FORMAT parquet, COMPRESSION zstd", "jsonl": "FORMAT json"}


class NoTraces(DeepthinkError):
    """Raised when there is nothing to export."""

    title = "Nothing to export"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Exported:
    """What a file holds: ``decisions`` include the ``shadows``."""

    runs: int
    decisions: int
    shadows: int


@dataclass(frozen=True, slots=True)
class Imported:
    """What the store got.

    Attributes:
        runs: Runs that it did not have.
        decisions: Decisions that it did not have, second opinions included.
        known: Decisions that it had.
        collected: Questions that were collected here too, and stay as they are here.
        ended: Imported runs that had gone on since, and are stored as they ended.
        labels: New or newer labels; ratings, outcomes and gold likewise.
        older: Decisions in the files whose state has an older version than today's: kept, not learned from.
    """

    runs: int
    decisions: int
    known: int
    collected: int
    ended: int
    labels: int
    ratings: int
    outcomes: int
    gold: int
    older: int


def export(
    store: Store,
    target: Path,
    form: Form,
    *,
    since: datetime | None = None,
    runs: Sequence[str] = (),
    shadows: bool = True,
) -> Exported:
    """Write decisions to a file, in place of what was there, once all of it is written.

    The same decisions give the same file, whatever store holds them.

    Args:
        store: Where they are.
        target: The file; its folder is there.
        form: ``parquet``, or ``jsonl``: one JSON object a line.
        since: Only of runs that began then or later (UTC).
        runs: Only of these runs, by their whole ids.
        shadows: Second opinions too; without them the file has not everything.

    Raises:
        NoTraces: no decision fits; no file is written.
        OSError: the file cannot be written.
    """
    import duckdb

    conditions, values = ["true"], list[Any]()
    if since is not None:
        conditions.append("CAST(started AS TIMESTAMP) >= ?")
        values.append(since)
    if runs:
        conditions.append("list_contains(?, run_id)")
        values.append(list(runs))
    if not shadows:
        conditions.append("NOT shadow")
    chosen = f"SELECT * FROM ({TABLE}) WHERE {' AND '.join(conditions)}"
    with _written_beside(target) as draft, store.connect() as db:
        db.execute(f"CREATE OR REPLACE TEMP TABLE chosen AS {chosen}", values)
        row = db.execute("SELECT count(DISTINCT run_id), count(*), count_if(shadow) FROM chosen").fetchone()
        exported = Exported(*row) if row else Exported(0, 0, 0)
        if not exported.decisions:
            raise NoTraces(
                "No stored decision fits." if conditions[1:] else "No decision is stored yet.",
                "`deepthink traces list` shows what there is.",
            )
        try:
            db.execute(f"COPY (SELECT * FROM chosen {ORDER}) TO {quoted(draft)} ({_WRITTEN[form]})")
        except duckdb.Error as error:
            if is_full(error):  # the file's disk, which need not be the store's
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(target)) from error
            raise
        db.execute("DROP TABLE chosen")
    return exported


def take_in(store: Store, sources: Sequence[Path], newest: int) -> Imported:
    """Import files that `export` wrote, all of them or none.

    What the store has is left as it is and counted; of labels, ratings and outcomes the newer counts. An
    imported run keeps its status and has the file's name as ``imported_from`` in its request. It has no
    checkpoint, so that nobody is offered to resume it.

    Args:
        store: Where to.
        sources: The files; of either form, told apart by their content.
        newest: Today's version of the state, the newest that is taken.

    Raises:
        BadTraces: a file is none of ours, a row of it is wrong, or it holds a decision twice.
        DifferentTraces: something is otherwise in the store, or in a file before it.
        OSError: a file cannot be read.
    """
    totals = dict.fromkeys(Imported.__dataclass_fields__, 0)
    with tempfile.TemporaryDirectory(prefix="deepthink-import-") as folder:
        scratch = Path(folder) / "incoming.duckdb"
        tables = checked(sources, scratch, newest)
        totals["older"] = sum(table.older for table in tables)
        with store.connect() as db:
            db.execute(f"ATTACH {quoted(scratch)} AS incoming (READ_ONLY)")
            try:
                with store.transaction():
                    for source, table in zip(sources, tables, strict=True):
                        for what, count in merge(db, source.name, f"incoming.{table.name}").items():
                            totals[what] += count
            finally:
                db.execute("DETACH incoming")
    return Imported(**totals)


@contextlib.contextmanager
def _written_beside(target: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of ``target`` if all goes well, and goes if not."""
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    except OSError as error:  # told of the file that was asked for
        raise OSError(error.errno, error.strerror, str(target)) from error
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        mask = os.umask(0)
        os.umask(mask)
        draft.chmod(0o666 & ~mask)  # as any other file that is written, not for its owner alone
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
