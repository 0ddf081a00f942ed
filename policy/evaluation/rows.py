"""Finished questions as lines of JSON, kept as work proceeds, so that a killed evaluation resumes.

A question is asked again where its text, answers or evidence have changed. Rows hold
ids, the short answer and numbers; no passages, so that they can be committed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Row:
    """What became of one question under one system with one model.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        system: As tables call it.
        model: The language model's name.
        short: The answer in as few words as asked for.
        stopped: Why the research ended; "" where there was none.
        lost: The first stage that lost a wrong answer, by `policy.evaluation.metrics`; "" for a right one.
        measures: By the names of `policy.evaluation.metrics`; what is not known is not there.
        case: `policy.evaluation.cases.Case.digest` of what was asked.
    """

    questions: str
    question: str
    system: str
    model: str
    short: str
    stopped: str = ""
    lost: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    case: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one row of."""
        return self.questions, self.question, self.system, self.model


class Rows(KeyedLines[Row]):
    """The rows in ``file``."""

    def __init__(self, file: Path) -> None:
        super().__init__(file, Row, lambda row: row.key)
