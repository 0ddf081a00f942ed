"""Read decision trees from stores and exported traces: collected questions, and the user's own runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import cast

from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS, Action
from policy.decisions.trees import Node, Seen, Tree
from traces.decisions import Counts
from traces.errors import DeepthinkError
from traces.exchange import take_in
from traces.paths import existing_file
from traces.store import Store

NEEDED = 3_000
"""Decisions with today's encoding needed for a first training.

The smallest figure from which a learned controller is reported to gain is 1,000 questions (DynaKRAG,
arXiv 2607.06507: a forest on cheap features, +4.0 to +5.8 F1 over choosing at random), and a run takes
about three decisions.
"""


def usable(counts: Counts) -> int:
    """Decisions with today's encoding."""
    return counts.versions.get(STATE_VERSION, 0)


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading.

    Attributes:
        trees: One for each run that can be learned from, in the order they were stored.
        other_versions: Decisions skipped because their state has another encoding.
        unmeasured: Runs skipped because nobody measured, rated or labelled them.
    """

    trees: list[Tree]
    other_versions: int = 0
    unmeasured: int = 0


_SPLIT = re.compile(r"[_-](?:train|dev|validation|test)$")
"""The split in a file name, which is not part of the data set: the same question is the same in both."""


def load_trees(store: Store) -> Read:
    """Every run's decisions as a tree, except runs without a first decision or without any measure.

    The user's own questions form the data set ``own``; their id is the text of the question, so that a
    question asked twice is never on both sides of a split.
    """
    with store.connect() as db:
        rows = db.execute(_DECISIONS, [STATE_VERSION]).fetchall()
        [(other_versions,)] = db.execute(
            "SELECT count(*) FROM decisions WHERE NOT shadow AND state_version <> ?", [STATE_VERSION]
        ).fetchall()
    trees: list[Tree] = []
    unmeasured = 0
    for run, group in groupby(rows, itemgetter(0)):
        run_rows = list(group)
        _, question, dataset, question_id, *_ = run_rows[0]
        nodes = {node.path: node for node in (_node(*row[4:]) for row in run_rows)}
        if "" not in nodes or all(n.quality is None and n.label is None for n in nodes.values()):
            unmeasured += 1
            continue
        dataset = _SPLIT.sub("", dataset)
        name = f"{dataset}/{question_id}" if dataset else " ".join(question.split()).casefold()
        trees.append(Tree(name, dataset or "own", nodes, question, run))
    return Read(trees, other_versions, unmeasured)


def distinct(trees: Iterable[Tree]) -> list[Tree]:
    """``trees`` of several stores, each run once: a store and its export contain the same runs."""
    unique: dict[tuple[str, str], Tree] = {}
    for number, tree in enumerate(trees):
        # Questions of two files with the same name may share an id; their text differs.
        unique.setdefault((tree.run or f"#{number}", tree.text), tree)
    return list(unique.values())


_DECISIONS = """
    SELECT d.run_id, r.question, coalesce(g.dataset, ''), coalesce(g.question_id, ''),
        d.path, d.text, d.features, d.valid_actions, f.quality, coalesce(f.source, ''),
        coalesce(o.detail, '{}'), l.action
    FROM decisions d
    JOIN runs r ON r.id = d.run_id
    LEFT JOIN gold g ON g.run_id = d.run_id
    LEFT JOIN finishes f ON f.run_id = d.run_id AND f.path = d.path
    LEFT JOIN outcomes o ON o.run_id = d.run_id AND o.path = d.path AND o.source = f.source
    LEFT JOIN labels l ON l.run_id = d.run_id AND l.seq = d.seq
    WHERE NOT d.shadow AND d.state_version = ?
    ORDER BY r.started, d.run_id, d.seq
"""


def _node(
    path: str,
    text: str,
    features: str,
    valid: str,
    quality: float | None,
    source: str,
    detail: str,
    label: Action | None,
) -> Node:
    # A run that its budget ended still has all the choices of its last state on record.
    actions = tuple(cast(Action, action) for action in json.loads(valid) if action in ACTIONS)
    seen = Seen(text, json.loads(features), actions)
    return Node(path, seen, quality, source, json.loads(detail), label)


class NoSuchSource(DeepthinkError):
    """Raised when a named file does not exist."""

    title = "Nothing to read"
    kind = "input"


def open_source(source: Path, folder: Path) -> Store:
    """Open ``source`` as a store; exported traces are read into a new store in ``folder``.

    Raises:
        NoSuchSource: the file does not exist or cannot be accessed.
        BadTraces, StoreError: it is neither an export of traces nor a store.
    """
    path = existing_file(source)
    if path is None:
        raise NoSuchSource(
            f"There is no file {source}.",
            "Name a collected store (.duckdb) or exported traces (.parquet).",
        )
    if path.suffix == ".duckdb":
        return Store(path, named=True)
    folder.mkdir(parents=True, exist_ok=True)
    # Every process of `accelerate launch` reads its own copy.
    digest = hashlib.sha256(str(path.absolute()).encode()).hexdigest()[:12]
    store_path = folder / f"{digest}-{os.environ.get('RANK', '0')}.duckdb"
    store_path.unlink(missing_ok=True)
    store = Store(store_path)
    take_in(store, [path], STATE_VERSION)
    return store
