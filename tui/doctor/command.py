"""``deepthink doctor``."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
    licences: Annotated[
        bool,
        typer.Option("--licences", help="Only the version and licence of each package it is built on."),
    ] = False,
) -> int:
    """Check this installation, with a way out for each fault.

    Exits with 1 if something keeps deepthink from working.
    """
    if licences:
        from tui.doctor.licences import show

        show(as_json=as_json)
        return 0
    from tui.doctor.findings import examine

    return examine(as_json=as_json)
