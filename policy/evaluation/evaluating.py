"""Evaluating: every system answers every question; each result is a row on disk, so it is computed once.

It goes question by question, not system by system, so that an evaluation stopped half-way has complete
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
    """Raised when a named system does not exist."""

    title = "No such system"
    kind: ClassVar[Literal["usage"]] = "usage"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What to evaluate.

    Attributes:
        systems: Of `SYSTEMS`.
        work: Folder of the rows.
        few: For slow systems, by name: how many of the questions they answer, from the first.
    """

    cases: CaseSet
    systems: Sequence[str]
    work: Path
    few: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an evaluation.

    Attributes:
        questions: Name of the set.
        doing: The system that is answering; "" before the first.
        done: Finished rows of ``total``, including those of earlier evaluations.
        failed: Questions that a system could not answer since the start, each with the reason.
    """

    questions: str
    doing: str
    done: int
    total: int
    seconds_left: float | None = None
    failed: tuple[str, ...] = ()


def checked(systems: Sequence[str]) -> tuple[str, ...]:
    """The systems in table order; all of them if ``systems`` is empty.

    Raises:
        UnknownSystem: there is no system of that name.
    """
    for name in systems:
        if name not in SYSTEMS:
            raise UnknownSystem(f"There is no system “{name}”.", f"There are: {', '.join(SYSTEMS)}.")
    return tuple(name for name in SYSTEMS if not systems or name in systems)


def evaluate(
    evaluation: Evaluation, parts: Parts, cancel: threading.Event | None = None
) -> Iterator[Progress]:
    """Have every system answer; each finished row is saved at once.

    A question that a system fails on is reported and skipped, and tried again the next time. ``cancel``
    stops between two answers.

    Raises:
        BadLines: a file of the work folder is damaged.
        EmptyLibrary, UnknownCollection: the library does not match the questions.
    """
    rows = Rows(evaluation.work / "rows.jsonl")
    pairs = [
        (name, case)
        for number, case in enumerate(evaluation.cases.cases)
        for name in evaluation.systems
        if number < evaluation.few.get(name, number + 1)
    ]
    todo = [pair for pair in pairs if not _is_finished(rows, evaluation, parts, *pair)]
    began, earlier = time.monotonic(), len(pairs) - len(todo)
    finished, failed = 0, list[str]()

    def progress(doing: str) -> Progress:
        rest = (time.monotonic() - began) / finished * (len(todo) - finished) if finished else None
        return Progress(evaluation.cases.name, doing, earlier + finished, len(pairs), rest, tuple(failed))

    yield progress("")
    for name, case in todo:
        if cancel is not None and cancel.is_set():
            return
        yield progress(name)
        try:
            result = SYSTEMS[name].answer(case.question, parts)
        except GenerationCancelled:
            raise
        except DeepthinkError as error:
            failed.append(f"{name}, {case.question}: {error.message}")
            continue
        measures = measured(case, result)
        key = _key(evaluation, parts, name, case)
        rows.add(Row(*key, result.text, result.stopped, lost(measures), measures, case.digest))
        finished += 1
    yield progress("")


def _is_finished(rows: Rows, evaluation: Evaluation, parts: Parts, name: str, case: Case) -> bool:
    row = rows.get(_key(evaluation, parts, name, case))
    return row is not None and row.case == case.digest


def _key(evaluation: Evaluation, parts: Parts, name: str, case: Case) -> tuple[str, str, str, str]:
    return evaluation.cases.name, case.id, name, parts.chat.name
