"""Distillation: passages shrink to the sentences and table rows that bear on the question."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from agent import prompts
from agent.cognition import tables
from agent.retrieval.terms import terms
from agent.session import Session
from agent.state import Candidate
from agent.text.sentences import sentences

_LETTERED = re.compile(r"^\s*[\[(]?([A-H])[\])][.:]?\s*(.+)$")
_SHORT = 900  # characters; about a passage of prose as it is cut
_MOST_ROWS = 8
_GAP = " … "


@dataclass(frozen=True, slots=True)
class Distilled:
    """What is left of a passage, and how well its best part fits the question (0 to about 1)."""

    candidate: Candidate
    excerpt: str
    score: float


class Distiller(Protocol):
    """Picks what matters out of passages. Every part of an excerpt stands word for word in its chunk."""

    def distil(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        candidates: Sequence[Candidate],
    ) -> list[Distilled]:
        """One entry for each passage that is kept, in the order of ``candidates``."""
        ...


class SpanDistiller:
    """Keeps what the reader points at: the sentences around its spans, and the table rows that hold them.

    The best passage is kept whole where it is short: what answers may stand beside what was marked.
    """

    def distil(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        candidates: Sequence[Candidate],
    ) -> list[Distilled]:
        """All candidates, each with its best units in reading order."""
        return self.extract(candidates)

    def extract(self, candidates: Sequence[Candidate]) -> list[Distilled]:
        """The same without a session, for whoever has none."""
        return [
            Distilled(candidate, _excerpt(candidate, first=position == 0), candidate["score"])
            for position, candidate in enumerate(candidates)
        ]


class ModelDistiller:
    """Asks the model to copy what helps, as the seed's distiller does, and keeps only what it copied.

    Args:
        fallback: Used where the model copies nothing that stands in any passage.
    """

    def __init__(self, fallback: SpanDistiller) -> None:
        self._fallback = fallback

    def distil(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        candidates: Sequence[Candidate],
    ) -> list[Distilled]:
        """The passages the model copied from; invented lines are dropped."""
        shown = candidates[:8]
        instruction = prompts.distil(question, [c["text"] for c in shown])
        reply = session.write("distil", notebook, instruction, 320)
        copied: dict[int, list[str]] = {}
        for line in reply.text.splitlines():
            match = _LETTERED.match(line)
            if match is None:
                continue
            index = ord(match.group(1)) - ord("A")
            if index < len(shown) and _stands_in(match.group(2), shown[index]["text"]):
                copied.setdefault(index, []).append(match.group(2).strip())
        if not copied:
            return self._fallback.extract(shown)
        return [
            Distilled(shown[index], _GAP.join(lines), shown[index]["score"])
            for index, lines in sorted(copied.items())
        ]


def _excerpt(candidate: Candidate, *, first: bool) -> str:
    spans = candidate.get("spans", [])
    if first and len(candidate["text"]) <= _SHORT:
        return candidate["text"]
    units = {span["unit"] for span in spans}
    return _rows(candidate, units) if candidate["kind"] == "table" else _sentences(candidate, units)


def _sentences(candidate: Candidate, units: Collection[str]) -> str:
    """The sentences that hold a span, each with its neighbours; the first ones where none does."""
    parts = sentences(candidate["text"])
    marked = [i for i, part in enumerate(parts) if any(_folded(part) in unit for unit in units)] or [0]
    kept = sorted({near for i in marked for near in (i - 1, i, i + 1) if 0 <= near < len(parts)})
    pieces: list[str] = []
    for position, index in enumerate(kept):
        if position:
            pieces.append(" " if index == kept[position - 1] + 1 else _GAP)
        pieces.append(parts[index])
    return "".join(pieces)


def _rows(candidate: Candidate, units: Collection[str]) -> str:
    """Head and rows of a table: those that hold a span; all where the table is small or none does."""
    head, body = tables.parts(candidate["text"])
    spelled = {row.line: _folded(row.spelled()) for row in tables.rows(candidate["text"])}
    marked = [i for i, line in enumerate(body) if spelled.get(line) in units]
    kept = marked if marked and len(body) > _MOST_ROWS else list(range(len(body)))[:_MOST_ROWS]
    rows = tables.with_headings(body, kept)
    return "\n".join([*(line for line in head if line not in rows), *rows])


def _folded(text: str) -> str:
    return " ".join(text.split())


def _stands_in(copied: str, text: str) -> bool:
    """True if nearly all terms of ``copied`` occur in ``text`` (small models drop commas)."""
    have = set(terms(text))
    copied_terms = terms(copied)
    return bool(copied_terms) and sum(t in have for t in copied_terms) >= 0.9 * len(copied_terms)
