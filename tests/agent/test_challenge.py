"""The question this kind of system was first shown with: a 10-K's risks, and news that bear on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import agent.events as ev
from agent.ingest import ingest
from agent.run import Request, run
from models.llama_cpp_chat import LlamaCppChat
from models.protocols import Chat, Embedder, Message
from models.scripted import ScriptedChat
from tests.benchmarks.library import chat, embedder
from traces.store import Store

NEWS = Path(__file__).with_name("news")
QUESTION = (
    "Based on NVIDIA's annual report for fiscal 2023, which risks from competition does it name, and how "
    "does AMD's launch of the MI300X, with its cloud customers, bear on them?"
)


def _read(store: Store, filing: Path, model: Embedder) -> None:
    described = {
        "filings": ("NVIDIA's annual report (Form 10-K) for fiscal 2023.", filing),
        "news": ("News about AMD's AI accelerators, December 2023 to September 2024.", NEWS),
    }
    for name, (description, path) in described.items():
        list(ingest([path], collection=name, description=description, store=store, embedder=model))


def _answer(request: Request, model: Chat, vectors: Embedder, store: Store) -> list[ev.Event]:
    return list(run(request, chat=model, embedder=vectors, reranker=None, store=store))


def _answered(events: list[ev.Event]) -> ev.Answered:
    return [event for event in events if isinstance(event, ev.Answered)][-1]


def _resolves(answered: ev.Answered) -> bool:
    held = {source["number"] for source in answered.sources}
    return all(set(claim["cites"]) <= held for claim in answered.sentences)


@pytest.mark.model
def test_both_collections_are_searched_and_bear_on_each_other(data: Path, store: Store) -> None:
    vectors = embedder()
    _read(store, data / "filings" / "nvda-10k-fy2023.html", vectors)
    risk = "Competition in our current and target markets could cause us to lose market share and revenue"

    def number_of(words: str, messages: Sequence[Message]) -> int:
        lines = messages[-1].content.splitlines()
        marked = [line for line in lines if line.startswith("[") and words in line]
        return int(marked[-1][1 : marked[-1].index("]")])

    def reads(words: str) -> Callable[[Sequence[Message]], dict[str, Any]]:
        return lambda messages: {"source": number_of(words, messages), "answer": words}

    def written(messages: Sequence[Message]) -> str:
        return (
            f"{risk} [{number_of(risk, messages)}]. "
            "Microsoft, Meta and Oracle joined AMD on stage and said that they would use the MI300X."
        )

    with ScriptedChat([reads(risk), written]) as scripted:
        events = _answer(Request(QUESTION, route="deep"), scripted, vectors, store)
    answered = _answered(events)
    assert {source["collection"] for source in answered.sources} == {"filings", "news"}
    assert any("ITEM 1A" in s["section"].upper() for s in answered.sources if s["collection"] == "filings")
    assert _resolves(answered)
    assert answered.grounded


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCppChat]:
    """The 1.5B."""
    opened = chat()
    yield opened
    opened.close()


@pytest.mark.slow
def test_the_real_model_explains_how_the_one_bears_on_the_other(
    data: Path, model: LlamaCppChat, store: Store
) -> None:
    vectors = embedder()
    _read(store, data / "filings" / "nvda-10k-fy2023.html", vectors)
    events = _answer(Request(QUESTION, approve="always"), model, vectors, store)
    searched = [event for event in events if isinstance(event, ev.Searched)]
    assert {hit["collection"] for event in searched for hit in event.hits} == {"filings", "news"}
    answered = _answered(events)
    assert {source["collection"] for source in answered.sources} == {"filings", "news"}
    assert any("ITEM 1A" in s["section"].upper() for s in answered.sources if s["collection"] == "filings")
    assert "MI300X" in answered.answer
    assert "compet" in answered.answer
    assert _resolves(answered)
    for claim in answered.sentences:
        assert claim["verdict"] == "supported" or claim["reason"]

    single = _answered(_answer(Request(QUESTION, route="single", approve="always"), model, vectors, store))
    both = {source["collection"] for source in single.sources} == {"filings", "news"}
    assert not (both and "MI300X" in single.answer and "compet" in single.answer)
