"""Read decision trees from stores and exported traces: collected questions, and a person's own runs."""

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
    """What was read.

    Attributes:
        trees: One for each run that can be learned from, in the order they were stored.
        other_versions: Decisions left out because their state has another encoding.
        unmeasured: Runs left out because nobody measured, rated or labelled them.
        sources: States by where their quality is from.
    """

    trees: list[Tree]
    other_versions: int
    unmeasured: int
    sources: dict[str, int] = field(default_factory=dict)


_SPLIT = re.compile(r"[_-](?:train|dev|validation|test)$")
"""A file name tells its split, which is no part of the set: the same question is the same in both."""


def load_trees(store: Store) -> Read:
    """Every run's decisions as a tree, but for runs without a first decision or without any measure.

    A person's question is of the data set ``own``; its id is the question in words, so that a question
    asked twice is never on both sides of a split.
    """
    with store.connect() as db:
        rows = db.execute(_DECISIONS, [STATE_VERSION]).fetchall()
        other = db.execute(
            "SELECT count(*) FROM decisions WHERE NOT shadow AND state_version <> ?", [STATE_VERSION]
        ).fetchone()
    by_run: dict[str, list[tuple[Any, ...]]] = defaultdict(list)
    for row in rows:
        by_run[row[0]].append(row)
    trees: list[Tree] = []
    unmeasured = 0
    sources: dict[str, int] = defaultdict(int)
    for run, found in by_run.items():
        nodes = {node.path: node for node in map(_node, found)}
        if "" not in nodes or all(n.quality is None and n.label is None for n in nodes.values()):
            unmeasured += 1
            continue
        for node in nodes.values():
            if node.quality is not None:
                sources[node.source] += 1
        text, dataset, question_id = found[0][1], _SPLIT.sub("", found[0][2]), found[0][3]
        name = f"{dataset}/{question_id}" if dataset else " ".join(str(text).split()).casefold()
        trees.append(Tree(name, dataset or "own", nodes, text, run))
    return Read(trees, int(other[0]) if other else 0, unmeasured, dict(sources))


def distinct(trees: Iterable[Tree]) -> list[Tree]:
    """``trees`` of several stores, each run once: a store and an export of it hold the same runs."""
    kept: dict[tuple[str, str], Tree] = {}
    for number, tree in enumerate(trees):
        # Two files of the same name and their first lines go by the same id; their words differ.
        kept.setdefault((tree.run or f"#{number}", tree.text), tree)
    return list(kept.values())


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
    # The budget ends a run whatever else would be possible: such a state still has its choices on record.
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
    """Raised when a file that was named is not there."""

    title = "Nothing to read"
    kind = "input"


def opened(source: Path, folder: Path) -> Store:
    """The store that ``source`` is, or one in ``folder`` that its exported traces were read into.

    Raises:
        NoSuchSource: there is no such file, or it may not be looked at.
        BadTraces, StoreError: it is neither an export of traces nor a store.
    """
    there = existing_file(source)
    if there is None:
        raise NoSuchSource(
            f"There is no file {source}.",
            "Name a collected store (.duckdb) or exported traces (.parquet).",
        )
    if there.suffix == ".duckdb":
        return Store(there, named=True)
    folder.mkdir(parents=True, exist_ok=True)
    # Every process of `accelerate launch` reads for itself.
    digest = hashlib.sha256(str(there.absolute()).encode()).hexdigest()[:12]
    place = folder / f"{digest}-{os.environ.get('RANK', '0')}.duckdb"
    place.unlink(missing_ok=True)
    store = Store(place)
    take_in(store, [there], STATE_VERSION)
    return store
