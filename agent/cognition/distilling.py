"""Distillation: passages shrink to the sentences and table rows that bear on the question."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from agent import prompts
from agent.cognition import tables
from agent.retrieval.terms import terms
from agent.sentences import sentences
from agent.session import Session
from agent.state import Candidate
from models.protocols import Embedder

_LETTERED = re.compile(r"^\s*[\[(]?([A-H])[\])][.:]?\s*(.+)$")
_TERM_WEIGHT = 0.35  # of shared terms against cosine similarity, in a unit's score
_NEAR_BEST = 0.75  # a further sentence is kept if it scores at least this share of its passage's best
_NEAR_BEST_FIRST = (
    0.4  # the best-ranked passage is read more fully: what answers may not repeat the question
)
_NEAR_BEST_ROW = 0.5  # rows are short and alike: "Graphics" scores low where "Computing" scores high
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


class ExtractiveDistiller:
    """Model-free: sentences and rows scored by embedding similarity and shared terms.

    Args:
        embedder: Scores the units.
        most_sentences: Sentences kept of a prose passage.
        most_rows: Rows kept of a table.
    """

    def __init__(self, embedder: Embedder, most_sentences: int = 3, most_rows: int = 6) -> None:
        self._embedder = embedder
        self._most_sentences = most_sentences
        self._most_rows = most_rows

    def distil(
        self,
        session: Session,
        notebook: Sequence[str],
        question: str,
        candidates: Sequence[Candidate],
    ) -> list[Distilled]:
        """All candidates, each with its best units in reading order."""
        return self.extract(question, candidates)

    def extract(self, question: str, candidates: Sequence[Candidate]) -> list[Distilled]:
        """The same without a session, for whoever has none."""
        units = [_units(candidate) for candidate in candidates]
        flat = [unit for parts in units for unit in parts.body]
        if not flat:
            return []
        vectors = self._embedder.embed_passages(flat)
        similarity = vectors @ self._embedder.embed_query(question)
        wanted = set(terms(question))
        shares = [len(wanted.intersection(terms(unit))) / max(1, len(wanted)) for unit in flat]
        scores = np.asarray(similarity) + _TERM_WEIGHT * np.asarray(shares, dtype=np.float32)
        result: list[Distilled] = []
        start = 0
        for candidate, parts in zip(candidates, units, strict=True):
            own = scores[start : start + len(parts.body)]
            start += len(parts.body)
            if len(own) == 0:
                continue
            excerpt = (
                _rows(parts, own, self._most_rows, wanted)
                if parts.table
                else _sentences(parts, own, self._most_sentences, first=not result)
            )
            result.append(Distilled(candidate, excerpt, float(own.max())))
        return result


class ModelDistiller:
    """Asks the model to copy what helps, as the seed's distiller does, and keeps only what it copied.

    Args:
        fallback: Used where the model copies nothing that stands in any passage.
    """

    def __init__(self, fallback: ExtractiveDistiller) -> None:
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
            return self._fallback.extract(question, shown)
        return [
            Distilled(shown[index], _GAP.join(lines), shown[index]["score"])
            for index, lines in sorted(copied.items())
        ]


@dataclass(frozen=True, slots=True)
class _Units:
    """A passage in parts: ``head`` is always shown (a table's caption and header line)."""

    head: tuple[str, ...]
    body: tuple[str, ...]
    table: bool


def _units(candidate: Candidate) -> _Units:
    if candidate["kind"] != "table":
        return _Units((), tuple(sentences(candidate["text"])), table=False)
    head, body = tables.parts(candidate["text"])
    return _Units(tuple(head), tuple(body or head[-1:]), table=True)


def _best(scores: np.ndarray, most: int, near: float) -> list[int]:
    """Positions of the best units, in reading order."""
    enough = float(scores.max()) * near
    order = np.argsort(-scores, kind="stable")[:most]
    return sorted(int(i) for i in order if scores[i] >= enough)


def _sentences(parts: _Units, scores: np.ndarray, most: int, *, first: bool) -> str:
    pieces: list[str] = []
    kept = _best(scores, 2 * most, _NEAR_BEST_FIRST) if first else _best(scores, most, _NEAR_BEST)
    for position, index in enumerate(kept):
        if position:
            pieces.append(" " if index == kept[position - 1] + 1 else _GAP)
        pieces.append(parts.body[index])
    return "".join(pieces)


def _rows(parts: _Units, scores: np.ndarray, most: int, wanted: set[str]) -> str:
    """Head and rows of a table: the rows whose label the question names, else the best ones.

    A small reader that is asked for two segments and shown their total as well answers with the total.
    """
    named = [i for i, row in enumerate(parts.body) if tables.names(row, wanted)]
    kept = named[:most] or _best(scores, most, _NEAR_BEST_ROW)
    rows = tables.with_headings(parts.body, kept)
    return "\n".join([*(line for line in parts.head if line not in rows), *rows])


def _stands_in(copied: str, text: str) -> bool:
    """True if nearly all terms of ``copied`` occur in ``text`` (small models drop commas)."""
    have = set(terms(text))
    copied_terms = terms(copied)
    return bool(copied_terms) and sum(t in have for t in copied_terms) >= 0.9 * len(copied_terms)
