"""Evaluating: every question is put to every system; what is finished is a row on disk, and not done again.

Question by question rather than system by system, so that an evaluation that is stopped half-way has
whole questions, and whatever two systems ask of the model in the same words is asked once.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Literal

from models.protocols import GenerationCancelled
from policy.evaluation.answered import Parts, System
from policy.evaluation.cases import Case, CaseSet
from policy.evaluation.looped import Looped
from policy.evaluation.metrics import lost, measured
from policy.evaluation.plain import PLAIN
from policy.evaluation.rows import Row, Rows, append
from policy.evaluation.shortening import shorten
from policy.evaluation.summary import LEAN, SEED_SYSTEM
from traces.errors import DeepthinkError
from traces.library import Library

SYSTEMS: Final[Mapping[str, System]] = {
    one.name: one
    for one in (*PLAIN, Looped(SEED_SYSTEM, profile="seed"), Looped(LEAN, profile="lean", route=""))
}
"""In the order of the tables. ``lean`` is the product as it comes."""


class UnknownSystem(DeepthinkError):
    """Raised when a system is named that does not exist."""

    title = "No such system"
    kind: ClassVar[Literal["usage"]] = "usage"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What is evaluated.

    Attributes:
        cases: A set of questions; its library is in the parts' store.
        systems: Of `SYSTEMS`.
        work: Folder of rows and answers.
        few: A system that is asked only so many of the questions, the first ones, by its name.
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
        doing: The system under way; "" before the first.
        done: Rows that are finished, earlier ones included.
        total: Rows that there will be.
        seconds_left: Estimate from the rows of this go; None before there is one.
        failed: Questions that a system could not answer in this go, with why.
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

    A question that a system fails on is told and left out, and asked again the next time.

    Args:
        wanted: What.
        parts: The same for every system; ``chat`` is a `policy.evaluation.cache.CachedChat`.
        cancel: Set to stop between two answers.

    Raises:
        BadLines: a file of the work folder is damaged.
        EmptyLibrary, UnknownCollection: the library is not what the questions are about.
    """
    going = _Going(wanted, parts)
    yield going.progress("")
    for number, case in enumerate(wanted.cases.cases):
        for name in wanted.systems:
            if not going.lacks(name, case, number):
                continue
            if cancel is not None and cancel.is_set():
                return
            yield going.progress(name)
            going.answered(name, case)
    yield going.progress("")


class _Going:
    """An evaluation under way."""

    def __init__(self, wanted: Evaluation, parts: Parts) -> None:
        self._wanted, self._parts = wanted, parts
        self._rows = Rows(wanted.work / "rows.jsonl")
        self._failed: list[str] = []
        self._began, self._begun = time.monotonic(), self._finished()

    def lacks(self, name: str, case: Case, number: int) -> bool:
        """Whether a row is wanted that is not there; ``number`` is the case's place in its set."""
        return number < self._most(name) and not self._has(name, case)

    def progress(self, doing: str) -> Progress:
        """How far it is."""
        done, total = self._finished(), sum(self._most(name) for name in self._wanted.systems)
        made = done - self._begun
        left = (time.monotonic() - self._began) / made * (total - done) if made else None
        return Progress(self._wanted.cases.name, doing, done, total, left, tuple(self._failed))

    def answered(self, name: str, case: Case) -> None:
        """Have a system answer."""
        try:
            answer = SYSTEMS[name].answer(case, self._parts)
        except GenerationCancelled:
            raise
        except DeepthinkError as error:
            self._failed.append(f"{name}, {case.question}: {error.message}")
            return
        self._keep(name, case, answer.text, answer.passages)
        shortened = not (answer.abstained or case.by_patterns)
        short = shorten(self._parts.chat, case.question, answer.text) if shortened else ""
        measures = measured(case, answer, short)
        self._rows.add(
            Row(
                self._wanted.cases.name,
                case.id,
                name,
                self._parts.chat.name,
                short,
                answer.stopped,
                lost(measures),
                measures,
                case.digest,
            )
        )

    def _keep(self, system: str, case: Case, text: str, passages: Sequence[int]) -> None:
        """The answer in words, and what it was written from, to be read by a person.

        Rows hold neither, so that they can be given on.
        """
        found = Library(self._parts.store).passages(passages)
        shown = tuple(f"{one.title}. {one.text}" for one in found)
        append(
            self._wanted.work / "answers.jsonl",
            {
                "questions": self._wanted.cases.name,
                "question": case.id,
                "system": system,
                "model": self._parts.chat.name,
                "asked": case.question,
                "gold": case.answers,
                "text": text,
                "passages": shown,
            },
        )

    def _finished(self) -> int:
        return sum(
            self._has(name, case)
            for name in self._wanted.systems
            for case in self._wanted.cases.cases[: self._most(name)]
        )

    def _has(self, name: str, case: Case) -> bool:
        row = self._rows.get(self._key(name, case))
        return row is not None and row.case == case.digest

    def _most(self, name: str) -> int:
        asked = len(self._wanted.cases.cases)
        return min(asked, self._wanted.few.get(name, asked))

    def _key(self, name: str, case: Case) -> tuple[str, str, str, str]:
        return self._wanted.cases.name, case.id, name, self._parts.chat.name
