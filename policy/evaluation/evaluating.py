"""Evaluating: every question is put to every system; a finished one is a row on disk, and not asked again.

Question by question rather than system by system, so that an evaluation that is stopped half-way has whole
questions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal

from models.protocols import GenerationCancelled
from policy.evaluation.measures import lost, measured
from policy.evaluation.rows import Row, Rows
from policy.evaluation.systems import SYSTEMS, Parts
from policy.questions import Case, CaseSet
from traces.errors import DeepthinkError


class UnknownSystem(DeepthinkError):
    """Raised when a system is named that does not exist."""

    title = "No such system"
    kind: ClassVar[Literal["usage"]] = "usage"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is evaluated.

    Attributes:
        systems: Of `SYSTEMS`.
        work: Folder of the rows.
        few: How many of the questions, the first ones, a slow system is asked, by its name.
    """

    cases: CaseSet
    systems: Sequence[str]
    work: Path
    few: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an evaluation is.

    Attributes:
        questions: Name of the set.
        doing: The system that is answering; "" before the first.
        done: Finished rows of ``total``, earlier ones included.
        failed: Questions that a system could not answer since the start, with why.
    """

    questions: str
    doing: str
    done: int
    total: int
    seconds_left: float | None = None
    failed: tuple[str, ...] = ()


def checked(systems: Sequence[str]) -> tuple[str, ...]:
    """The systems in the order of the tables; all of them where none is named.

    Raises:
        UnknownSystem: there is none of that name.
    """
    for name in systems:
        if name not in SYSTEMS:
            raise UnknownSystem(f"There is no system “{name}”.", f"There are: {', '.join(SYSTEMS)}.")
    return tuple(name for name in SYSTEMS if not systems or name in systems)


def evaluate(wanted: Evaluation, parts: Parts, cancel: threading.Event | None = None) -> Iterator[Progress]:
    """Have every system answer; each finished row is kept at once.

    A question that a system fails on is reported and left out, and asked again the next time. ``cancel``
    stops between two answers.

    Raises:
        BadLines: a file of the work folder is damaged.
        EmptyLibrary, UnknownCollection: the library is not what the questions are about.
    """
    rows = Rows(wanted.work / "rows.jsonl")
    asked = [
        (name, case)
        for number, case in enumerate(wanted.cases.cases)
        for name in wanted.systems
        if number < wanted.few.get(name, number + 1)
    ]
    todo = [pair for pair in asked if not _finished(rows, wanted, parts, *pair)]
    began, earlier = time.monotonic(), len(asked) - len(todo)
    made, failed = 0, list[str]()

    def progress(doing: str) -> Progress:
        left = (time.monotonic() - began) / made * (len(todo) - made) if made else None
        return Progress(wanted.cases.name, doing, earlier + made, len(asked), left, tuple(failed))

    yield progress("")
    for name, case in todo:
        if cancel is not None and cancel.is_set():
            return
        yield progress(name)
        try:
            answered = SYSTEMS[name].answer(case.question, parts)
        except GenerationCancelled:
            raise
        except DeepthinkError as error:
            failed.append(f"{name}, {case.question}: {error.message}")
            continue
        measures = measured(case, answered)
        key = _key(wanted, parts, name, case)
        rows.add(Row(*key, answered.text, answered.stopped, lost(measures), measures, case.digest))
        made += 1
    yield progress("")


def _finished(rows: Rows, wanted: Evaluation, parts: Parts, name: str, case: Case) -> bool:
    row = rows.get(_key(wanted, parts, name, case))
    return row is not None and row.case == case.digest


def _key(wanted: Evaluation, parts: Parts, name: str, case: Case) -> tuple[str, str, str, str]:
    return wanted.cases.name, case.id, name, parts.chat.name
