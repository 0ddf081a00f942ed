"""Answers in words, with the passages they were written from: what a judge has to read.

Rows hold neither, so that they can be given on. These lines quote the library: they are for a work folder.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Literal

from policy.lines import append, whole_lines
from traces.errors import DeepthinkError

FILE = "answers.jsonl"
"""Its name in a work folder."""


class BadAnswers(DeepthinkError):
    """Raised when a file of answers holds something else."""

    title = "Not a file of answers"
    kind: ClassVar[Literal["input"]] = "input"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one system answered to one question with one model.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        system: As tables call it.
        model: The language model's name.
        asked: The question in words.
        gold: Its answers; empty where there is none.
        text: What was answered, in the system's own words.
        passages: What that was written from, in the system's order, with their titles.
    """

    questions: str
    question: str
    system: str
    model: str
    asked: str
    gold: tuple[str, ...]
    text: str
    passages: tuple[str, ...]

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What there is one answer of; that of its row."""
        return self.questions, self.question, self.system, self.model


def keep(file: Path, answer: Answer) -> None:
    """Add an answer, on disk when this returns."""
    append(file, asdict(answer))


def kept(file: Path) -> list[Answer]:
    """The answers in a file, the newest of each key, in the order in which they came; none without a file.

    Raises:
        BadAnswers: a line is none. A last line without its end, as a killed run leaves one, is cut off.
    """
    found: dict[tuple[str, str, str, str], Answer] = {}
    for number, line in whole_lines(file):
        try:
            told = json.loads(line)
            gold, passages = tuple(told.pop("gold")), tuple(told.pop("passages"))
            answer = Answer(**told, gold=gold, passages=passages)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadAnswers(
                f"Line {number} of {file.name} is no answer: {error}.", "Remove the line."
            ) from error
        found[answer.key] = answer
    return list(found.values())
