"""What stands between the command and the first frame: nothing heavy is imported before it is drawn."""

from __future__ import annotations

import subprocess
import sys

_HEAVY = (
    "duckdb httpx langchain_core langgraph llama_cpp numpy pydantic sentence_transformers torch "
    "transformers typer"
).split()
_PROGRAM = f"""
import asyncio, sys

import tui.app.main  # what the console script imports
from tui.app.app import DeepthinkApp
from tui.ask.prompt import Prompt

first = []
display = DeepthinkApp._display  # what every frame goes through

def watched(app, screen, renderable):
    if not first and app.screen.query(Prompt):
        told = str(app.screen.query_one("#intro").render())
        first.extend([app.focused, told, [name for name in {_HEAVY!r} if name in sys.modules]])
    display(app, screen, renderable)

DeepthinkApp._display = watched

async def main():
    async with DeepthinkApp(prepare=False).run_test() as pilot:
        await pilot.pause()

asyncio.run(main())
focused, told, heavy = first
assert isinstance(focused, Prompt), focused
assert told, "what the rest waits for"
print(*heavy)
"""


def test_nothing_heavy_is_imported_before_the_first_frame_and_the_prompt_has_the_focus() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=False, timeout=180
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []
