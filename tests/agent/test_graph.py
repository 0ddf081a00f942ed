"""The graph as it is wired is the one that DESIGN draws."""

from __future__ import annotations

import re

from agent.budget import Budget
from agent.graph import NODES, diagram, recursion_limit

# DESIGN's drawing, edge by edge.
DESIGN = {
    "start": {"route"},
    "route": {"clarify", "answer_directly", "look"},
    "look": {"single_shot", "plan"},
    "clarify": {"route"},
    "answer_directly": {"end"},
    "single_shot": {"next_step"},
    "plan": {"next_step"},
    "next_step": {"retrieve", "rerank", "decide"},  # decide, where a revision brought no new step
    "retrieve": {"rerank"},
    "rerank": {"grade"},
    "grade": {"distil", "correct"},
    "correct": {"retrieve", "distil"},
    "distil": {"reflect"},
    "reflect": {"decide", "synthesise"},  # synthesise, for a single shot
    "decide": {"next_step", "plan", "synthesise"},
    "synthesise": {"verify"},
    "verify": {"end", "approve"},
    "approve": {"end", "synthesise", "plan"},
}


def test_the_printed_diagram_is_the_designs() -> None:
    drawn: dict[str, set[str]] = {}
    for line in diagram("text").splitlines():
        source, _, target, *_ = line.split()
        drawn.setdefault(source, set()).add(target)
    assert drawn == DESIGN


def test_every_node_is_in_the_mermaid_source() -> None:
    source = diagram("mermaid")
    for name in NODES:
        assert re.search(rf"\b{name}\b", source)


def test_a_run_has_a_bound_far_below_langgraphs_own() -> None:
    assert recursion_limit(Budget(steps=1, revisions=0)) < recursion_limit(Budget()) < 1000
