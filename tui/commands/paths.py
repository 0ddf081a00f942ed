"""``deepthink paths``."""

from __future__ import annotations

import json
from typing import Annotated

import typer


def paths(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object.")] = False,
) -> None:
    """Show where everything is kept."""
    from traces import paths as known

    found = {
        "library": known.store_file(),
        "models": known.models_dir(),
        "settings": known.config_file(),
        "probes": known.probes_file(),
        "log": known.log_file(),
    }
    if as_json:
        typer.echo(json.dumps({name: str(path) for name, path in found.items()}, indent=2))
        return
    for name, path in found.items():
        typer.echo(f"{name:<9} {path}{'' if path.exists() else '  (not there yet)'}")
