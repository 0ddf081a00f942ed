"""What the answering model is taught: answers to questions on written passages, and verdicts on claims.

Everything about one set of passages is one `Tree`: the passages are the beginning of all its prompts, so
they are computed once. Every eighth written passage is kept out, as for the reader.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent import notebook, prompts
from agent.documents.document import Chunk
from agent.retrieval.keyword import KeywordIndex
from agent.state import Evidence
from agent.text.terms import terms
from tests.benchmarks.reader.data import written
from tests.benchmarks.reader.passages import cut

LABELS: Final = {"supported": "A", "refuted": "B", "neither": "C"}
_NEAR: Final = (0, 1, 1, 2, 2, 3)  # passages of other texts in a tree, drawn from these
_NUMBER: Final = re.compile(r"\d(?:[\d.,]*\d)?")
_ABSENT: Final = 1  # unanswerable questions of a tree, of two


@dataclass(frozen=True, slots=True)
class Branch:
    """The end of a prompt and what is to be written after it: an answer, or the letter of a verdict.

    ``answers`` are the words of the passages that an answer must hold: one of them, or all of a list.
    """

    asked: str
    reply: str
    kind: str
    answers: tuple[str, ...] = ()
    verdict: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """Prompts with a common beginning."""

    beginning: str
    branches: tuple[Branch, ...]


def trees(folder: Path, *, held_out: bool, seed: int = 0) -> list[Tree]:
    """All trees of the passages to learn from, or of those kept out, in random order."""
    draw = random.Random(seed)
    records = written(folder, held_out=held_out)
    chunks = [(number, one) for number, record in enumerate(records) for one in cut(record["context"])]
    index = KeywordIndex(
        (at, " ".join(terms(f"{records[number]['title']} {one.text}")))
        for at, (number, one) in enumerate(chunks)
    )
    made = [_tree(number, records, chunks, index, draw) for number in range(len(records))]
    draw.shuffle(made)
    return made


def _tree(
    number: int,
    records: Sequence[dict[str, Any]],
    chunks: Sequence[tuple[int, Chunk]],
    index: KeywordIndex,
    draw: random.Random,
) -> Tree:
    record = records[number]
    shown = [(record, one) for at, one in chunks if at == number]
    asked = draw.choice(record["qas"])["question"]
    wanted = draw.choice(_NEAR)
    for at, _ in index.search(terms(f"{record['title']} {asked}"), None, 12):
        if wanted and chunks[at][0] != number and len(shown) < 6:
            shown.append((records[chunks[at][0]], chunks[at][1]))
            wanted -= 1
    if draw.random() < 0.7:
        draw.shuffle(shown)
    passages = [
        notebook.passage(_evidence(at, source, one)) for at, (source, one) in enumerate(shown, start=1)
    ]
    branches = list(dict.fromkeys([*_answers(record, draw), *_verdicts(record), *_plain(shown, draw)]))
    draw.shuffle(branches)
    return Tree(prompts.passages(passages), tuple(branches))


def _evidence(number: int, record: dict[str, Any], one: Chunk) -> Evidence:
    return Evidence(
        number=number,
        step=1,
        passage_id=number,
        collection="",
        document="",
        title=record["title"],
        date=record.get("date") or "",
        section=record.get("section") or "",
        page=None,
        kind=one.kind,
        text=one.text,
        excerpt=one.text,
        score=0.0,
    )


def _answers(record: dict[str, Any], draw: random.Random) -> Iterator[Branch]:
    answered = [one for one in record["qas"] if one["answers"] and one["sentence"]]
    absent = [one for one in record["qas"] if not one["answers"]]
    for one in answered:
        asked = prompts.question(_typed(one["question"], draw))
        yield Branch(asked, one["sentence"], one["kind"], tuple(one["answers"]))
    for one in draw.sample(absent, min(_ABSENT, len(absent))):
        asked = prompts.question(_typed(one["question"], draw))
        yield Branch(asked, prompts.NOT_FOUND, "absent")
    if len(answered) > 1:
        first, second = draw.sample(answered, 2)
        asked = f"{_ended(first['question'])} {_ended(second['question'])}"
        reply = f"{first['sentence']} {second['sentence']}"
        yield Branch(prompts.question(asked), reply, "two")


def _verdicts(record: dict[str, Any]) -> Iterator[Branch]:
    for one in record["claims"]:
        yield _claim(one["claim"], one["label"])


def _plain(shown: Sequence[tuple[dict[str, Any], Chunk]], draw: random.Random) -> Iterator[Branch]:
    """Answers in a sentence as claims, as they are and with a number or an answer of the passage misplaced.

    The written claims are worded unlike their passage where it supports them. What a model writes is mostly
    worded like it, whether it is right or not.
    """
    for record, chunk in shown:
        held = [one for one in record["qas"] if one["sentence"] and _holds(chunk.text, one["answers"])]
        for one in held:
            yield _claim(one["sentence"], "supported")
            wrong = [
                *_other_numbers(one["sentence"], chunk.text),
                *(_in_place(other, one) for other in held if _exchangeable(one, other)),
            ]
            if wrong:
                yield _claim(draw.choice(wrong), "refuted")


def _holds(text: str, answers: Sequence[str]) -> bool:
    return bool(answers) and all(one.casefold() in text.casefold() for one in answers)


def _other_numbers(sentence: str, passage: str) -> Iterator[str]:
    """A sentence with one of its numbers replaced by one of the passage that is written alike."""
    numbers = {*_NUMBER.findall(passage)}
    for place in _NUMBER.finditer(sentence):
        for other in sorted(numbers - {*_NUMBER.findall(sentence)}):
            if place[0] in numbers and _shape(other) == _shape(place[0]):
                yield sentence[: place.start()] + other + sentence[place.end() :]


def _shape(number: str) -> str:
    return re.sub(r"\d", "9", number)


def _exchangeable(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether the other question's answer makes the sentence of this one wrong, and looks likely there."""
    if len(one["answers"]) > 1 or one["sentence"].count(one["answers"][0]) != 1:
        return False
    answer, placed = one["answers"][0], other["answers"][0]
    return (
        not _NUMBER.search(answer + placed)
        and answer[0].isupper() == placed[0].isupper()
        and abs(len(answer.split()) - len(placed.split())) <= 1
        and placed.casefold() not in one["sentence"].casefold()
        and answer.casefold() not in placed.casefold()
    )


def _in_place(other: dict[str, Any], one: dict[str, Any]) -> str:
    return str(one["sentence"].replace(one["answers"][0], other["answers"][0]))


def _claim(sentence: str, label: str) -> Branch:
    return Branch(prompts.sentence(sentence), LABELS[label], label, verdict=True)


def _ended(question: str) -> str:
    return question if question.rstrip().endswith(("?", "？")) else f"{question.rstrip(' .')}?"


def _typed(question: str, draw: random.Random) -> str:
    """As people type it: often without a question mark."""
    return question.rstrip("?？ ") if draw.random() < 0.25 else question
