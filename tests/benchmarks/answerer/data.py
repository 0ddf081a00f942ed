"""What the answering model is taught: to answer questions on passages in sentences, or to refuse.

Everything about one set of passages is one `Tree`: the passages are the beginning of all its prompts, so
they are computed once. The questions are those on the written passages, and those on real tables and texts,
whose answers are a few words, so `sentences.py` has the base model put them into sentences. Refusals are
learned from questions that sound alike: the sets' own, and those of texts that a search would find nearby.
Every eighth record is held out, and SQuAD's articles as for the reader.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from agent import notebook, prompts
from agent.retrieval.keyword import KeywordIndex
from agent.state import Evidence
from agent.text.language import readable
from agent.text.terms import terms
from tests.benchmarks.multihop import Paragraph, Question, filled, read_questions
from tests.benchmarks.reader.data import as_typed, held_out_articles, holds_any, records, tables, written
from tests.benchmarks.reader.passages import cut
from traces.records import Chunk

Record = dict[str, Any]
"""A text with questions on it, as the lines of `written/` have it.

A question without ``sentence`` gets one from the base model; one with a ``cell`` is written by it, too. A
record with ``passages``, paragraphs with titles, is shown with these and no others.
"""

REPORT: Final = "Annual report"
"""The title of TAT-QA's records."""

_EVERY: Final = 8  # real record that is held out
_TEXTS: Final = {
    "squad-2.0-dev": (1000, 3),
    "squad-1.1-train-part": (700, 2),
    "squadshifts-new-wiki": (500, 2),
    "natural-questions-a": (1500, 1),
    "natural-questions-b": (900, 1),
    "policyqa": (500, 3),
    "covid-qa": (350, 1),
}
"""How many texts of each set, and how many questions on each."""
_OF_REPORT: Final = 5  # questions on a table of an annual report
_TABLES: Final = 900
_BOXES: Final = 600
_SLICE: Final = 800  # records among which similar texts are searched
_LONGEST: Final = (2600, 160)  # characters of a real text, and of an answer
_NEAR: Final = (0, 1, 1, 2, 2, 3)  # passages of other texts in a tree, drawn from these
_OF_OTHERS: Final = 2  # questions on each of them
_PAIRS: Final = 2  # double questions of a tree
_ABSENT: Final = 0.6  # share of trees with a question of a text that is not shown
_NAME: Final = re.compile(r"[A-Za-z]{3}")
_EMPTY: Final = {"", "-", "—"}
_NO_MEASURE: Final = re.compile(r"year|date|rank|pos|no|season|week|game|round|pick")


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


def real_trees(found: Sequence[Record]) -> list[Tree]:
    """The trees of real records whose answers have their sentences, in random order."""
    draw = random.Random(0)
    shuffled = draw.sample(found, len(found))
    slices = (shuffled[at : at + _SLICE] for at in range(0, len(shuffled), _SLICE))
    return [tree for part in slices for tree in _trees(part, draw)]


def real(folder: Path, *, held_out: bool) -> list[Record]:
    """Tables of annual reports with their text, and paragraphs, with a few questions each."""
    draw = random.Random(0)
    articles = held_out_articles(folder)
    paths = sorted((folder / "tables").glob("*.json"))
    reports = [{**one, "title": REPORT} for path in paths for one in tables(path)]
    drawn = _drawn(_split(reports, held_out), len(reports), _OF_REPORT, draw)
    for name, (most, questions) in _TEXTS.items():
        of_set = records(folder / f"{name}.jsonl")
        if name.startswith("squad-"):
            of_set = [one for one in of_set if (one["title"] in articles) == held_out]
        else:
            of_set = _split(of_set, held_out)
        drawn += _drawn(list({one["context"]: one for one in of_set}.values()), most, questions, draw)
    return drawn


def _split(found: Sequence[Record], held_out: bool) -> list[Record]:
    return [one for number, one in enumerate(found) if (number % _EVERY == 0) == held_out]


def _drawn(found: Sequence[Record], most: int, questions: int, draw: random.Random) -> list[Record]:
    """Some of the records, with some of their questions and one or two that they do not answer."""
    length, answer = _LONGEST
    kept = [one for one in found if len(one["context"]) <= length]
    drawn = []
    for one in draw.sample(kept, min(most, len(kept))):
        answered = [q for q in one["qas"] if q["answers"] and len(q["answers"][0]) <= answer]
        absent = [q for q in one["qas"] if not q["answers"]]
        qas = draw.sample(answered, min(questions, len(answered)))
        qas += draw.sample(absent, min(2, len(absent)))
        if answered:
            drawn.append({**one, "qas": [{"kind": "text", "sentence": "", **q} for q in qas]})
    return drawn


