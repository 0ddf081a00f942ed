"""What the answering model is taught: to answer questions on passages in sentences, or to refuse.

Everything about one set of passages is one `Tree`: the passages are the beginning of all its prompts, so
they are computed once. The questions are those on the written passages, and those on real tables and
texts, whose answers are a few words; `sentences.py` has the base model put them into sentences. Of tables
with many columns single cells are asked for. Every eighth record is held out, and SQuAD's articles as for
the reader.
"""

from __future__ import annotations

import json
import random
import re
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
_WIDE_TABLES: Final = 70
_COLUMNS: Final = 5  # of a wide table, at least
_CELLS: Final = 4  # asked for in a wide table
_ASKED_AS: Final = ("{row}, {column}", "{row} {column}?", "What was {row} for {column}?")
_YEAR: Final = re.compile(r"\b20\d\d\b")
_QUESTIONS: Final = 4  # of a real record
_LONGEST: Final = (2600, 160)  # characters of a real text, and of an answer
_NEAR: Final = (0, 1, 1, 2, 2, 3)  # passages of other texts in a tree, drawn from these
_OF_OTHERS: Final = 2  # questions on each of them
_ABSENT: Final = (1, 1, 2)  # near misses of a tree, drawn from these
_JOINED: Final = (2, 2, 2, 3)  # questions in one, drawn from these
_JOINTS: Final = 2  # such questions of a tree


@dataclass(frozen=True, slots=True)
class Branch:
    """The end of a prompt and the answer to be written after it.

    ``answers`` are the words of the passages that the answer must hold: one of them, or all of them where
    the kind is "list" or "several".
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


def wide_tables(folder: Path, *, held_out: bool, seed: int = 0) -> list[Record]:
    """Tables of annual reports with many columns; asked for are cells, and a year that is not there."""
    draw = random.Random(seed)
    tables_read = [
        one["table"]["table"]
        for path in sorted((folder / "tables").glob("*.json"))
        for one in json.loads(path.read_text(encoding="utf-8"))
    ]
    draw.shuffle(tables_read)
    made = []
    for number, rows in enumerate(tables_read):
        if (number % _EVERY == 0) == held_out and (record := _of_cells(rows, draw)):
            made.append(record)
    return made[:_WIDE_TABLES]


def _of_cells(rows: Sequence[Sequence[str]], draw: random.Random) -> Record | None:
    """A table as a record; None if its columns have no names of their own or are few."""
    rows = [[" ".join(cell.split()) for cell in row] for row in rows]
    body = next((n for n, row in enumerate(rows) if row[0] and any(row[1:]) and row[0][0] != "("), 0)
    names = [" ".join(dict.fromkeys(filter(None, column))) for column in zip(*rows[:body], strict=False)]
    labels = [row[0] for row in rows]
    cells = [
        (row[0].rstrip(" .:"), name, cell)
        for row in rows[body:]
        for name, cell in zip(names[1:], row[1:], strict=False)
        if labels.count(row[0]) == names.count(name) == row.count(cell) == 1
        if name and any(map(str.isalpha, row[0])) and any(map(str.isdigit, cell)) and "(" not in cell
    ]
    if len(names) < _COLUMNS or len(cells) < 2 * _CELLS:
        return None
    context = "\n".join(" | ".join(row) for row in [names, *rows[body:]])
    asked = [
        {"question": draw.choice(_ASKED_AS).format(row=row, column=name), "answers": [cell.lstrip("$ ")]}
        for row, name, cell in draw.sample(cells, _CELLS)
    ]
    years = set(_YEAR.findall(context))
    row, name, _ = draw.choice(cells)
    if year := _YEAR.search(name):
        other = next(one for one in map(str, range(int(year[0]) - 1, 1990, -1)) if one not in years)
        asked.append({"question": f"{row}, {name.replace(year[0], other)}", "answers": []})
    qas = [{"kind": "table", "sentence": "", **one} for one in asked]
    return {"title": "Annual report", "context": context, "qas": qas}


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
    for one in draw.sample(absent, min(draw.choice(_ABSENT), len(absent))):
        yield Branch(prompts.question(as_typed(one["question"], draw)), prompts.NOT_FOUND, "absent")
    for _ in range(_JOINTS if len(answered) > 1 else 0):
        joined = draw.sample(answered, min(draw.choice(_JOINED), len(answered)))
        asked = _joined([one["question"] for one in joined], draw)
        reply = " ".join(one["sentence"] for one in joined)
        yield Branch(prompts.question(asked), reply, "several", tuple(one["answers"][0] for one in joined))


def _holds(text: str, answers: Sequence[str]) -> bool:
    return bool(answers) and all(one.casefold() in text.casefold() for one in answers)


def _joined(questions: Sequence[str], draw: random.Random) -> str:
    """Several questions in one, as sentences of their own or joined by "and"."""
    if not all(map(readable, questions)) or draw.random() < 0.4:
        return " ".join(map(_ended, questions))
    *first, last = [f"{one[:1].lower()}{one[1:]}".rstrip("? .") for one in questions]
    return as_typed(f"{', '.join(first)}, and {last}?", draw)


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
