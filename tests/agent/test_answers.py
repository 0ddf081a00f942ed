"""The answers that the product promises, from the 1.5B model on real and sample documents."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.documents import sample_library
from agent.documents.ingest import ingest
from agent.run import Request, run
from models.ocr import RapidOcr
from policy.evaluation.measures import is_right
from policy.questions import read_set
from tests.agent.made import answered
from tests.benchmarks.library import read_into
from tests.formats import FILES, facts
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
    (case,) = (case for case in read_set("sample").cases if case.question == question)
    found = answered(run(Request(question, approve="always"), store=store, **parts))
    assert is_right(case, found.answer)
    assert {source["collection"] for source in found.sources} == {"reports", "newsroom"}
    assert all(claim["verdict"] == "supported" for claim in found.sentences)


_OF_FILES = (  # the ending of a file, or of a mail whose attachment is asked about, and what of its facts
    ("xlsx", "keeper"),
    ("ods", "code"),
    ("scan.pdf", "keeper"),
    ("jpg", "code"),
    ("pptx", "keeper"),
    ("odp", "code"),
    ("eml", "keeper"),
    ("msg", "keeper"),
    ("eml", "code"),
    ("mbox", "code"),
)


def test_ten_questions_of_a_folder_of_every_kind_of_file(parts: Parts, store: Store) -> None:
    events = ingest(
        [FILES], collection="lights", store=store, embedder=parts["embedder"], recogniser=RapidOcr()
    )
    for _ in events:
        pass
    wrong = []
    for ending, asked in _OF_FILES:
        place, keeper, code = facts(ending)[1]
        question, answer = (
            (f"Who is the keeper at {place}?", keeper)
            if asked == "keeper"
            else (f"Which code does the lamp of {place} have?", code)
        )
        found = answered(run(Request(question, approve="always"), store=store, **parts))
        cited = {source["document"].partition("/")[0] for source in found.sources}
        if not (answer in found.answer and cited == {f"2.{ending}"} and found.grounded):
            wrong.append((question, found.answer, cited))
    assert not wrong
