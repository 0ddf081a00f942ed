"""Convert records of the store to rows of its tables and back; non-scalar values are JSON in the table."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
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
    fields = dataclasses.fields(kind)
    shapes = [_SHAPES.get(str(field.type).partition("[")[0]) for field in fields]
    names = ", ".join(field.name for field in fields)
    return [
        kind(*(shape(json.loads(cell)) if shape else cell for shape, cell in zip(shapes, row, strict=True)))
        for row in db.execute(f"SELECT {names} {source}", list(values)).fetchall()
    ]


_SHAPES: dict[str, Callable[[Any], Any]] = {
    "tuple": tuple,
    "Sequence": tuple,
    "Mapping": dict,
    "dict": dict,
}


def _encode(value: Any) -> Any:
    if isinstance(value, Mapping):
        return json.dumps(dict(value))
    return json.dumps(value) if isinstance(value, list | tuple) else value
