"""The answers that the product promises, from the 1.5B model on real and sample documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.documents import sample_library
from agent.run import Request, run
from policy.evaluation.measures import holds
from tests.agent.made import answered
from tests.benchmarks.library import read_into
from traces.store import Store
from tui.assemble import open_chat, open_embedder, open_planner, open_reader
from tui.settings.settings import load

pytestmark = pytest.mark.slow


Parts = dict[str, Any]


@pytest.fixture(scope="module")
def parts() -> Iterator[Parts]:
    settings = load()
    with closing(open_chat(settings)) as chat:
        yield {
            "chat": chat,
            "embedder": open_embedder(settings),
            "reader": open_reader(settings),
            "planner": open_planner(settings),
        }


def test_both_segments_and_their_changes_from_a_10k(data: Path, parts: Parts, store: Store) -> None:
    read_into(store, "filings", [data / "filings" / "nvda-10k-fy2023.html"], parts["embedder"])
    question = (
        "What were NVIDIA's Compute & Networking and Graphics revenues in fiscal 2023, "
        "and how did each change from 2022?"
    )
    found = answered(run(Request(question, approve="always"), store=store, **parts))
    for part in ("15,068", "36%", "11,906", "25%"):
        assert part in found.answer
    assert found.sources
    assert all(claim["verdict"] == "supported" for claim in found.sentences)


def test_the_demo_question_over_two_collections(parts: Parts, store: Store) -> None:
    for name, description in sample_library.COLLECTIONS.items():
        read_into(store, name, sample_library.documents(name), parts["embedder"], description)
    question = sample_library.demo_question()
    found = answered(run(Request(question.question, approve="always"), store=store, **parts))
    assert holds(found.answer, [question.answer, *question.aliases])
    assert not any(holds(found.answer, [wrong]) for wrong in question.must_not_contain)
    assert {source["collection"] for source in found.sources} == {"reports", "newsroom"}
    assert all(claim["verdict"] == "supported" for claim in found.sentences)
