"""What must hold of a home whatever happened to the processes that worked in it."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agent.run import resumable
from policy.serving.folder import read
from policy.serving.registry import Registry
from tests.soak.jobs import paragraphs
from traces.library import Library
from traces.paths import store_file
from traces.runs import Runs
from traces.store import Store


@dataclass
class Seen:
    """What a home held at the last check: nothing of it may be gone at the next."""

    decisions: set[tuple[str, int, bool, str]] = field(default_factory=set)
    answers: dict[str, str] = field(default_factory=dict)


def problems(home: Path, seen: Seen) -> list[str]:
    """Everything that does not hold, in sentences; ``seen`` is brought up to date."""
    store = Store(store_file())
    found = [*_documents(store), *_runs(store, seen), *_labels(store, home), *_policy()]
    with store.connect() as db:
        for (table,) in db.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            db.execute(f"SELECT bit_xor(hash(t)) FROM {table} t").fetchall()  # every row can be read
    return found


def _documents(store: Store) -> list[str]:
    library = Library(store)
    found = []
    documents = library.documents("docs")
    for source, times in Counter(one.source for one in documents).items():
        if times > 1:
            found.append(f"{source} is there {times} times")
    for one in documents:
        passages = library.document_passages(one.id)
        names = paragraphs(" ".join(passage.text for passage in passages))
        versions = {name.split(" paragraph ")[0] for name in names}
        if len(versions) != 1 or len(names) != 12:
            found.append(f"{one.name} is half there: {sorted(names)}")
        if [passage.position for passage in passages] != list(range(len(passages))):
            found.append(f"the passages of {one.name} have gaps")
    with store.connect() as db:
        for what, query in _ORPHANS.items():
            [(count,)] = db.execute(f"SELECT count(*) FROM {query}").fetchall()
            if count:
                found.append(f"{count} {what}")
    return found


_ORPHANS = {
    "passages without a document": "chunks WHERE document_id NOT IN (SELECT id FROM documents)",
    "vectors without a passage": "vectors WHERE chunk_id NOT IN (SELECT id FROM chunks)",
    "passages without a vector": "chunks WHERE id NOT IN (SELECT chunk_id FROM vectors)",
    "passages with two vectors": "(SELECT 1 FROM vectors GROUP BY chunk_id HAVING count(*) > 1)",
    "decisions of no run": "decisions WHERE run_id NOT IN (SELECT id FROM runs)",
    "events of no run": "events WHERE run_id NOT IN (SELECT id FROM runs)",
    "decisions that are there twice": """
        (SELECT 1 FROM decisions GROUP BY run_id, seq, shadow HAVING count(*) > 1)
    """,
    "events that are there twice": "(SELECT 1 FROM events GROUP BY run_id, seq HAVING count(*) > 1)",
}


def _runs(store: Store, seen: Seen) -> list[str]:
    runs = Runs(store)
    found = []
    can_go_on = {one.run.id for one in resumable(store)}
    decisions: set[tuple[str, int, bool, str]] = set()
    for one in runs.recent(10_000):
        taken = runs.decisions(one.id)
        acted = [decision.seq for decision in taken if not decision.shadow]
        if acted != list(range(len(acted))):
            found.append(f"the decisions of run {one.id} have gaps: {acted}")
        events = [event.seq for event in runs.events(one.id)]
        if events != list(range(len(events))):
            found.append(f"the events of run {one.id} have gaps: {events}")
        decisions |= {(one.id, d.seq, d.shadow, d.action) for d in taken}
        if one.finished is None and one.id not in can_go_on:
            found.append(f"run {one.id} ({one.status}) has neither ended nor can it be resumed")
        if one.status == "answered" and seen.answers.setdefault(one.id, one.answer) != one.answer:
            found.append(f"the answer of run {one.id} has changed")
    if lost := seen.decisions - decisions:
        found.append(f"decisions are lost: {sorted(lost)}")
    if lost_runs := seen.answers.keys() - {one.id for one in runs.recent(10_000)}:
        found.append(f"runs are lost: {sorted(lost_runs)}")
    seen.decisions = decisions
    return found


def _labels(store: Store, home: Path) -> list[str]:
    """Each decision has the last label that was given to it, or one that was being given."""
    log = home / "log"
    lines: list[list[Any]] = [*map(json.loads, log.read_text().splitlines())] if log.exists() else []
    allowed: dict[tuple[str, int], set[str]] = {}
    for what, run_id, seq, note in lines:
        if what == "done":
            allowed[run_id, seq] = {note}
        else:
            allowed.setdefault((run_id, seq), {""}).add(note)
    with store.connect() as db:
        rows = db.execute("SELECT run_id, seq, note FROM labels").fetchall()
    stored = {(run_id, seq): note for run_id, seq, note in rows}
    return [
        f"decision {place} has the label {stored.get(place, '')!r}, not one of {notes}"
        for place, notes in allowed.items()
        if stored.get(place, "") not in notes
    ]


def _policy() -> list[str]:
    registry = Registry()
    active = registry.active()
    found = [active.warning] if active.warning else []
    if active.folder is not None:
        read(active.folder)  # raises if it is not whole
    found += [f"{one.name}: {one.problem}" for one in registry.listed() if one.problem and not one.boxed]
    return found
