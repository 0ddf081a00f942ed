"""``deepthink demo``."""

from __future__ import annotations

from tui.commands.options import Plain


def demo(plain: Plain = False) -> int:
    """See it work: fetch models, read a sample library, ask it."""
    from tui.demonstration import demonstrate

    return demonstrate("plain" if plain else "auto")
