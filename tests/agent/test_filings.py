"""A real filing, read and searched: what must be found is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.retrieval.recall import Recall, match_sections
from tests.benchmarks.library import read_into
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Scope
from traces.store import Store


@pytest.fixture(scope="module")
def nvidia(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store's file that holds one filing: to be copied, since reading it takes seconds.

    It is without Part III, Part IV and all notes but the one on segments, which would take as long again.
    """
    folder = tmp_path_factory.mktemp("nvidia")
    html = (data / "filings" / "nvda-10k-fy2023.html").read_text("utf-8")
    before, after = html.rindex(">PART III<"), html.index(">Note 17 - <")
    (folder / "nvda-10k-fy2023.html").write_text(html[: before + 1] + html[after + 1 :], "utf-8")
    filing = folder / "nvda-10k-fy2023.html"
    read_into(Store(folder / "store.duckdb"), "filings", [filing], HashEmbedder())
    return folder / "store.duckdb"


@pytest.fixture
def filing(nvidia: Path) -> Library:
    """NVIDIA's filing."""
    return Library(Store(nvidia))


@pytest.mark.parametrize(
    ("query", "value", "label"),
    [
        ("NVIDIA total revenue in fiscal year 2023", "26,974", "Total"),
        ("Compute & Networking segment revenue fiscal 2023", "15,068", "Compute & Networking"),
        ("Graphics segment revenue fiscal 2023", "11,906", "Graphics"),
    ],
)
def test_a_figure_comes_in_a_table_with_its_label_and_its_years(
    filing: Library, embedder: HashEmbedder, query: str, value: str, label: str
) -> None:
    hits = Recall(filing, embedder).search(query, "keyword", [Scope()], 10)
    tables = [h.passage.text for h in hits if h.passage.kind == "table" and value in h.passage.text]
    assert any(
        label in text and "January 29, 2023" in text and "January 30, 2022" in text for text in tables
    ), [h.passage.text[:80] for h in hits]


def test_risk_factors_are_found_though_worded_otherwise(filing: Library, embedder: HashEmbedder) -> None:
    (section,) = match_sections("the risk factors section (Item 1A)", filing.sections(Scope()))
    assert "risk factors" in section.casefold()
    hits = Recall(filing, embedder).search(
        "competition from other chip makers", "hybrid", [Scope(sections=(section,))], 5
    )
    assert len(hits) == 5
    assert all(h.passage.section.startswith(section) for h in hits)
    assert any("compet" in h.passage.text.casefold() for h in hits)
