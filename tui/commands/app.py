"""``deepthink tui``."""

from __future__ import annotations


def app() -> None:
    """Open the full-screen app (not in this version)."""
    from tui.failures import WrongUsage

    raise WrongUsage(
        "The full-screen app is not part of this version yet.",
        'Ask on the command line: deepthink ask "…".',
    )
