"""Rows: a finished question of one system and model, a line of JSON each; what is there is not done again.

It is done again where the question, its right answers or its evidence are others by now, or the policy is.
Rows hold ids, the short answer and numbers; no passages. So they can be committed, and another machine goes
on where this one stopped.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from policy.lines import append, whole_lines, write
from traces.errors import DeepthinkError


class BadRows(DeepthinkError):
    """Raised when a file of rows holds something else."""

    title = "Not a file of rows"
    kind: ClassVar[Literal["input"]] = "input"


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
        lost: The first stage that lost a wrong answer, by `policy.systems.anatomy`; "" for a right one.
        measures: By the names of `policy.systems.metrics`; what is not known is not there.
        case: `policy.systems.cases.Case.digest` of what was asked.
        policy: `policy.manifest.seal` of the policy that decided; "" where none did.
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
    policy: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one row of."""
        return self.questions, self.question, self.system, self.model


class Rows:
    """The rows in a file, which grows with each that is added.

    Args:
        file: Need not exist.

    Raises:
        BadRows: a line is none. A last line without its end, as a killed run leaves one, is cut off.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._rows: dict[tuple[str, str, str, str], Row] = {}
        for number, line in whole_lines(file):
            row = _read(line, number, file)
            self._rows[row.key] = row

    def get(self, key: tuple[str, str, str, str]) -> Row | None:
        """The newest of this key; None if there is none."""
        return self._rows.get(key)

    def __len__(self) -> int:
        return len(self._rows)

    def all(self) -> list[Row]:
        """Every row, the newest of each key, in the order in which they came."""
        return list(self._rows.values())

    def add(self, row: Row) -> None:
        """Keep ``row``, on disk at once."""
        append(self._file, asdict(row))
        self._rows[row.key] = row

    def keep(self, wanted: Callable[[Row], bool]) -> None:
        """Leave out the others, on disk too."""
        kept = [row for row in self._rows.values() if wanted(row)]
        if len(kept) == len(self._rows):
            return
        write(self._file, map(asdict, kept))
        self._rows = {row.key: row for row in kept}


def _read(line: bytes, number: int, file: Path) -> Row:
    try:
        told = json.loads(line)
        measures = {str(name): float(value) for name, value in told.pop("measures").items()}
        return Row(**told, measures=measures)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRows(
            f"Line {number} of {file.name} is no row: {error}.",
            "Remove the line; its question will be asked again.",
        ) from error
