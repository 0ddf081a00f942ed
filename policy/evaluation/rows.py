"""Results of single questions as JSON lines, appended one by one, so that a killed evaluation resumes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from traces.errors import DeepthinkError


class BadLines(DeepthinkError):
    """Raised when a line of the file is not a valid row."""

    title = "Not a file of these records"
    kind = "input"


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one question under one system with one model.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        stopped: Why the research ended; "" if there was none.
        lost: The first stage that lost a wrong answer, by `policy.evaluation.measures`; "" for a right one.
        measures: By name, see `policy.evaluation.measures`; unknown ones are left out.
        case: `policy.questions.Case.digest` of the question.
    """

    questions: str
    question: str
    system: str
    model: str
    answer: str = ""
    stopped: str = ""
    lost: str = ""
    measures: Mapping[str, float] = field(default_factory=dict)
    case: str = ""

    @property
    def key(self) -> Key:
        """Identifies the row: there is one of each."""
        return self.questions, self.question, self.system, self.model


Key: TypeAlias = tuple[str, str, str, str]
_ROW: Final = TypeAdapter(Row)


class Rows:
    """The rows in a file of JSON lines, the newest of each key; `add` appends.

    An invalid line raises `BadLines`. An incomplete last line, left by a killed run, is cut off.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[Key, Row] = {}
        content = file.read_bytes() if file.exists() else b""
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            with file.open("r+b") as stream:
                stream.truncate(whole)
        for number, line in enumerate(content[:whole].split(b"\n"), start=1):
            if not line.strip():
                continue
            try:
                row = _ROW.validate_json(line)
            except ValidationError as error:
                first = error.errors(include_url=False)[0]
                place = ".".join(str(part) for part in first["loc"])
                raise BadLines(
                    f"Line {number} of {file.name} is damaged: {place} {first['msg']}.",
                    "Remove the line; its question will be asked again.",
                ) from error
            self._rows[row.key] = row

    def get(self, key: Key) -> Row | None:
        """The newest row with this key; None if there is none."""
        return self._rows.get(key)

    def all(self) -> list[Row]:
        """Every row, in the order in which their keys were first added."""
        return list(self._rows.values())

    def add(self, row: Row) -> None:
        """Append ``row`` to the file at once."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
        self._rows[row.key] = row
