"""What a person names to learn from or to judge on: a collected store, or exported traces."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from agent.decisions.decider import STATE_VERSION
from policy.reading import load_trees
from policy.trees import Tree
from traces.errors import DeepthinkError
from traces.exchange import take_in
from traces.store import Store
from traces.typed_path import existing_file


class NoSuchSource(DeepthinkError):
    """Raised when a file that was named is not there."""

    title = "Nothing to read"
    kind = "input"


def opened(source: Path, folder: Path) -> Store:
    """The store that ``source`` is, or one in ``folder`` that its exported traces were read into.

    Raises:
        NoSuchSource: there is no such file, or it may not be looked at.
        BadTraces: it is no export of traces.
        StoreError: it is no store, or cannot be read into one.
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


def trees_of(source: Path) -> list[Tree]:
    """The trees that can be learned from in what ``source`` holds. Raises as `opened`."""
    with tempfile.TemporaryDirectory(prefix="deepthink-") as folder:
        return load_trees(opened(source, Path(folder))).trees
