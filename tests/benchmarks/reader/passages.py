"""Training texts as the product would store and show them, and where in them an answer stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.documents.chunking import chunk
from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.table_text import SEPARATOR
from agent.retrieval.passage_text import show
from agent.text.terms import terms
from traces.records import Chunk

Span = tuple[int, int]

_RULE = re.compile(r"[\s|:\-]+")
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n")


@dataclass(frozen=True, slots=True)
class Source:
    title: str = ""
    section: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """An answer found in a passage's body; ``score``: how much of the question is around it."""

    span: Span
    score: int


def cut(context: str) -> list[Chunk]:
    """The passages that the product would make of a text with paragraphs and tables."""
    return chunk(ParsedDocument(tuple(_blocks(context)), context))


def _blocks(context: str) -> Iterator[Block]:
    rows: list[list[str]] = []
    for line in [*context.replace("**", "").splitlines(), ""]:
        if "|" in line:
            if not _RULE.fullmatch(line):
                rows.append(_cells(line))
            continue
        if rows:
            width = max(map(len, rows))
            filled = [tuple(row + [""] * (width - len(row))) for row in rows]
            yield Block("table", table=Table((filled[0],), tuple(filled[1:])))
            rows = []
        if line.strip():
            yield Block("text", line.strip().lstrip("#").strip())


def _cells(line: str) -> list[str]:
    """The cells of a row, written with strokes around it or only between its cells."""
    if line.startswith("|") and line.rstrip().endswith("|"):
        line = line.strip()[1:-1]
    return [cell.strip() for cell in line.split("|")]


def body(text: str, kind: str) -> str:
    """A passage's text as the reader sees it, without the heading line."""
    return show("", "", "", text, kind).text[1:]


def evidence(text: str) -> str:
    """A claim's evidence as the reader sees it, whole: its tables spelled out."""
    if SEPARATOR not in text and "|" not in text:
        return text
    return "\n".join(body(one.text, one.kind) for one in cut(text))


def shown(source: Source, passage: str) -> str:
    """A body under its heading line."""
    return show(source.title, source.section, source.date, passage, "text").text


def place(answer: str, asked: set[str], passage: str) -> Place | None:
    """Where in ``passage`` an answer is; of several places the one whose surroundings are asked for."""
    best: Place | None = None
    for match in re.finditer(re.escape(answer), passage):
        start, end = match.span()
        if _inside_word(passage, start) or _inside_word(passage, end):
            continue
        line_start = max((one.end() for one in _SENTENCE.finditer(passage, 0, start)), default=0)
        after = _SENTENCE.search(passage, end)
        around = passage[line_start : after.start() if after else len(passage)]
        column = re.match(r" \(([^()]*)\)", passage[end:])
        score = len(asked.intersection(terms(around)))
        score += 2 * len(asked.intersection(terms(column[1]))) if column else 0
        if best is None or score > best.score:
            best = Place((start, end), score)
    return best


def _inside_word(text: str, at: int) -> bool:
    return 0 < at < len(text) and _is_latin(text[at - 1]) and _is_latin(text[at])


def _is_latin(character: str) -> bool:
    return character.isalnum() and character < "\u2e80"


def places(answers: Sequence[str], asked: set[str], passages: Sequence[str]) -> dict[int, list[Span]]:
    """The spans of ``answers`` in the passage that holds most of them, by that passage's position.

    ``asked``: terms of the question, and of the answer's sentence where it is known.
    """
    best: tuple[int, int] = (0, -1)
    found: dict[int, list[Span]] = {}
    for number, passage in enumerate(passages):
        held = [one for answer in answers if answer and (one := place(answer, asked, passage))]
        rank = (len(held), max((one.score for one in held), default=-1))
        if held and rank > best:
            best = rank
            found = {number: list(dict.fromkeys(one.span for one in held))}
    return found
