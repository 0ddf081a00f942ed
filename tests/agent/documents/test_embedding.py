"""A library that another embedder made is embedded anew: resumable, searched meanwhile, never mixed."""

from __future__ import annotations

import threading

import filelock
import numpy as np
import pytest

from agent.documents.indexing import embed_library
from agent.retrieval.recall import Recall
from models.protocols import GenerationCancelled
from tests.agent.documents.ingesting import Counting
from tests.agent.made import put
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Scope

TEXTS = [f"Machine {number} is built in the town of Brevnes." for number in range(40)]


@pytest.fixture
def old(library: Library) -> Library:
    """The shared library and forty passages more, all with vectors by another embedder."""
    put(library, "machines", TEXTS, "machines")
    return library


def _found(library: Library, embedder: HashEmbedder) -> dict[str, float]:
    hits = Recall(library, embedder).search("machine 7 in Brevnes", "hybrid", [Scope()], 50)
    return {hit.passage.text: hit.scores.get("vector", -1.0) for hit in hits}


def test_it_ends_as_a_library_that_was_made_with_it(old: Library) -> None:
    new = Counting(64)
    steps = list(embed_library(old, new))
    done = [step.done for step in steps]
    assert done == sorted(done)
    assert (steps[-1].done, steps[-1].seconds_left) == (steps[-1].total, 0)
    assert f"Machines. Item 7. {TEXTS[7]}" in new.texts, "as ingestion embeds it"
    ids, vectors = old.collection_vectors("machines", new.name)
    again = new.embed_passages([f"Machines. Item {n}. {text}" for n, text in enumerate(TEXTS)])
    np.testing.assert_allclose(vectors, again, atol=1e-6)
    assert len(ids) == len(TEXTS)
    assert old.embedder() == new.name
    assert list(embed_library(old, new)) == []


def test_it_goes_on_where_it_was_stopped_and_is_searched_meanwhile(old: Library) -> None:
    new = Counting(64)
    cancel = threading.Event()
    assert set(_found(old, new).values()) == {-1.0}, "found by their words"
    work = embed_library(old, new, cancel=cancel)
    next(work)
    cancel.set()
    with pytest.raises(GenerationCancelled):
        next(work)
    half = len(new.texts)
    found = _found(old, new).values()
    assert -1.0 in found
    assert max(found) > 0.1, "those that have vectors already are found by them"
    list(embed_library(old, new))
    assert len(new.texts) == len(set(new.texts)), "nothing is embedded twice"
    assert len(new.texts) > half
    assert -1.0 not in _found(old, new).values()


def test_one_works_at_it_at_a_time(old: Library) -> None:
    with filelock.FileLock(old.path.with_suffix(".embedding.lock")):
        assert list(embed_library(old, HashEmbedder(64))) == []
    assert list(embed_library(old, HashEmbedder(64)))


def test_it_gives_way_where_the_library_goes_over_to_yet_another(old: Library) -> None:
    slow, other = HashEmbedder(64), HashEmbedder(32)
    work = embed_library(old, slow)
    next(work)
    (first,) = old.unembedded(other.name, 1)
    old.put_vectors([first.id], other.embed_passages(["x"]), other.name, first=True)
    assert list(work) == []
    assert old.embedder() == other.name
    assert old.embedded(other.name)[0] == 1
