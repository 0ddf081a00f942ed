"""Files of exported traces, read and checked before any store is opened.

They are read into a scratch database, once: what was checked is what is taken over.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from traces.errors import DeepthinkError
from traces.exchange_table import COLUMNS, FORMAT

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_BATCH = 1_000


class BadTraces(DeepthinkError):
    """Raised when a file is no export of traces, or one that must not be learned from."""

    title = "These traces cannot be imported"
    kind = "input"


@dataclass(frozen=True, slots=True)
class Checked:
    """The rows of a file: their table in the scratch database, and how many states are older."""

    name: str
    older: int


def checked(sources: Sequence[Path], scratch: Path, newest: int) -> list[Checked]:
    """Read files into a scratch database, each into a table of its own, and check them.

    Args:
        sources: Of either form, told apart by their content.
        scratch: A database file that does not exist.
        newest: The newest version of the state that is taken.

    Raises:
        BadTraces: a file is none of ours, a row of it is wrong, or it holds a decision twice.
        OSError: a file cannot be read.
    """
    import duckdb

    found: list[Checked] = []
    with duckdb.connect(str(scratch)) as db:
        for number, source in enumerate(sources):
            db.execute(f"CREATE SCHEMA file_{number}; SET schema = 'file_{number}'")
            try:
                _read(db, source)
            except duckdb.Error as error:
                raise _bad(source, f"cannot be read as exported traces: {_reason(error)}") from error
            _check_rows(db, source, newest)
            _check_together(db, source)
            row = db.execute("SELECT count_if(state_version < ?) FROM told", [newest]).fetchone()
            found.append(Checked(f"file_{number}.told", int(row[0]) if row else 0))
    return found


def quoted(path: Path | str) -> str:
    """A path as a literal of SQL."""
    return "'" + str(path).replace("'", "''") + "'"


def _read(db: DuckDBPyConnection, source: Path) -> None:
    with source.open("rb") as opened:
        parquet = opened.read(4) == b"PAR1"
    name = quoted(glob.escape(str(source)))  # it is one file, whatever its name has
    if parquet:
        reader = f"read_parquet({name})"
        found = {row[0] for row in db.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()}
        lacking = [name for name in COLUMNS if name not in found]
        if lacking:
            raise _bad(source, f"is no export of traces: it lacks {', '.join(lacking[:5])}")
    else:
        types = ", ".join(f"{name}: '{kind}'" for name, kind in COLUMNS.items())
        reader = f"read_json({name}, format = 'newline_delimited', columns = {{{types}}})"
    columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in COLUMNS.items())
    db.execute(f"CREATE TABLE told AS SELECT {columns}, row_number() OVER () AS row FROM {reader}")


def _check_rows(db: DuckDBPyConnection, source: Path, newest: int) -> None:
    from traces.exchange_rows import fault

    cursor = db.execute(f"SELECT row, {', '.join(COLUMNS)} FROM told ORDER BY row")
    rows = 0
    while batch := cursor.fetchmany(_BATCH):
        for number, *values in batch:
            row = dict(zip(COLUMNS, values, strict=True))
            rows += 1
            if (row["format"] or 0) > FORMAT:
                raise BadTraces(f"{source} was written by a newer deepthink.", "Upgrade this one.")
            wrong = fault(row)
            if wrong:
                raise _bad(source, f"row {number}: {wrong}", comma=True)
            if row["state_version"] > newest:
                raise BadTraces(
                    f"{source}, row {number}: its state is of version {row['state_version']}; "
                    f"this deepthink knows up to {newest}.",
                    "Nothing was imported. Upgrade this deepthink.",
                )
    if not rows:
        raise _bad(source, "holds no traces")


_TOGETHER = {
    "run {0} has decision {1} twice": """
        SELECT run_id, seq + 1 FROM told GROUP BY run_id, seq, shadow HAVING count(*) > 1
        """,
    "run {0} has two decisions at the path “{1}”": """
        SELECT run_id, path FROM told WHERE NOT shadow GROUP BY run_id, path HAVING count(*) > 1
        """,
    "run {0} has a second opinion on decision {1}, and no decision": """
        SELECT run_id, seq + 1 FROM told s WHERE shadow AND NOT EXISTS (
            FROM told d WHERE d.run_id = s.run_id AND d.seq = s.seq AND d.path = s.path AND NOT d.shadow)
        """,
    "run {0} is told in more than one way": f"""
        SELECT run_id, 0 FROM (
            SELECT DISTINCT {", ".join(list(COLUMNS)[: list(COLUMNS).index("seq")])} FROM told
        ) GROUP BY run_id HAVING count(*) > 1
        """,
}


def _check_together(db: DuckDBPyConnection, source: Path) -> None:
    for about, query in _TOGETHER.items():
        row = db.execute(f"{query} ORDER BY ALL LIMIT 1").fetchone()
        if row is not None:
            raise _bad(source, about.format(*row), comma=True)


def _reason(error: Exception) -> str:
    """The first line of what the database says, without the name of the file and of the kind of error."""
    first = next(iter(str(error).splitlines()), "").partition(": ")[2]
    return re.sub(r' in file "[^"]*"', "", first).strip(" .") or type(error).__name__


def _bad(source: Path, what: str, *, comma: bool = False) -> BadTraces:
    return BadTraces(
        f"{source}{',' if comma else ''} {what}.",
        "Nothing was imported. `deepthink traces export` writes what can be.",
    )
