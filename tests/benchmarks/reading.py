"""What search and reader find of a person's own documents, without a language model."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path

from agent.retrieval.recall import Recall
from agent.state import Candidate
from agent.steps.rerank import read
from agent.steps.retrieve import candidate
from models.protocols import Reader
from policy.questions import fill, read_set, sets_in
from tests.benchmarks.library import embedder, reader
from tests.benchmarks.table import Row, Table
from tests.conftest import DATA
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store

_READ = 24  # passages, as in a run


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with what was found for it.

    Attributes:
        answerable: Whether the documents say it.
        recalled: Whether a gold passage is among those that were read.
        file: Whether the gold file is among the first three.
        first: Whether a gold passage comes first.
        probability: Of the best span.
        right: Whether the best span, with its sentence, matches what a right answer must.
    """

    answerable: bool
    recalled: bool
    file: bool
    first: bool
    probability: float
    right: bool


def measure() -> Table:
    """Searches and reads every question of the six collections."""
    store = Store(paths.store_file())
    asked: list[Asked] = []
    for name in sets_in(str(DATA / "own")):
        for _ in fill(read_set(name), store, embedder()):
            pass
        asked += ask(Path(name), store, reader())
    said = [one for one in asked if one.answerable]
    sure = [one for one in asked if one.probability >= 0.5]
    rows = [
        Row("gold passage among those read", _share([one.recalled for one in said])),
        Row("gold file among the first 3", _share([one.file for one in said]), "96 %"),
        Row("gold passage first", _share([one.first for one in said]), "80 %"),
        Row(
            "reader sure (0.5) of an answer: of all questions",
            _share([o.probability >= 0.5 for o in asked]),
        ),
        Row("right where it is sure", _share([one.right for one in sure])),
        Row(
            "sure of an unanswerable one", _share([o.probability >= 0.5 for o in asked if not o.answerable])
        ),
        Row("answerable told from unanswerable by the best span, AUROC", f"{auroc(asked):.2f}"),
    ]
    return Table("reading", "Search and reader over own documents", rows, ["The six collections of `own`."])


def ask(file: Path, store: Store, reading: Reader) -> list[Asked]:
    """Every question of one set."""
    recall = Recall(Library(store), embedder())
    name = file.parent.name
    found: list[Asked] = []
    for line in file.read_text("utf-8").splitlines():
        record = json.loads(line)
        hits = recall.search(record["question"], "hybrid", [Scope(collections=(name,))], _READ)
        passages = read(reading, record["question"], [candidate(hit) for hit in hits])
        gold = [_is_gold(passage, record.get("evidence", {})) for passage in passages]
        spans = [(span["probability"], span) for one in passages for span in one.get("spans", [])]
        best = max(spans, key=lambda pair: pair[0], default=(0.0, None))
        text = f"{best[1]['text']} {best[1]['unit']}" if best[1] else ""
        found.append(
            Asked(
                not record["abstain"],
                any(gold),
                any(one["document"] in record["source"] for one in passages[:3]),
                bool(gold and gold[0]),
                best[0],
                bool(record["all"]) and all(re.search(p, text, re.IGNORECASE) for p in record["all"]),
            )
        )
    return found


def auroc(asked: list[Asked]) -> float:
    """Probability that an answerable question's best span is more probable than an unanswerable one's."""
    said = [one.probability for one in asked if one.answerable]
    unsaid = [one.probability for one in asked if not one.answerable]
    wins = sum((a > b) + 0.5 * (a == b) for a in said for b in unsaid)
    return wins / max(1, len(said) * len(unsaid))


def _is_gold(passage: Candidate, evidence: dict[str, list[str]]) -> bool:
    text = re.sub(r"\s+", " ", passage["text"])
    patterns = evidence.get(passage["document"], [])
    return any(re.search(pattern, text, re.IGNORECASE) for pattern in patterns)


def _share(values: list[bool]) -> str:
    return f"{100 * sum(values) / max(1, len(values)):.0f} % of {len(values)}"
