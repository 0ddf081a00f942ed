"""The engine: which language model is open, and for how long."""

from __future__ import annotations

import pytest

from tests.scripted import ScriptedCompleter
from tests.tui.conftest import Answering
from tui.app.engine import Engine
from tui.settings.settings import Settings


def test_a_model_that_cannot_be_opened_leaves_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()

    def missing(_settings: Settings) -> Answering:
        raise OSError("there is no such file")

    with engine.chat() as opened:
        pass
    with monkeypatch.context() as patch:
        patch.setattr("tui.assemble.open_chat", missing)
        with pytest.raises(OSError, match="no such file"), engine.chat("another"):
            pytest.fail("there is none")
    with engine.chat() as still:
        assert still is opened
    assert isinstance(opened, Answering)
    assert not opened.closed


def test_a_planner_fetched_after_the_first_question_plans_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    fetched = ScriptedCompleter([])
    present = iter([None, fetched])
    monkeypatch.setattr("tui.assemble.open_planner", lambda _settings: next(present))
    engine = Engine()
    assert engine.planner() is None
    assert engine.planner() is fetched
    assert engine.planner() is fetched
