"""One node at a time: its parts on a scripted model, a small library, and the events it emits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.deps import Deps
from agent.profiles import profile
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.state import Candidate, Evidence, PlanStep, RunState, new_state
from agent.steering import Steering
from models.scripted import HashEmbedder, Scripted, ScriptedChat, WordReader
from traces.library import Library

Make = Callable[..., Deps]


@pytest.fixture
def events() -> list[ev.Event]:
    """What the node emitted."""
    return []


@pytest.fixture
def make(library: Library, embedder: HashEmbedder, events: list[ev.Event]) -> Iterator[Make]:
    """Deps on scripted replies, each of which must be used by the end of the test."""
    chats: list[ScriptedChat] = []

    def deps(
        replies: Sequence[Scripted] = (),
        *,
        profile_name: str = "lean",
        budget: Budget | None = None,
        **changes: Any,
    ) -> Deps:
        chat = ScriptedChat(list(replies))
        chats.append(chat)
        session = Session(chat, budget or Budget(), events.append, Steering())
        cognition = profile(profile_name, WordReader())
        return Deps(
            **{
                "session": session,
                "cognition": cognition,
                "decider": cognition.decider(session),
                "library": library,
                "recall": Recall(library, embedder),
                "reader": WordReader(),
                "collections": tuple(library.collections()),
                **changes,
            }
        )

    yield deps
    for chat in chats:
        chat.assert_consumed()


def state(**changes: Any) -> RunState:
    """A run's state with some fields changed."""
    made: Any = {**new_state("Who supplies Orlavane's ceramic bearings?"), **changes}
    return made  # type: ignore[no-any-return]


def step(question: str, **changes: Any) -> PlanStep:
    """A plan step that asks ``question``."""
    made: Any = {"question": question, "reason": "", "tool": "", "keywords": "", "section": "", **changes}
    return made  # type: ignore[no-any-return]


def candidate(passage_id: int, text: str, **changes: Any) -> Candidate:
    """A recalled passage."""
    made: Any = {
        "passage_id": passage_id,
        "document_id": 1,
        "collection": "reports",
        "document": "annual-report",
        "title": "Annual report",
        "date": "2025-01-01",
        "section": "Item 1",
        "page": None,
        "kind": "text",
        "text": text,
        "score": 0.5,
        "scores": {"vector": 0.5, "coverage": 0.5},
        "grade": "",
        **changes,
    }
    return made  # type: ignore[no-any-return]


def evidence(number: int, text: str, **changes: Any) -> Evidence:
    """A passage that was kept."""
    made: Any = {
        "number": number,
        "step": 1,
        "passage_id": number,
        "collection": "reports",
        "document": "annual-report",
        "title": "Annual report",
        "date": "2025-01-01",
        "section": "Item 1",
        "page": None,
        "kind": "text",
        "text": text,
        "excerpt": text,
        "score": 0.5,
        **changes,
    }
    return made  # type: ignore[no-any-return]


def replied(node: Callable[[], dict[str, Any]], *replies: str) -> dict[str, Any]:
    """What a node that waits for a person returns once these were replied, each after two seconds."""
    from typing import TypedDict

    from langgraph.checkpoint.memory import InMemorySaver
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Command

    class Holder(TypedDict, total=False):
        update: dict[str, Any]

    graph = StateGraph(Holder)
    graph.add_node("node", lambda _state: {"update": node()})
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    compiled = graph.compile(checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "one"}}
    result: Any = compiled.invoke({}, config)
    for reply in replies:
        assert result["__interrupt__"]
        result = compiled.invoke(Command(resume={"reply": reply, "waited": 2.0}), config)
    assert "__interrupt__" not in result
    update: dict[str, Any] = result["update"]
    return update
