"""``deepthink doctor``: the checks, or the licences of what deepthink is built on."""

from __future__ import annotations

from typing import Annotated

import typer

from tui.failures import DONE, FAULT
from tui.options import AsJson
from tui.terminal import console, print_json, table


def doctor(
    as_json: AsJson = False,
    licences: Annotated[
        bool, typer.Option("--licences", help="Only version and licence of each package it is built on.")
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
        rows = [(package.name, package.version or "not installed", package.licence) for package in packages]
        console().print(table(("package", "version", "licence"), rows, whole=("package",)))
        return 0
    found = list(findings())
    has_failed = any(finding.state == "fail" for finding in found)
    code = FAULT if has_failed else DONE
    if as_json:
        print_json({"ok": not has_failed, "findings": found})
        return code
    lines: list[tuple[object, ...]] = []
    for finding in found:
        lines.append((Text(finding.state, STYLES[finding.state]), finding.name, finding.detail))
        if finding.way_out:
            lines.append(("", "", Text(f"→ {finding.way_out}", "dim")))
    console().print(table(("", "what", "found"), lines, whole=("",)))
    return code
