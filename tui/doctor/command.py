"""``deepthink doctor``: the checks, or the licences of what deepthink is built on."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.options import AsJson
from tui.terminal import cells, columns, console, print_json


def doctor(
    as_json: AsJson = False,
    licences: Annotated[
        bool,
        typer.Option("--licences", help="Only version and licence of each package it is built on."),
    ] = False,
) -> int:
    """Check this installation, with a way out for each fault.

    Exits with 1 if something keeps deepthink from working.
    """
    from rich.text import Text

    from tui.doctor.findings import STYLES, dependencies, findings

    if licences:
        packages = dependencies()
        if as_json:
            print_json(packages)
            return 0
        table = columns("package", "version", "licence", whole=("package",))
        for package in packages:
            table.add_row(*cells(package.name, package.version or "not installed", package.licence))
        console().print(table)
        return 0
    found = list(findings())
    has_failed = any(finding.state == "fail" for finding in found)
    if as_json:
        print_json({"ok": not has_failed, "findings": found})
        return int(has_failed)
    table = columns("", "what", "found", whole=("",))
    for finding in found:
        table.add_row(*cells(Text(finding.state, STYLES[finding.state]), finding.name, finding.detail))
        if finding.way_out:
            table.add_row(*cells("", "", Text(f"→ {finding.way_out}", "dim")))
    console().print(table)
    return int(has_failed)
