"""The engine: which language model is open, and for how long."""

from __future__ import annotations

import pytest

from tests.tui.conftest import Answering
from tui.app.engine import Engine
from tui.settings.settings import Settings


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Answering]:
    """The language models that were opened, in this order."""
    made: list[Answering] = []

    def open_chat(settings: Settings) -> Answering:
        made.append(Answering(name=settings.model))
        return made[-1]

    monkeypatch.setattr("tui.assemble.open_chat", open_chat)
    return made


def test_a_model_that_cannot_be_opened_leaves_the_one_before(
    opened: list[Answering], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine()
    with engine.chat():
        pass

    def missing(_settings: Settings) -> Answering:
        raise OSError("there is no such file")

    with monkeypatch.context() as patch:
        patch.setattr("tui.assemble.open_chat", missing)
        with pytest.raises(OSError, match="no such file"), engine.chat("another"):
            pytest.fail("there is none")
    with engine.chat() as still:
        assert still is opened[0]
    assert not opened[0].closed
