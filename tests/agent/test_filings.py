"""Real filings through the real funnel with MiniLM: what must be found is found.

Last, the question this kind of system was first shown with: a 10-K's risks, and news that bear on them.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent.events as ev
from agent.retrieval.recall import Recall, aim, match_sections
from agent.run import Request, run
from models.llama_cpp import LlamaCppChat
from models.protocols import Chat, Embedder
from tests.agent.made import answered, only
from tests.benchmarks import library as made
from traces.library import Library
from traces.records import Scope
from traces.store import Store

pytestmark = pytest.mark.model

NEWS = Path(__file__).with_name("news")
_QUESTION = (
    "What were NVIDIA's Compute & Networking and Graphics revenues in fiscal 2023, "
    "and how did each change from 2022?"
)
_CHALLENGE = (
    "Based on NVIDIA's annual report for fiscal 2023, which risks from competition does it name, and how "
    "does AMD's launch of the MI300X, with its cloud customers, bear on them?"
)


@pytest.fixture(scope="module")
def minilm() -> Embedder:
    return made.embedder()


@pytest.fixture(scope="module")
def nvidia(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store's file that holds one filing: to be copied, since reading it takes half a minute.

    It is without Part III, Part IV and all notes but the one on segments, which would take as long again.
    """
    folder = tmp_path_factory.mktemp("nvidia")
    html = (data / "filings" / "nvda-10k-fy2023.html").read_text("utf-8")
    before, after = html.rindex(">PART III<"), html.index(">Note 17 - <")
    (folder / "nvda-10k-fy2023.html").write_text(html[: before + 1] + html[after + 1 :], "utf-8")
    made.read_into(Store(folder / "store.duckdb"), "filings", [folder / "nvda-10k-fy2023.html"])
    return folder / "store.duckdb"


@pytest.fixture
def filing(nvidia: Path) -> Library:
    """NVIDIA's filing."""
    return Library(Store(nvidia))


@pytest.fixture
def bearing(nvidia: Path, tmp_path: Path) -> Store:
    """NVIDIA's filing, and news in a collection of their own."""
    store = Store(Path(shutil.copy(nvidia, tmp_path)))
    Library(store).describe_collection("filings", "NVIDIA's annual report (Form 10-K) for fiscal 2023.")
    news = "News about AMD's AI accelerators, December 2023 to September 2024."
    made.read_into(store, "news", [NEWS], news)
    return store


@pytest.mark.parametrize(
    ("query", "value", "label"),
    [
        ("NVIDIA total revenue in fiscal year 2023", "26,974", "Total"),
        ("Compute & Networking segment revenue fiscal 2023", "15,068", "Compute & Networking"),
        ("Graphics segment revenue fiscal 2023", "11,906", "Graphics"),
    ],
)
def test_a_figure_comes_in_a_table_with_its_label_and_its_years(
    filing: Library, minilm: Embedder, query: str, value: str, label: str
) -> None:
    hits = Recall(filing, minilm).search(query, "hybrid", [Scope()], 10)
    tables = [h.passage.text for h in hits if h.passage.kind == "table" and value in h.passage.text]
    assert any(
        label in text and "January 29, 2023" in text and "January 30, 2022" in text for text in tables
    ), [h.passage.text[:80] for h in hits]


def test_the_question_brings_both_segments_in_one_table(filing: Library, minilm: Embedder) -> None:
    scopes = aim(filing, ["filings"], _QUESTION, "", "", hard=False)
    hits = Recall(filing, minilm).search(_QUESTION, "hybrid", scopes, 5)
    assert any("15,068" in h.passage.text and "11,906" in h.passage.text for h in hits)


def test_the_risk_factors_are_found_though_worded_otherwise(filing: Library, minilm: Embedder) -> None:
    (section,) = match_sections("the risk factors section (Item 1A)", filing.sections(Scope()))
    assert "risk factors" in section.casefold()
    hits = Recall(filing, minilm).search(
        "competition from other chip makers", "hybrid", [Scope(sections=(section,))], 5
    )
    assert len(hits) == 5
    assert all(h.passage.section.startswith(section) for h in hits)
    assert any("compet" in h.passage.text.casefold() for h in hits)


def _answer(request: Request, model: Chat, vectors: Embedder, store: Store) -> list[ev.Event]:
    return list(run(request, chat=model, embedder=vectors, reader=made.reader(), store=store))


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCppChat]:
    """The 1.5B."""
    opened = made.chat()
    yield opened
    opened.close()


@pytest.mark.slow
def test_the_real_model_explains_how_the_one_bears_on_the_other(
    model: LlamaCppChat, bearing: Store, minilm: Embedder
) -> None:
    events = _answer(Request(_CHALLENGE, approve="always"), model, minilm, bearing)
    assert {hit["collection"] for event in only(events, ev.Searched) for hit in event.hits} == {
        "filings",
        "news",
    }
    found = answered(events)
    assert {source["collection"] for source in found.sources} == {"filings", "news"}
    assert any("ITEM 1A" in s["section"].upper() for s in found.sources if s["collection"] == "filings")
    assert "MI300X" in found.answer
    assert "compet" in found.answer
    held = {source["number"] for source in found.sources}
    for claim in found.sentences:
        assert set(claim["cites"]) <= held
        assert claim["verdict"] == "supported" or claim["reason"]

    single = answered(
        _answer(Request(_CHALLENGE, route="single", approve="always"), model, minilm, bearing)
    )
    both = {source["collection"] for source in single.sources} == {"filings", "news"}
    assert not (both and "MI300X" in single.answer and "compet" in single.answer)
