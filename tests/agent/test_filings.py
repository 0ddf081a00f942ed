"""Real filings through the real funnel with MiniLM: what must be found is found. No language model."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.ingest import FileDone, ingest
from agent.retrieval.recall import Recall, aim
from agent.retrieval.sections import match_sections
from models.catalogue import entry
from models.local_embedder import LocalEmbedder, open_embedder
from tests.benchmarks.filings import pages_found
from traces import paths
from traces.library import Library
from traces.records import Scope
from traces.store import Store

pytestmark = pytest.mark.model

_QUESTION = (
    "What were NVIDIA's Compute & Networking and Graphics revenues in fiscal 2023, "
    "and how did each change from 2022?"
)


@pytest.fixture(scope="module")
def minilm() -> LocalEmbedder:
    return open_embedder(entry("all-minilm-l6-v2").location(paths.models_dir()))


@pytest.fixture(scope="module")
def filings(
    data: Path, minilm: LocalEmbedder, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Store, dict[str, FileDone]]:
    store = Store(tmp_path_factory.mktemp("filings") / "store.duckdb")
    done: dict[str, FileDone] = {}
    for event in ingest([data / "filings"], collection="filings", store=store, embedder=minilm):
        if isinstance(event, FileDone):
            done[event.name] = event
    return store, done


def test_nearly_all_text_of_every_filing_is_in_chunks(filings: tuple[Store, dict[str, FileDone]]) -> None:
    _, done = filings
    assert len(done) >= 4
    assert {name: event.coverage for name, event in done.items() if event.coverage < 0.95} == {}


@pytest.mark.parametrize(
    ("query", "value", "label"),
    [
        ("NVIDIA total revenue in fiscal year 2023", "26,974", "Total"),
        ("Compute & Networking segment revenue fiscal 2023", "15,068", "Compute & Networking"),
        ("Graphics segment revenue fiscal 2023", "11,906", "Graphics"),
    ],
)
def test_a_figure_comes_in_a_table_with_its_label_and_its_years(
    filings: tuple[Store, dict[str, FileDone]], minilm: LocalEmbedder, query: str, value: str, label: str
) -> None:
    store, _ = filings
    hits = Recall(Library(store), minilm).search(query, "hybrid", [Scope()], 10)
    tables = [h.passage.text for h in hits if h.passage.kind == "table" and value in h.passage.text]
    assert any(
        label in text and "January 29, 2023" in text and "January 30, 2022" in text for text in tables
    ), [h.passage.text[:80] for h in hits]


def test_the_question_brings_both_segments_in_one_table(
    filings: tuple[Store, dict[str, FileDone]], minilm: LocalEmbedder
) -> None:
    store, _ = filings
    library = Library(store)
    scopes = aim(library, ["filings"], _QUESTION, "", "", hard=False)
    hits = Recall(library, minilm).search(_QUESTION, "hybrid", scopes, 5)
    assert any("15,068" in h.passage.text and "11,906" in h.passage.text for h in hits)


def test_the_risk_factors_are_found_though_worded_otherwise(
    filings: tuple[Store, dict[str, FileDone]], minilm: LocalEmbedder
) -> None:
    store, _ = filings
    library = Library(store)
    nvidia = next(d.id for d in library.documents() if d.name.startswith("nvda"))
    whole = Scope(documents=(nvidia,))
    (section,) = match_sections("the risk factors section (Item 1A)", library.sections(whole))
    assert "risk factors" in section.casefold()
    hits = Recall(library, minilm).search(
        "competition from other chip makers", "hybrid", [Scope(documents=(nvidia,), sections=(section,))], 5
    )
    assert len(hits) == 5
    assert all(h.passage.section.startswith(section) for h in hits)
    assert any("compet" in h.passage.text.casefold() for h in hits)


def test_financebench_pages_are_among_the_top_ten(
    filings: tuple[Store, dict[str, FileDone]], minilm: LocalEmbedder
) -> None:
    store, _ = filings
    found, misses = pages_found(store, minilm)
    assert len(found) >= 11, misses
