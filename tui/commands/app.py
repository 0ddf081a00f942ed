"""``deepthink tui``."""

from __future__ import annotations


def app() -> int:
    """Open the full-screen app, as `deepthink-tui` does."""
    from tui.app.main import run

    return run([])
