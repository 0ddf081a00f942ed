"""One step at a time: its parts on a scripted model, a small library, and the events it emits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.decisions.sources import source
from agent.deps import Deps
from agent.profiles import DECIDES, profile
from agent.retrieval.recall import Recall
from agent.session import Session
from agent.steering import Steering
from models.protocols import Reader
from tests.scripted import HashEmbedder, Scripted, ScriptedChat, ScriptedCompleter, TaughtChat, WordReader
from traces.library import Library

Make = Callable[..., Deps]
Events = list[ev.Event]


@pytest.fixture
def events() -> Events:
    """What the node emitted."""
    return []


@pytest.fixture
def make(library: Library, embedder: HashEmbedder, events: Events) -> Iterator[Make]:
    """Deps on scripted replies and plans, each of which must be used by the end of the test."""
    scripts: list[ScriptedChat | ScriptedCompleter] = []

    def deps(
        replies: Sequence[Scripted] = (),
        *,
        plans: Sequence[str | tuple[str, str]] | None = None,
        profile_name: str = "lean",
        budget: Budget | None = None,
        taught: bool = False,
        reader: Reader | None = None,
        **changes: Any,
    ) -> Deps:
        chat = TaughtChat(replies) if taught else ScriptedChat(replies)
        planner = None if plans is None else ScriptedCompleter(plans)
        scripts.extend(script for script in (chat, planner) if script is not None)
        session = Session(chat, budget or Budget(), events.append, Steering())
        reader = reader or WordReader()
        return Deps(
            **{
                "session": session,
                "cognition": profile(profile_name, reader, planner),
                "decider": source(DECIDES[profile_name], session, explain=True),
                "library": library,
                "recall": Recall(library, embedder),
                "reader": reader,
                "collections": tuple(library.collections()),
                **changes,
            }
        )

    yield deps
    for script in scripts:
        script.assert_consumed()
