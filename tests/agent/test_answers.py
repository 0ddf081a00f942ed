"""The answers that the product promises, from the 1.5B model on real and sample documents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import agent.events as ev
from agent.documents import sample_library
from agent.run import Request, run
from models.boxed_planner import shipped_planner
from models.boxed_reader import BoxedReader
from models.llama_cpp import LlamaCppChat
from policy.evaluation.measures import holds
from tests.agent.made import answered
from tests.benchmarks.library import chat, embedder, read_into
from traces.store import Store

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def model() -> Iterator[LlamaCppChat]:
    opened = chat()
    yield opened
    opened.close()


def _answer(request: Request, model: LlamaCppChat, store: Store) -> ev.Answered:
    events = run(
        request,
        chat=model,
        embedder=embedder(),
        reader=BoxedReader(),
        planner=shipped_planner(),
        store=store,
    )
    return answered(list(events))


def test_both_segments_and_their_changes_from_a_10k(data: Path, model: LlamaCppChat, store: Store) -> None:
    read_into(store, "filings", [data / "filings" / "nvda-10k-fy2023.html"])
    question = (
        "What were NVIDIA's Compute & Networking and Graphics revenues in fiscal 2023, "
        "and how did each change from 2022?"
    )
    found = _answer(Request(question, approve="always"), model, store)
    for part in ("15,068", "36%", "11,906", "25%"):
        assert part in found.answer
    assert found.sources
    assert all(claim["verdict"] == "supported" for claim in found.sentences)


def test_the_demo_question_over_two_collections(model: LlamaCppChat, store: Store) -> None:
    for name, description in sample_library.COLLECTIONS.items():
        read_into(store, name, sample_library.documents(name), description)
    question = sample_library.demo_question()
    found = _answer(Request(question.question, approve="always"), model, store)
    assert holds(found.answer, [question.answer, *question.aliases])
    assert not any(holds(found.answer, [wrong]) for wrong in question.must_not_contain)
    assert {source["collection"] for source in found.sources} == {"reports", "newsroom"}
    assert all(claim["verdict"] == "supported" for claim in found.sentences)
