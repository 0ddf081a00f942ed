"""The sample library that ships with the program, and its questions.

About a dozen documents on one invented company, Orlavane Thermal, a maker of heat pumps. Everything is made
up, so that no language model knows an answer by heart. ``questions.jsonl`` has questions with gold answers
and passages, which are verbatim in the visible text of their documents but for white space.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from traces.records import WEB_COLLECTION, Collection

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


def demo_question() -> str:
    """The question that the program offers on its first run; it is about all of `COLLECTIONS`."""
    lines = (root() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return next(str(row["question"]) for row in map(json.loads, lines) if row.get("demo"))
