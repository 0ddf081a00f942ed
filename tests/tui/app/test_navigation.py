"""The line of screens: all of them stay in sight, in however few columns."""

from __future__ import annotations

import pytest
from textual.content import Content
from textual.widgets import Static

from tests.tui.waiting import until
from tui.app.app import DeepthinkApp

pytestmark = pytest.mark.usefixtures("bare")


@pytest.mark.parametrize(
    ("width", "engine", "name"),
    [(120, "✓ qwen2.5-coder-1.5b", "Decisions"), (80, "✓", "Decisions"), (60, "✓", "Dec")],
)
async def test_no_screen_is_cut_off(width: int, engine: str, name: str, app: DeepthinkApp) -> None:
    async with app.run_test(size=(width, 20)) as pilot:
        app.engine_states = {
            "model": ("ready", "llama.cpp:qwen2.5-coder-1.5b"),
            "embedder": ("ready", "bge-small-en"),
        }
        places, chip = app.screen.query_one("#places", Static), app.screen.query_one("#engine", Static)
        await until(pilot, lambda: str(chip.content) == engine)
        assert isinstance(places.content, Content)
        assert places.content.plain.rstrip().endswith("Doctor")
        assert name in places.content.plain.replace("[", " ").split()
        assert places.content.cell_length <= places.size.width
