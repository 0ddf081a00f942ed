"""Waiting for what a worker brings, without asserting on how long it takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from textual.pilot import Pilot
from textual.screen import Screen

S = TypeVar("S", bound=Screen[Any])
PATIENCE = 60.0  # seconds; reached only where something hangs


async def until(pilot: Pilot[Any], condition: Callable[[], object]) -> None:
    """Let the app work until ``condition`` holds."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        await pilot.pause(0.02)
    await pilot.pause()


async def comes(pilot: Pilot[Any], kind: type[S]) -> S:
    """The screen of that kind, once it is the one that is shown."""
    app = pilot.app
    await until(pilot, lambda: isinstance(app.screen, kind) and app.screen.is_mounted)
    assert isinstance(app.screen, kind)
    return app.screen


async def opens(pilot: Pilot[Any], kind: type[S], *keys: str) -> S:
    """The screen of that kind, to which these keys lead."""
    await pilot.press(*keys)
    return await comes(pilot, kind)


def wait(condition: Callable[[], object]) -> None:
    """Wait until ``condition`` holds, where no app works."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.01)
