"""Convert records of the store to rows of its tables and back; non-scalar values are JSON in the table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from duckdb import DuckDBPyConnection

T = TypeVar("T", bound="DataclassInstance")


def insert(
    db: DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]], *, replace: bool = False
) -> None:
    """Insert rows that all have the same columns; ``replace``: replacing those with the same key."""
    if not rows:
        return
    names, marks = ", ".join(rows[0]), ", ".join("?" * len(rows[0]))
    db.executemany(
        f"INSERT {'OR REPLACE ' if replace else ''}INTO {table} ({names}) VALUES ({marks})",
        [[_encode(value) for value in row.values()] for row in rows],
    )


def columns(record: DataclassInstance) -> dict[str, Any]:
    """The fields of a record by name; nested values stay as they are."""
    return {field.name: getattr(record, field.name) for field in dataclasses.fields(record)}


def select(db: DuckDBPyConnection, kind: type[T], source: str, values: Sequence[Any] = ()) -> list[T]:
    """Records of ``source``, a query from FROM on, which has a column for each field of ``kind``."""
    types = {field.name: str(field.type).partition("[")[0] for field in dataclasses.fields(kind)}
    rows = db.execute(f"SELECT {', '.join(types)} {source}", list(values)).fetchall()
    return [
        kind(**{name: _decode(cell, types[name]) for name, cell in zip(types, row, strict=True)})
        for row in rows
    ]


def _decode(cell: Any, type_name: str) -> Any:
    if type_name in {"tuple", "Sequence"}:
        return tuple(json.loads(cell))
    return json.loads(cell) if type_name in {"dict", "Mapping"} else cell


def _encode(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    return json.dumps(value) if isinstance(value, list | tuple) else value
