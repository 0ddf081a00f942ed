"""A library that another embedder made: told, searched all the same, and embedded anew on the way."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from textual.message import Message

from tests.scripted import HashEmbedder
from tests.tui.conftest import Answer, Run
from traces.library import Library
from tui.app.engine import Engine, EngineChanged
from tui.assemble import open_store
from tui.library import actions

NEW = HashEmbedder(64)


@pytest.fixture
def changed(library: Path, monkeypatch: pytest.MonkeyPatch) -> Library:
    """Two passages of another embedder; the one in use makes one vector at a time."""
    for user in ("assemble", "library.command"):
        monkeypatch.setattr(f"tui.{user}.open_embedder", lambda _settings: NEW)
    monkeypatch.setattr("agent.documents.indexing._STORED_AT_ONCE", 1)
    return Library(open_store())


def test_a_few_passages_are_embedded_before_the_search(changed: Library, deepthink: Run) -> None:
    ran = deepthink("library", "search", "ceramic bearings", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert all("vector" in hit["scores"] for hit in json.loads(ran.out))
    assert changed.embedded(NEW.name) == (2, 2)


def test_of_many_a_note_says_so_and_a_command_embeds_them(
    changed: Library, deepthink: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "_FEW", 0)
    ran = deepthink("library", "search", "ceramic bearings")
    assert "Tolvang" in ran.out
    assert " ".join(ran.err.split()).startswith("Note: 2 of 2 passages have no vector by")
    for _ in range(2):
        ran = deepthink("library", "embed")
        assert (ran.code, ran.err) == (0, "")
        assert f"Every passage has its vector by {NEW.name}." in ran.out
    assert changed.embedded(NEW.name) == (2, 2)


def test_the_app_does_it_between_answers_and_tells_how_far_it_is(
    changed: Library, model: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.assemble.open_chat", lambda _settings: model())
    told: list[EngineChanged] = []
    first = threading.Event()

    def tell(message: Message) -> None:
        if isinstance(message, EngineChanged) and message.part == "library":
            told.append(message)
            first.set()

    engine = Engine(tell)
    work = threading.Thread(target=engine.embed_library)
    with engine.chat():
        work.start()
        assert first.wait(20)
        assert changed.embedded(NEW.name) == (1, 2), "it waits while an answer is written"
    work.join(20)
    assert changed.embedded(NEW.name) == (2, 2)
    assert [(m.state, m.detail) for m in told] == [("loading", "50%"), ("loading", "100%"), ("ready", "")]
    told.clear()
    engine.embed_library()
    assert told == []


def test_an_app_that_closes_stops_it(changed: Library) -> None:
    engine = Engine()
    engine.closing.set()
    engine.embed_library()
    assert changed.embedded(NEW.name) == (0, 2)
