"""The boxed planner on a tiny model: what it counts, and how its call is cancelled."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from models.boxed_planner.planner import BoxedPlanner
from models.protocols import GenerationCancelled, Usage
from tests.models.llama_cpp.test_chat import write_adapter
from tests.tiny_model import WIDTH, write_tiny

TEXT = "Question: who?\nPlan:"


class _SetLater(threading.Event):
    """Set once it was asked that often."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self._times = times

    def is_set(self) -> bool:
        self._times -= 1
        return self._times < 0


def test_a_plan_is_counted_and_can_be_cancelled_while_it_is_written(tmp_path: Path) -> None:
    planner = BoxedPlanner(
        write_tiny(tmp_path / "tiny.gguf"), write_adapter(tmp_path / "adapter.gguf", WIDTH)
    )
    whole = planner.complete(TEXT, 64)
    assert whole.usage.evaluated + whole.usage.reused > len(TEXT.split())
    assert whole.usage.generated > 8
    with pytest.raises(GenerationCancelled):
        planner.complete(TEXT, 64, _SetLater(4))
    assert planner.complete(TEXT, 64).text == whole.text
    assert planner.complete("who? " * 2000, 64).usage == Usage(), "it does not fit"
