"""``deepthink demo``."""

from __future__ import annotations

from typing import Annotated

import typer


def demo(
    plain: Annotated[
        bool, typer.Option("--plain", help="One line per event: no colour, nothing that moves.")
    ] = False,
) -> int:
    """See it work: fetch models, read a sample library, ask it."""
    from tui.demonstration import demonstrate

    return demonstrate("plain" if plain else "auto")
