"""What a reranker learns from: questions, the paragraphs that support them, and a file's paragraphs pooled.

Whole questions, and the smaller questions that a plan would put: MuSiQue's steps with the answers of
earlier steps put in, and 2Wiki's question pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from policy.questions import Paragraph, Question, filled, read_questions

SETS: Final = ("hotpotqa", "2wikimultihopqa", "musique")
_SHORTEST_ANSWER = 4  # letters; "yes" and "5" stand nearly everywhere


@dataclass(frozen=True)
class Asked:
    """A question and the paragraphs that support it, as numbers in a `Pool`.

    Attributes:
        record: Id of the record that it comes from: splits go by this.
        question: As it is searched for.
        whole: Whether it is a record's own question, not a part of it.
        gold: The supporting paragraphs.
        doubtful: Others that hold the answer; nobody has said whether they help.
    """

    record: str
    question: str
    whole: bool
    gold: frozenset[int]
    doubtful: frozenset[int]


@dataclass(frozen=True)
class Pool:
    """One file: the paragraphs of all its records, each once, and what is asked of them.

    Attributes:
        name: The file's name without its ending.
        paragraphs: Of all records.
        asked: In the order of the file.
        own: The paragraphs that come with each record, as numbers in ``paragraphs``.
    """

    name: str
    paragraphs: tuple[Paragraph, ...]
    asked: list[Asked]
    own: dict[str, tuple[int, ...]]


def read_pool(path: Path) -> Pool:
    """Reads a file of HotpotQA, 2Wiki or MuSiQue records, told apart by their fields.

    Raises:
        BadQuestions: it cannot be read, or a line is not of its format.
    """
    read = read_questions(path)
    texts = [paragraph.text.casefold() for paragraph in read.paragraphs]
    asked = [
        Asked(one.id, question, whole, gold, frozenset(_holding(answer, texts)) - gold)
        for one in read.questions
        for question, answer, whole, gold in _asked(one)
    ]
    return Pool(read.name, read.paragraphs, asked, {one.id: one.own for one in read.questions})


def _holding(answer: str, texts: list[str]) -> list[int]:
    wanted = answer.casefold()
    return [i for i, text in enumerate(texts) if wanted in text] if len(wanted) >= _SHORTEST_ANSWER else []


def _asked(one: Question) -> Iterator[tuple[str, str, bool, frozenset[int]]]:
    """Each question, its answer, whether it is the whole one, and its support."""
    yield one.text, one.answers[0], True, one.gold
    answers = [hop.answer for hop in one.hops]
    for hop in one.pairs or one.hops:
        if hop.support is not None:
            yield filled(hop.question, answers), hop.answer, False, frozenset({hop.support})
