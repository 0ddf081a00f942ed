"""``deepthink doctor``."""

from __future__ import annotations

from typing import Annotated

import typer


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> int:
    """Check this installation, with a way out for each fault.

    Exits with 1 if something keeps deepthink from working.
    """
    from tui.doctor.findings import examine

    return examine(as_json=as_json)
