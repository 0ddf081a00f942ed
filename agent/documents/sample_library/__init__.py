"""The sample library that ships with the program, and its questions.

About a dozen documents on one invented company, Orlavane Thermal, a maker of heat pumps, with questions,
gold answers and gold passages. Everything is made up, so that no language model knows an answer by heart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter

from traces.records import WEB_COLLECTION, Collection

Kind = Literal[
    "single_fact", "table", "bridge", "comparison", "synthesis", "superseded", "chinese", "unanswerable"
]

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
    """A passage that supports a gold answer."""

    document: str  # path relative to ``root()``
    quote: str
    """Verbatim in the visible text of the document, with runs of white space as one space. The row of a
    table is its label and its figures, separated by spaces."""


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A question about the sample library."""

    id: str
    kind: Kind  # what it exercises
    question: str
    answer: str  # the parts that a right answer contains, separated by ``; ``; "" if it is unanswerable
    aliases: tuple[str, ...]  # other complete lists of parts, just as acceptable
    must_not_contain: tuple[str, ...]  # what makes an answer wrong
    collections: tuple[str, ...]
    evidence: tuple[Evidence, ...]  # the gold passages; none if it is unanswerable
    steps: tuple[str, ...]  # the gold sub-questions in order, for questions that take more than one
    demo: bool = False  # whether the program offers it on its first run


def root() -> Path:
    """The folder with the collections, one sub-folder each."""
    return Path(str(resources.files(__name__)))


def documents(collection: str) -> list[Path]:
    """The documents of a collection, sorted by name."""
    return sorted(path for path in (root() / collection).iterdir() if not path.name.startswith("."))


def is_sample(collection: Collection) -> bool:
    """Whether a collection is one of the sample library, and nothing was added to it."""
    described = COLLECTIONS.get(collection.name)
    return described == collection.description and collection.documents == len(documents(collection.name))


def without_samples(collections: Sequence[Collection]) -> tuple[Collection, ...]:
    """The collections; those of the sample library only if there are no others but the web's."""
    own = tuple(c for c in collections if not is_sample(c))
    return own if any(c.name != WEB_COLLECTION for c in own) else tuple(collections)


def questions() -> list[SampleQuestion]:
    """All questions, in the order of ``questions.jsonl``."""
    lines = (root() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return list(map(TypeAdapter(SampleQuestion).validate_json, lines))


def demo_question() -> SampleQuestion:
    """The question that the program offers on its first run."""
    return next(question for question in questions() if question.demo)
