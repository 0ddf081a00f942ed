"""Step ``retrieve``: one phrasing."""

from __future__ import annotations

import agent.events as ev
from agent.state import Search
from agent.steps.retrieve import retrieve
from tests.agent.steps.conftest import Make
from traces.library import Library

SEARCH = Search(
    step=2,
    query="What halted the plant of Tolvang Ceramics?",
    keywords="",
    strategy="hybrid",
    tool="",
    section="",
    question="What halted the plant of Tolvang Ceramics?",
    rung="reword",
    hard=False,
    collections=["reports", "news"],
    documents=[],
    sections=[],
)


def test_it_brings_candidates_with_their_scores(make: Make, events: list[ev.Event]) -> None:
    (recalled,) = retrieve(SEARCH, make())["recalled"]
    assert recalled["query"] == SEARCH["query"]
    assert recalled["rung"] == "reword"
    assert "fire" in {c["document"] for c in recalled["candidates"][:2]}
    assert {"vector", "coverage"} <= set(recalled["candidates"][0]["scores"])
    (event,) = events
    assert isinstance(event, ev.Searched)
    assert (event.step, event.rung, event.hits) == (2, "reword", recalled["candidates"])


def test_named_documents_are_the_only_ones_searched(make: Make, library: Library) -> None:
    (launch,) = [d.id for d in library.documents("news") if d.name == "launch"]
    held = Search({**SEARCH, "collections": ["news"], "documents": [launch]})
    (recalled,) = retrieve(held, make())["recalled"]
    assert {c["document"] for c in recalled["candidates"]} == {"launch"}


def test_a_hard_tool_shuts_the_others_out(make: Make) -> None:
    held = Search({**SEARCH, "tool": "reports", "hard": True})
    (recalled,) = retrieve(held, make())["recalled"]
    assert {c["collection"] for c in recalled["candidates"]} == {"reports"}