def facts(folder: Path) -> list[Record]:
    """Wikipedia's tables and boxes: cells, rows that share a value, the greatest and the least."""
    draw = random.Random(0)
    texts = {one["evidence"] for one in records(folder / "entailment/tabfact.jsonl")}
    of_tables = (one for text in _shuffled(texts, draw) for one in _of_table(text, draw))
    boxes = {one["evidence"] for one in records(folder / "entailment/infotabs.jsonl")}
    of_boxes = (one for text in _shuffled(boxes, draw) for one in _of_box(text, draw))
    return [*islice(of_tables, _TABLES), *islice(of_boxes, _BOXES)]


def _shuffled(texts: set[str], draw: random.Random) -> list[str]:
    short = sorted(text for text in texts if len(text) <= _LONGEST[0])
    draw.shuffle(short)
    return short


def _of_table(text: str, draw: random.Random) -> Iterator[Record]:
    title, *lines = text.split("\n")
    head, *rows = ([cell.strip() for cell in line.split("|")] for line in lines)
    width = len(head)
    if not (title and 3 <= width <= 9 and 4 <= len(rows) <= 14 and len(set(head)) == width):
        return
    if any(len(row) != width for row in rows) or any(len(name) < 2 for name in head):
        return
    naming = [
        column
        for column in range(width)
        if len({row[column] for row in rows}) == len(rows)
        and all(_NAME.search(row[column]) and len(row[column]) < 40 for row in rows)
    ]
    if not naming:
        return
    name, *_ = naming
    others = [column for column in range(width) if column != name]
    qas = []
    for row, column in ((draw.choice(rows), draw.choice(others)) for _ in range(3)):
        if row[column] not in _EMPTY and len(row[column]) <= 60:
            qas.append(_cell(title, f"{head[name]} = {row[name]}", head[column], [row[column]], row[name]))
    qas += _alike(head, rows, name, draw)
    qas += _extreme(head, rows, name, draw)
    if qas:
        yield {"title": _capital(title), "context": "\n".join(map(" | ".join, [head, *rows])), "qas": qas}


def _cell(table: str, row: str, column: str, values: list[str], named: str) -> Record:
    cell = {"table": table, "row": row, "column": column, "named": named}
    kind = "list" if len(values) > 1 else "table"
    return {"question": "", "answers": values, "kind": kind, "sentence": "", "cell": cell}


def _alike(
    head: Sequence[str], rows: Sequence[Sequence[str]], name: int, draw: random.Random
) -> Iterator[Record]:
    """Which rows have a value."""
    groups: dict[tuple[int, str], list[str]] = {}
    for row in rows:
        for column, value in enumerate(row):
            if column != name and value not in _EMPTY and len(value) < 40:
                groups.setdefault((column, value), []).append(row[name])
    several = [(where, names) for where, names in sorted(groups.items()) if 2 <= len(names) <= 6]
    if not several:
        return
    (column, value), names = draw.choice(several)
    of, listed = head[column], joined(names)
    question, sentence = draw.choice(
        [
            (f"Which entries have {value} as {of}?", f"{_capital(listed)} have {value} as {of}."),
            (f"List every {head[name]} whose {of} is {value}.", f"{_capital(listed)}."),
            (f"which {head[name]} have the {of} {value}", f"The {of} is {value} for {listed}."),
        ]
    )
    yield {"question": question, "answers": names, "kind": "list", "sentence": sentence}


def _extreme(
    head: Sequence[str], rows: Sequence[Sequence[str]], name: int, draw: random.Random
) -> Iterator[Record]:
    """Which row has the greatest or the least value of a column of numbers."""
    measures = []
    for column in range(len(head)):
        try:
            values = [float(row[column].replace(",", "").strip("$% ")) for row in rows]
        except ValueError:
            continue
        if column != name and len(set(values)) > 2 and not _NO_MEASURE.search(head[column]):
            measures.append((column, values))
    if not measures:
        return
    column, values = draw.choice(measures)
    word, best = draw.choice([("highest", max(values)), ("lowest", min(values))])
    if values.count(best) == 1:
        row = rows[values.index(best)]
        yield {
            "question": f"Which {head[name]} has the {word} {head[column]}?",
            "answers": [row[name]],
            "kind": "number",
            "sentence": f"{_capital(row[name])} has the {word} {head[column]}, {row[column]}.",
        }


def _of_box(text: str, draw: random.Random) -> Iterator[Record]:
    lines = dict(line.split(": ", 1) for line in text.split("\n") if ": " in line)
    title = lines.pop("title", "")
    if not title or len(lines) < 4:
        return
    lists = [
        name
        for name, value in lines.items()
        if 1 <= value.count(",") <= 6 and not any(map(str.isdigit, value)) and len(value) < 140
    ]
    drawn = dict.fromkeys(draw.sample(sorted(lines), 2) + draw.sample(lists, min(2, len(lists))))
    qas = [
        _cell(title, "", name, lines[name].split(", ") if name in lists else [lines[name]], title)
        for name in drawn
        if len(lines[name]) <= 140
    ]
    if qas:
        yield {"title": title, "context": "\n\n".join(f"{a}: {b}" for a, b in lines.items()), "qas": qas}


