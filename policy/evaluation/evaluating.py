"""Evaluating: every system answers every question; each result is a row on disk, so it is computed once.

It goes question by question, not system by system, so that an evaluation stopped half-way has complete
questions.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Final, TypeAlias

from pydantic import TypeAdapter, ValidationError

from models.protocols import GenerationCancelled
from policy.evaluation.measures import lost, measured
from policy.evaluation.systems import SYSTEMS, Parts
from policy.questions import Case, CaseSet, Progress
from traces.errors import DeepthinkError, first_problem


class BadLines(DeepthinkError, title="Not a file of these records", kind="input"):
    """Raised when a line of the file is not a valid row."""


@dataclass(frozen=True, slots=True)
class Row:
    """The outcome of one question under one system with one model."""

    questions: str  # name of the set
    question: str  # its id there
    system: str
    model: str
    answer: str = ""
    stopped: str = ""  # why the research ended; "" if there was none
    lost: str = ""
    """The first stage that lost a wrong answer, by `policy.evaluation.measures`; "" for a right one."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """By name, see `policy.evaluation.measures`; unknown ones are left out."""
    case: str = ""  # `policy.questions.Case.digest` of the question

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
                raise BadLines(
                    f"Line {number} of {file.name} is damaged: {first_problem(error)}.",
                    "Remove the line; its question will be asked again.",
                ) from error
            self._rows[row.key] = row

    def all(self) -> list[Row]:
        """Every row, in the order in which their keys were first added."""
        return list(self._rows.values())

    def add(self, row: Row) -> None:
        """Append ``row`` to the file at once."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.open("a", encoding="utf-8") as out:
            out.write(json.dumps(asdict(row), ensure_ascii=False) + "\n")
        self._rows[row.key] = row


class UnknownSystem(DeepthinkError, title="No such system", kind="usage"):
    """Raised when a named system does not exist."""


def checked(systems: Sequence[str]) -> tuple[str, ...]:
    """The systems in table order; all of them if ``systems`` is empty.

    Raises `UnknownSystem` if there is no system of that name.
    """
    for name in systems:
        if name not in SYSTEMS:
            raise UnknownSystem(f"There is no system “{name}”.", f"There are: {', '.join(SYSTEMS)}.")
    return tuple(name for name in SYSTEMS if not systems or name in systems)


def evaluate(cases: CaseSet, systems: Sequence[str], parts: Parts, rows: Rows) -> Iterator[Progress]:
    """Have every system answer; each finished row is added to ``rows`` at once, and not asked again.

    A question that a system fails on is reported and skipped, and tried again the next time. It ends early
    if it is cancelled. Raises `EmptyLibrary` or `UnknownCollection` if the library does not match the
    questions.
    """
    pairs = [(name, case) for case in cases.cases for name in systems]

    def key(name: str, case: Case) -> Key:
        return cases.name, case.id, name, parts.chat.name

    finished_rows = {row.key: row.case for row in rows.all()}
    todo = [(name, case) for name, case in pairs if finished_rows.get(key(name, case)) != case.digest]
    began, earlier = time.monotonic(), len(pairs) - len(todo)
    finished, failed = 0, list[str]()

    def progress(doing: str) -> Progress:
        rest = (time.monotonic() - began) / finished * (len(todo) - finished) if finished else None
        return Progress(doing, earlier + finished, len(pairs), rest, tuple(failed))

    yield progress("answers")
    for name, case in todo:
        if parts.cancel is not None and parts.cancel.is_set():
            return
        yield progress(name)
        try:
            result = SYSTEMS[name](case.question, parts)
        except GenerationCancelled:
            return
        except DeepthinkError as error:
            failed.append(f"{name}, {case.question}: {error.message}")
            continue
        measures = measured(case, result)
        rows.add(Row(*key(name, case), result.text, result.stopped, lost(measures), measures, case.digest))
        finished += 1
    yield progress("answers")
