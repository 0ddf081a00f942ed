"""Files of JSON lines that grow while work goes on, and outlive whoever is killed while writing."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from traces.errors import DeepthinkError

Record = TypeVar("Record")


class BadLines(DeepthinkError):
    """Raised when a file of records holds something else."""

    title = "Not a file of these records"
    kind = "input"


class KeyedLines(Generic[Record]):
    """The records in a file of JSON lines, the newest of each key; the file grows with each that is added.

    Args:
        file: Need not exist.
        record: What a line is, as pydantic validates it.
        key: What there is one record of.

    Raises:
        BadLines: a line is no such record. A last line without its end, as a killed run leaves one, is cut
            off.
    """

    def __init__(self, file: Path, record: Any, key: Callable[[Record], Hashable]) -> None:
        self._file = file
        self._key = key
        self._adapter: TypeAdapter[Record] = TypeAdapter(record)
        self._records: dict[Hashable, Record] = {}
        for number, line in whole_lines(file):
            try:
                found = self._adapter.validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join(str(part) for part in first["loc"])
                raise BadLines(
                    f"Line {number} of {file.name} is damaged: {' '.join((place, first['msg'])).strip()}.",
                    "Remove the line; what it held will be made again.",
                ) from error
            self._records[key(found)] = found

    def __len__(self) -> int:
        return len(self._records)

    def get(self, key: Hashable) -> Record | None:
        """The newest record of this key; None if there is none."""
        return self._records.get(key)

    def all(self) -> list[Record]:
        """Every record, in the order in which their keys came."""
        return list(self._records.values())

    def add(self, record: Record) -> None:
        """Keep ``record``, on disk at once."""
        append(self._file, self._plain(record))
        self._records[self._key(record)] = record

    def keep(self, wanted: Callable[[Record], bool]) -> None:
        """Leave out the others, on disk too."""
        kept = {key: record for key, record in self._records.items() if wanted(record)}
        if len(kept) < len(self._records):
            write(self._file, map(self._plain, kept.values()))
            self._records = kept

    def _plain(self, record: Record) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._adapter.dump_python(record, mode="json")
        return found


def whole_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, from 1, empty ones left out; none if it does not exist.

    A last line without its end, as a killed writer leaves one, is cut off the file.
    """
    content = file.read_bytes() if file.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with file.open("r+b") as cut:
            cut.truncate(whole)
    for number, line in enumerate(content[:whole].split(b"\n"), start=1):
        if line.strip():
            yield number, line


def append(file: Path, told: Mapping[str, Any]) -> None:
    """Add a line, on disk when this returns; the file and its folder are made if need be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(_line(told))


def write(file: Path, told: Iterable[Mapping[str, Any]]) -> None:
    """Write a file anew; it appears when it is whole, so that a killed writer leaves none half-written."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8") as out:
        out.writelines(map(_line, told))
    part.replace(file)


def _line(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False) + "\n"
