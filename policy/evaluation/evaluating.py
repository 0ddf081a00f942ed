"""Evaluating: every system answers every question; each result is a row on disk, so it is computed once.

It goes question by question, not system by system, so that an evaluation stopped half-way has complete
questions.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from models.protocols import GenerationCancelled
from policy.evaluation.measures import lost, measured
from policy.evaluation.rows import Key, Row, Rows
from policy.evaluation.systems import SYSTEMS, Parts
from policy.questions import Case, CaseSet, Progress
from traces.errors import DeepthinkError


class UnknownSystem(DeepthinkError):
    """Raised when a named system does not exist."""

    title = "No such system"
    kind: ClassVar[Literal["usage"]] = "usage"


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
    cases: CaseSet,
    systems: Sequence[str],
    parts: Parts,
    rows: Rows,
    cancel: threading.Event | None = None,
) -> Iterator[Progress]:
    """Have every system answer; each finished row is saved at once.

    A question that a system fails on is reported and skipped, and tried again the next time.

    Args:
        cases: The questions.
        systems: Of `SYSTEMS`.
        parts: What the systems share.
        rows: The finished ones, which are not asked again; new ones are added.
        cancel: Set to stop between two answers.

    Raises:
        EmptyLibrary, UnknownCollection: the library does not match the questions.
    """
    pairs = [(name, case) for case in cases.cases for name in systems]

    def key(name: str, case: Case) -> Key:
        return cases.name, case.id, name, parts.chat.name

    def finished_row(name: str, case: Case) -> bool:
        row = rows.get(key(name, case))
        return row is not None and row.case == case.digest

    todo = [pair for pair in pairs if not finished_row(*pair)]
    began, earlier = time.monotonic(), len(pairs) - len(todo)
    finished, failed = 0, list[str]()

    def progress(doing: str) -> Progress:
        rest = (time.monotonic() - began) / finished * (len(todo) - finished) if finished else None
        return Progress(doing, earlier + finished, len(pairs), rest, tuple(failed))

    yield progress("answers")
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
        rows.add(Row(*key(name, case), result.text, result.stopped, lost(measures), measures, case.digest))
        finished += 1
    yield progress("answers")
