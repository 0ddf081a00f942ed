"""The sample library that ships with the program, and its questions.

About a dozen documents on one invented company, Orlavane Thermal, a maker of heat pumps, with questions,
gold answers and gold passages. Everything is made up, so that no language model knows an answer by heart.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal, get_args

from pydantic import TypeAdapter

__all__ = [
    "COLLECTIONS",
    "KINDS",
    "Evidence",
    "Kind",
    "SampleQuestion",
    "demo_question",
    "documents",
    "questions",
    "root",
]

Kind = Literal[
    "single_fact",
    "table",
    "bridge",
    "comparison",
    "synthesis",
    "superseded",
    "chinese",
    "unanswerable",
]
"""What a question exercises; ``KINDS`` lists the values."""

KINDS: tuple[Kind, ...] = get_args(Kind)

COLLECTIONS: dict[str, str] = {
    "reports": (
        "Formal documents of Orlavane Thermal, Inc.: the annual report for 2024 (business, risk "
        "factors, executives, results, financial statements, outlook), preliminary results, the "
        "review of plants and product reliability, the supplier register and the register of "
        "directors and committees."
    ),
    "newsroom": (
        "What happened after the annual report, March to August 2025: press releases, news about "
        "customers, suppliers, competitors and the joint venture in China, internal memos and "
        "notes on board meetings."
    ),
}
"""Name of each collection, and one line on what can be found in it."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that supports a gold answer.

    ``document`` is a path relative to ``root()``. ``quote`` is verbatim in the
    visible text of that document once runs of whitespace are made one space; a
    row of a table reads as its label and its figures separated by spaces.
    """

    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """One question about the sample library, with its gold answer.

    ``answer`` holds the parts that a right answer must contain, separated by
    ``"; "``. Each entry of ``aliases`` is another complete list of parts that is
    just as acceptable. An answer that contains anything in ``must_not_contain``
    is wrong. ``steps`` are the gold sub-questions in order, for questions that
    take more than one. An unanswerable question has an empty answer and no
    evidence.
    """

    id: str
    kind: Kind
    question: str
    answer: str
    aliases: tuple[str, ...]
    must_not_contain: tuple[str, ...]
    collections: tuple[str, ...]
    evidence: tuple[Evidence, ...]
    steps: tuple[str, ...]
    demo: bool = False


def root() -> Path:
    """Return the folder that holds the collections, one sub-folder each."""
    return Path(str(resources.files(__name__)))


def documents(collection: str) -> list[Path]:
    """Return the documents of one collection, sorted by name.

    Raises:
        ValueError: if there is no collection of that name.
    """
    if collection not in COLLECTIONS:
        names = ", ".join(COLLECTIONS)
        raise ValueError(f"no collection named {collection!r}; the sample library has {names}")
    folder = root() / collection
    return sorted(p for p in folder.iterdir() if p.is_file() and not p.name.startswith("."))


def questions() -> list[SampleQuestion]:
    """Return all questions, in the order of ``questions.jsonl``."""
    text = (root() / "questions.jsonl").read_text(encoding="utf-8")
    read = TypeAdapter(SampleQuestion)
    return [read.validate_json(line) for line in text.splitlines() if line.strip()]


def demo_question() -> SampleQuestion:
    """Return the question that the program offers on its first run."""
    return next(q for q in questions() if q.demo)
