"""The funnel's first stage on a small library, and the sections that a planner or a question names."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent.retrieval.recall import WEIGHTS, Recall, Strategy, aim, match_sections, mentioned_sections
from tests.agent.made import put
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Scope


@pytest.fixture
def recall(library: Library, embedder: HashEmbedder) -> Recall:
    return Recall(library, embedder)


@pytest.mark.parametrize("strategy", WEIGHTS)
def test_hits_tell_how_near_they_are(library: Library, embedder: HashEmbedder, strategy: Strategy) -> None:
    # With a depth of one, most hits of a fusion come from one of its rankings only.
    query = "Who makes industrial heat pumps and bearings?"
    for recall in (Recall(library, embedder), Recall(library, embedder, depth=1)):
        hits = recall.search(query, strategy, [Scope(("reports",)), Scope(("news",))], 9)
        assert "heat pumps" in hits[0].passage.text
        assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
        for hit in hits:
            (expected,) = embedder.embed_passages([hit.passage.text]) @ embedder.embed_query(query)
            assert hit.scores["vector"] == pytest.approx(float(expected), abs=1e-5)


def test_near_doubles_stand_behind_another_view(library: Library, embedder: HashEmbedder) -> None:
    texts = ["Ostra heat pump price", "Ostra heat pump price again", "Ostra heat pump warranty in Norway"]
    document_id = put(library, "d", texts)
    hits = Recall(library, embedder).search(
        "Ostra heat pump price warranty", "hybrid", [Scope(documents=(document_id,))], 9
    )
    by = {
        stage: [hit.passage.text for hit in sorted(hits, key=lambda hit: -hit.scores[stage])]
        for stage in ("vector", "mmr")
    }
    assert by["vector"] == texts
    assert by["mmr"] == [texts[0], texts[2], texts[1]]


@pytest.mark.parametrize("strategy", WEIGHTS)
def test_what_another_embedder_made_is_found_by_its_words(library: Library, strategy: Strategy) -> None:
    (hit, *_) = Recall(library, HashEmbedder(64)).search("ceramic bearings", strategy, [Scope()], 3)
    assert "ceramic bearings" in hit.passage.text
    assert "vector" not in hit.scores


def test_phrasings_side_by_side_find_what_they_find_alone(library: Library, embedder: HashEmbedder) -> None:
    queries = [f"{a} {b}" for a in ("bearings", "fire", "Ostra") for b in ("supplier", "weeks", "2025")]
    alone = [_found(Recall(library, embedder), query) for query in queries]
    for _ in range(3):
        recall = Recall(library, embedder)  # a fresh one: the keyword indexes are built under contention
        start = threading.Barrier(len(queries))

        def search(query: str, recall: Recall = recall, start: threading.Barrier = start) -> list[Found]:
            start.wait(timeout=30)
            return _found(recall, query)

        with ThreadPoolExecutor(len(queries)) as threads:
            assert list(threads.map(search, queries)) == alone


def test_a_search_survives_what_another_thread_reads_in(library: Library, embedder: HashEmbedder) -> None:
    recall = Recall(library, embedder)
    done = threading.Event()

    def ingest() -> None:
        try:
            for number in range(6):
                put(library, "e", [f"Ceramic bearings, edition {number}"])
        finally:
            done.set()

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(ingest)
        searches = 0
        while not done.is_set() or not searches:
            hits = recall.search("ceramic bearings", "hybrid", [Scope()], 9)
            assert {"vector", "fused"} <= set(hits[0].scores)
            searches += 1
        reading.result()
    newest = recall.search("ceramic bearings edition", "keyword", [Scope(("news",))], 1)
    assert newest[0].passage.text == "Ceramic bearings, edition 5"


def test_what_the_library_gains_is_found_and_what_it_loses_is_not(library: Library, recall: Recall) -> None:
    before = _found(recall, "A zeppelin lands")
    document_id = put(library, "z", ["A zeppelin lands"])
    for strategy in WEIGHTS:
        (first, *_) = recall.search("Where did the zeppelin land?", strategy, [Scope()], 9)
        assert first.passage.document_id == document_id
    library.remove_document(document_id)
    assert _found(recall, "A zeppelin lands") == before


Found = tuple[int, float, dict[str, float]]


def _found(recall: Recall, query: str) -> list[Found]:
    hits = recall.search(query, "hybrid", [Scope()], 5)
    return [(hit.passage.id, hit.score, hit.scores) for hit in hits]


def test_a_scope_is_a_hard_filter(recall: Recall) -> None:
    for strategy in WEIGHTS:
        hits = recall.search("ceramic bearings supplier", strategy, [Scope(collections=("news",))], 9)
        assert {h.passage.collection for h in hits} <= {"news"}
        assert recall.search("ceramic bearings", strategy, [Scope(collections=("nope",))], 3) == []
    (hit,) = recall.search("Orlavane", "hybrid", [Scope(sections=("Item 2",))], 9)
    assert hit.passage.section == "Item 2"


def test_a_second_scope_lifts_but_does_not_hide(recall: Recall, library: Library) -> None:
    query = "Orlavane industrial heat pumps"
    scopes = aim(library, ["reports", "news"], query, "news", "", hard=False)
    assert scopes == [Scope(("reports", "news")), Scope(("news",))]
    collections = [h.passage.collection for h in recall.search(query, "hybrid", scopes, 9)]
    assert collections[0] == "news"
    assert "reports" in collections


def test_a_hard_aim_keeps_only_what_the_planner_names(library: Library) -> None:
    both = ["reports", "news"]
    assert aim(library, both, "q", "news", "", hard=True) == [Scope(("news",))]
    assert aim(library, both, "q", "", "Item 2", hard=True) == [Scope(("reports", "news"), (), ("Item 2",))]
    assert aim(library, both, "q", "nowhere", "nothing like it", hard=True) == [Scope(("reports", "news"))]


# --- sections, though worded otherwise ---------------------------------------------------------------

_STORED = [
    "Part I › Item 1. Business",
    "Part I › Item 1A. Risk Factors",
    "Part I › Item 1A. Risk Factors › Risks Related to Competition",
    "Part II › Item 7. Management's Discussion and Analysis of Financial Condition",
    "Part II › Item 7A. Quantitative and Qualitative Disclosures about Market Risk",
    "Audit Committee",
]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ("Item 1A. Risk Factors", ["Part I › Item 1A. Risk Factors"]),
        ("item 1a", ["Part I › Item 1A. Risk Factors"]),
        ("Risk Factors section", ["Part I › Item 1A. Risk Factors"]),
        ("Item 1", ["Part I › Item 1. Business"]),
        ("Item 7", ["Part II › Item 7. Management's Discussion and Analysis of Financial Condition"]),
        ("the audit committee", ["Audit Committee"]),
        ("Cash flows", []),
        ("", []),
    ],
)
def test_match(wanted: str, expected: list[str]) -> None:
    assert match_sections(wanted, _STORED) == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "According to the annual report's risk factors, who competes?",
            ["Part I › Item 1A. Risk Factors"],
        ),
        ("What does Item 7 say of revenue?", [_STORED[3]]),
        ("Who chairs the audit committee?", ["Audit Committee"]),
        ("What is the business about?", []),  # one common word names no section
    ],
)
def test_mentioned(question: str, expected: list[str]) -> None:
    assert mentioned_sections(question, _STORED) == expected
