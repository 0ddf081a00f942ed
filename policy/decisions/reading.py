"""Read decision trees from stores and exported traces: collected questions, and the user's own runs."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from agent.decisions.decider import STATE_VERSION
from agent.state import ACTIONS, Action
from policy.decisions.trees import Node, Seen, Tree
from traces.errors import DeepthinkError
from traces.exchange import take_in
from traces.store import Store
from traces.typed_path import existing_file


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading.

    Attributes:
        trees: One for each run that can be learned from, in the order they were stored.
        other_versions: Decisions skipped because their state has another encoding.
        unmeasured: Runs skipped because nobody measured, rated or labelled them.
        sources: States by the source of their quality.
    """

    trees: list[Tree]
    other_versions: int
    unmeasured: int
    sources: dict[str, int] = field(default_factory=dict)


_SPLIT = re.compile(r"[_-](?:train|dev|validation|test)$")
"""The split in a file name, which is not part of the data set: the same question is the same in both."""


def load_trees(store: Store) -> Read:
    """Every run's decisions as a tree, except runs without a first decision or without any measure.

    The user's own questions form the data set ``own``; their id is the text of the question, so that a
    question asked twice is never on both sides of a split.
    """
    with store.connect() as db:
        rows = db.execute(_DECISIONS, [STATE_VERSION]).fetchall()
        other_versions = db.execute(
            "SELECT count(*) FROM decisions WHERE NOT shadow AND state_version <> ?", [STATE_VERSION]
        ).fetchone()
    by_run: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        by_run[row[0]].append(row)
    trees: list[Tree] = []
    unmeasured = 0
    sources: dict[str, int] = defaultdict(int)
    for run, run_rows in by_run.items():
        nodes = {node.path: node for node in map(_node, run_rows)}
        if "" not in nodes or all(n.quality is None and n.label is None for n in nodes.values()):
            unmeasured += 1
            continue
        for node in nodes.values():
            if node.quality is not None:
                sources[node.source] += 1
        text, dataset, question_id = run_rows[0][1], _SPLIT.sub("", run_rows[0][2]), run_rows[0][3]
        name = f"{dataset}/{question_id}" if dataset else " ".join(str(text).split()).casefold()
        trees.append(Tree(name, dataset or "own", nodes, text, run))
    return Read(trees, int(other_versions[0]) if other_versions else 0, unmeasured, dict(sources))


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


def _node(row: tuple[Any, ...]) -> Node:
    path, text, features, valid, quality, source, detail, label = row[4:]
    # A run that its budget ended still has all the choices of its last state on record.
    actions = tuple(cast(Action, action) for action in json.loads(valid) if action in ACTIONS)
    return Node(
        path=path,
        seen=Seen(text, json.loads(features), actions),
        quality=quality,
        source=source,
        detail=json.loads(detail),
        label=cast(Action | None, label),
    )


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
