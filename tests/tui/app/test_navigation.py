"""From screen to screen: all of them stay in sight, and what is typed meanwhile is not lost."""

from __future__ import annotations

import pytest
from textual.content import Content
from textual.events import Key
from textual.widgets import Input, Static

from tests.tui.conftest import MakeApp
from tests.tui.waiting import until
from tui.app.app import DeepthinkApp


@pytest.mark.usefixtures("bare")
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


@pytest.mark.parametrize(("key", "search"), [("f3", "query"), ("f4", "run-search"), ("f8", "search")])
async def test_what_is_typed_while_a_screen_opens_is_not_lost(
    key: str, search: str, make_app: MakeApp
) -> None:
    app = make_app()
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.screen.query("Prompt"))
        for typed in (key, "slash", *"fire"):  # at once, as they come after the app was busy
            app.post_message(Key(typed, {"slash": "/", key: None}.get(typed, typed)))
        await until(pilot, lambda: app.screen.query(f"#{search}"))
        await until(pilot, lambda: app.screen.query_one(f"#{search}", Input).value == "fire")