def joined(names: Sequence[str]) -> str:
    """The names as a sentence lists them."""
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def hops(folder: Path) -> list[Record]:
    """Multi-hop questions and their steps on their own paragraphs; half of them again with one gone."""
    draw = random.Random(0)
    made = []
    for name in ("hotpotqa", "2wikimultihopqa", "musique"):
        path = folder / f"{name}_train.jsonl"
        found = read_questions(path)
        for question, line in zip(found.questions, records(path), strict=True):
            others = [number for number in question.own if number not in question.gold]
            shown = [*question.gold, *draw.sample(others, min(draw.choice((1, 2, 3)), len(others)))]
            draw.shuffle(shown)
            steps = list(_steps(question, line))
            whole = {"question": question.text, "answers": list(question.answers), "sentence": ""}
            given = {number: found.paragraphs[number] for number in shown}
            made.append(_of_hops(list(given.values()), [whole, *(step for step, _ in steps)]))
            gone = draw.choice(sorted(question.gold))
            left = [paragraph for number, paragraph in given.items() if number != gone]
            if draw.random() < 0.5 and not any(holds_any(one.text, question.answers) for one in left):
                held = [step for step, paragraph in steps if paragraph not in (None, gone)]
                made.append(_of_hops(left, [{**whole, "answers": []}, *held]))
    return made


def _steps(question: Question, line: Mapping[str, Any]) -> Iterator[tuple[Record, int | None]]:
    """The single steps, each with the paragraph that answers it where the file says so."""
    for pair in line.get("qa_pairs") or ():  # 2Wiki's answers are sentences
        yield {"question": pair["question"], "answers": [pair["answer"]], "sentence": pair["answer"]}, None
    answers = [hop.answer for hop in question.hops]
    for hop in question.hops:
        if hop.support is not None and hop.answer:
            asked = filled(hop.question, answers)
            yield {"question": asked, "answers": [hop.answer], "sentence": ""}, hop.support


def _of_hops(passages: Sequence[Paragraph], qas: Sequence[Record]) -> Record:
    return {
        "title": " ".join(one.title for one in passages),
        "context": "\n\n".join(one.text for one in passages),
        "passages": passages,
        "qas": [{**one, "kind": "text" if one["answers"] else "absent"} for one in qas],
    }


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
    asked = draw.choice(record["qas"])["question"]
    similar = [
        (found[chunks[at][0]], chunks[at][1])
        for at, _ in index.search(terms(f"{record['title']} {asked}"), None, 12)
        if chunks[at][0] != number
    ]
    if passages := record.get("passages"):
        shown = [({**record, "title": given.title}, one) for given in passages for one in cut(given.text)]
    else:
        shown = [(record, one) for at, one in chunks if at == number]
        shown += similar[: min(draw.choice(_NEAR), max(0, 6 - len(shown)))]
    if draw.random() < 0.7:
        draw.shuffle(shown)
    beginning = prompts.passages(
        [notebook.passage(_evidence(at, source, one)) for at, (source, one) in enumerate(shown, start=1)]
    )
    branches = list(dict.fromkeys(_branches(record, shown, draw)))
    if draw.random() < _ABSENT:
        branches += _absent(beginning, [source for source, _ in similar], draw)
    draw.shuffle(branches)
    return Tree(beginning, tuple(branches))


def _absent(beginning: str, similar: Sequence[Record], draw: random.Random) -> list[Branch]:
    """A question of a similar text that is not shown, as after a search that missed."""
    for record in similar:
        asked = [
            one for one in record["qas"] if one["answers"] and not holds_any(beginning, one["answers"])
        ]
        if asked and not holds_any(beginning, [record["context"][:60]]):
            question = as_typed(draw.choice(asked)["question"], draw)
            return [Branch(prompts.question(question), prompts.NOT_FOUND, "absent")]
    return []


def _branches(
    record: Record, shown: Sequence[tuple[Record, Chunk]], draw: random.Random
) -> Iterator[Branch]:
    answered = [one for one in record["qas"] if one["answers"]]
    for source, chunk in shown:
        if source["qas"] is not record["qas"]:
            held = [one for one in source["qas"] if _holds(chunk.text, one["answers"])]
            answered += draw.sample(held, min(_OF_OTHERS, len(held)))
    for one in answered:
        asked = prompts.question(as_typed(one["question"], draw))
        yield Branch(asked, one["sentence"], one["kind"], tuple(one["answers"]))
    absent = [one for one in record["qas"] if not one["answers"]]
    for one in draw.sample(absent, min(draw.choice((1, 2)), len(absent))):
        yield Branch(prompts.question(as_typed(one["question"], draw)), prompts.NOT_FOUND, "absent")
    for _ in range(_PAIRS if len(answered) > 1 else 0):
        first, second = draw.sample(answered, 2)
        asked = _joined(first["question"], second["question"], draw)
        both = (first["answers"][0], second["answers"][0])
        sentences = (first["sentence"], second["sentence"])
        yield Branch(prompts.question(asked), " ".join(sentences) if all(sentences) else "", "two", both)


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
