"""What the answering model is taught: to answer questions on passages in sentences, or to refuse.

Everything about one set of passages is one `Tree`: the passages are the beginning of all its prompts, so
they are computed once. The questions are those on the written passages, and those on real tables and
texts, whose answers are a few words; `sentences.py` has the base model put them into sentences. Every
eighth record is held out, and SQuAD's articles as for the reader.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final

from agent import notebook, prompts
from agent.retrieval.keyword import KeywordIndex
from agent.state import Evidence
from agent.text.language import readable
from agent.text.terms import terms
from tests.benchmarks.reader.data import as_typed, held_out_articles, records, tables, written
from tests.benchmarks.reader.passages import cut
from traces.records import Chunk

Record = dict[str, Any]
"""A text with questions on it, as the lines of `written/` have it."""

_EVERY: Final = 8  # real record that is held out
_TEXTS: Final = {"squad-2.0-dev": 60, "natural-questions-a": 50, "natural-questions-b": 40, "policyqa": 40}
_TABLES: Final = 130
_QUESTIONS: Final = 4  # of a real record
_LONGEST: Final = (2600, 160)  # characters of a real text, and of an answer
_NEAR: Final = (0, 1, 1, 2, 2, 3)  # passages of other texts in a tree, drawn from these
_OF_OTHERS: Final = 2  # questions on each of them
_PAIRS: Final = 2  # double questions of a tree


@dataclass(frozen=True, slots=True)
class Branch:
    """The end of a prompt and the answer to be written after it.

    ``answers`` are the words of the passages that the answer must hold: one of them, or all of them where
    the kind is "list" or "two".
    """

    asked: str
    reply: str
    kind: str
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tree:
    """Prompts with a common beginning."""

    beginning: str
    branches: tuple[Branch, ...]


def written_trees(folder: Path, *, held_out: bool, english: bool, seed: int = 0) -> list[Tree]:
    """Trees of the written passages to learn from, or of those held out, in random order."""
    found = written(folder, held_out=held_out)
    of_language = [one for one in found if readable(one["context"]) == english]
    return _trees(of_language, random.Random(seed))


def real_trees(found: Sequence[Record], seed: int = 0) -> list[Tree]:
    """The trees of real records whose answers have their sentences, in random order."""
    return _trees(found, random.Random(seed))


def in_turn(*lists: Sequence[Tree]) -> list[Tree]:
    """One tree of each list after the other, without those that have no more."""
    return [tree for row in zip_longest(*lists) for tree in row if tree is not None]


def real(folder: Path, *, held_out: bool, seed: int = 0) -> list[Record]:
    """Tables of annual reports with their text, and paragraphs, with a few questions each."""
    draw = random.Random(seed)
    articles = held_out_articles(folder)
    paths = sorted((folder / "tables").glob("*.json"))
    of_reports = [{**one, "title": "Annual report"} for path in paths for one in tables(path)]
    drawn = _drawn(of_reports, _TABLES, draw, held_out=held_out)
    for name, wanted in _TEXTS.items():
        of_set = records(folder / f"{name}.jsonl")
        if name.startswith("squad"):
            of_set = [one for one in of_set if (one["title"] in articles) == held_out]
            drawn += _drawn(of_set, wanted, draw, held_out=None)
        else:
            drawn += _drawn(of_set, wanted, draw, held_out=held_out)
    return drawn


def _drawn(
    found: Sequence[Record], wanted: int, draw: random.Random, *, held_out: bool | None
) -> list[Record]:
    """Some of the records, held out or not, with some of their questions; None takes any of them."""
    length, answer = _LONGEST
    kept = [
        one
        for number, one in enumerate(found)
        if (held_out is None or (number % _EVERY == 0) == held_out) and len(one["context"]) <= length
    ]
    drawn = []
    for one in draw.sample(kept, min(wanted, len(kept))):
        asked = [q for q in one["qas"] if all(len(text) <= answer for text in q["answers"][:1])]
        answered = [q for q in asked if q["answers"]]
        absent = [q for q in asked if not q["answers"]]
        qas = draw.sample(answered, min(_QUESTIONS, len(answered))) + absent[:1]
        if answered:
            drawn.append({**one, "qas": [{"kind": "text", "sentence": "", **q} for q in qas]})
    return drawn


def key(record: Record, asked: Mapping[str, Any]) -> str:
    """Names a question on a record."""
    return f"{record['title']} {asked['question']} {'; '.join(asked['answers'])}"


def _trees(found: Sequence[Record], draw: random.Random) -> list[Tree]:
    chunks = [(number, one) for number, record in enumerate(found) for one in cut(record["context"])]
    index = KeywordIndex(
        (at, " ".join(terms(f"{found[number]['title']} {one.text}")))
        for at, (number, one) in enumerate(chunks)
    )
    made = [_tree(number, found, chunks, index, draw) for number in range(len(found))]
    draw.shuffle(made)
    return made


def _tree(
    number: int,
    found: Sequence[Record],
    chunks: Sequence[tuple[int, Chunk]],
    index: KeywordIndex,
    draw: random.Random,
) -> Tree:
    record = found[number]
    shown = [(record, one) for at, one in chunks if at == number]
    asked = draw.choice(record["qas"])["question"]
    wanted = draw.choice(_NEAR)
    for at, _ in index.search(terms(f"{record['title']} {asked}"), None, 12):
        if wanted and chunks[at][0] != number and len(shown) < 6:
            shown.append((found[chunks[at][0]], chunks[at][1]))
            wanted -= 1
    if draw.random() < 0.7:
        draw.shuffle(shown)
    passages = [
        notebook.passage(_evidence(at, source, one)) for at, (source, one) in enumerate(shown, start=1)
    ]
    branches = list(dict.fromkeys(_branches(record, shown, draw)))
    draw.shuffle(branches)
    return Tree(prompts.passages(passages), tuple(branches))


def _branches(
    record: Record, shown: Sequence[tuple[Record, Chunk]], draw: random.Random
) -> Iterator[Branch]:
    answered = [one for one in record["qas"] if one["answers"]]
    for source, chunk in shown:
        if source is not record:
            held = [one for one in source["qas"] if _holds(chunk.text, one["answers"])]
            answered += draw.sample(held, min(_OF_OTHERS, len(held)))
    for one in answered:
        asked = prompts.question(as_typed(one["question"], draw))
        yield Branch(asked, one["sentence"], one["kind"], tuple(one["answers"]))
    absent = [one for one in record["qas"] if not one["answers"]]
    for one in draw.sample(absent, min(1, len(absent))):
        yield Branch(prompts.question(as_typed(one["question"], draw)), prompts.NOT_FOUND, "absent")
    for _ in range(_PAIRS if len(answered) > 1 else 0):
        first, second = draw.sample(answered, 2)
        asked = _joined(first["question"], second["question"], draw)
        both = (first["answers"][0], second["answers"][0])
        yield Branch(prompts.question(asked), f"{first['sentence']} {second['sentence']}", "two", both)


def _holds(text: str, answers: Sequence[str]) -> bool:
    return bool(answers) and all(one.casefold() in text.casefold() for one in answers)


def _joined(first: str, second: str, draw: random.Random) -> str:
    """Two questions in one, as two sentences or joined by "and"."""
    if not (readable(first) and readable(second)) or draw.random() < 0.4:
        return f"{_ended(first)} {_ended(second)}"
    return as_typed(f"{first.rstrip('? .')}, and {second[:1].lower()}{second[1:]}", draw)


def _ended(question: str) -> str:
    return question if question.rstrip().endswith(("?", "？")) else f"{question.rstrip(' .')}?"


def _evidence(number: int, record: Record, one: Chunk) -> Evidence:
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
