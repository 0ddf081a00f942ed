"""What the answering model is taught: answers to questions on written passages, and verdicts on claims.

Everything about one set of passages is one `Tree`: the passages are the beginning of all its prompts, so
they are computed once. Every eighth written passage is kept out, as for the reader.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from agent import notebook
from agent.documents.document import Chunk
from agent.prompts import NOT_FOUND
from agent.retrieval.keyword import KeywordIndex
from agent.state import Evidence
from agent.text.terms import terms
from tests.benchmarks.reader.data import written
from tests.benchmarks.reader.passages import cut

TAUGHT: Final = (
    "You work from numbered passages and from nothing else. After QUESTION you write the answer in one to "
    "four short sentences, in the language of the question, with figures, units, dates and names copied "
    f"exactly; if the passages do not answer it, you write: {NOT_FOUND} After SENTENCE you write a letter: "
    "A if the passages say all of it, B if they say otherwise, C if they do not tell."
)
"""The system prompt."""
LABELS: Final = {"supported": "A", "refuted": "B", "neither": "C"}
_NEAR: Final = (0, 1, 1, 2, 2, 3)  # passages of other texts in a tree, drawn from these
_ABSENT: Final = 1  # unanswerable questions of a tree, of two


@dataclass(frozen=True, slots=True)
class Branch:
    """The end of a prompt and what is to be written after it: an answer, or the letter of a verdict."""

    asked: str
    reply: str
    kind: str
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
    branches = [*_answers(record, draw), *_verdicts(record)]
    draw.shuffle(branches)
    return Tree("PASSAGES:\n" + "\n\n".join(passages), tuple(branches))


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
        asked = _asked(_typed(one["question"], draw))
        yield Branch(asked, one["sentence"], one["kind"])
    for one in draw.sample(absent, min(_ABSENT, len(absent))):
        asked = _asked(_typed(one["question"], draw))
        yield Branch(asked, NOT_FOUND, "absent")
    if len(answered) > 1:
        first, second = draw.sample(answered, 2)
        asked = f"{_ended(first['question'])} {_ended(second['question'])}"
        reply = f"{first['sentence']} {second['sentence']}"
        yield Branch(_asked(asked), reply, "two")


def _verdicts(record: dict[str, Any]) -> Iterator[Branch]:
    for one in record["claims"]:
        yield Branch(f"SENTENCE: {one['claim']}", LABELS[one["label"]], one["label"], verdict=True)


def _asked(question: str) -> str:
    return f"QUESTION: {question}"


def _ended(question: str) -> str:
    return question if question.rstrip().endswith(("?", "？")) else f"{question.rstrip(' .')}?"


def _typed(question: str, draw: random.Random) -> str:
    """As people type it: often without a question mark."""
    return question.rstrip("?？ ") if draw.random() < 0.25 else question
