"""``deepthink doctor``: the checks, or the licences of what deepthink is built on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.metadata import PackageMetadata, PackageNotFoundError, distribution, requires
from typing import Annotated

import typer

from tui.options import AsJson
from tui.terminal import cells, columns, console, print_json


def doctor(
    as_json: AsJson = False,
    licences: Annotated[
        bool,
        typer.Option("--licences", help="Only the version and licence of each package it is built on."),
    ] = False,
) -> int:
    """Check this installation, with a way out for each fault.

    Exits with 1 if something keeps deepthink from working.
    """
    if licences:
        show_licences(as_json=as_json)
        return 0
    from tui.doctor.findings import examine

    return examine(as_json=as_json)


_NAME = re.compile(r"[A-Za-z0-9._-]+")
_OWN = "deepthink-tui"
_LONGEST = 60  # some packages put the whole text of their licence into the field for its name


@dataclass(frozen=True, slots=True)
class Dependency:
    """One direct dependency as it is installed; ``version`` and ``licence`` are "" where it is not."""

    name: str
    version: str
    licence: str


def dependencies() -> list[Dependency]:
    """The direct dependencies by name, without those of extras."""
    named = {_NAME.match(line) for line in requires(_OWN) or () if "extra ==" not in line}
    return [_installed(match[0]) for match in sorted(filter(None, named), key=lambda match: match[0])]


def show_licences(*, as_json: bool) -> None:
    """Print them as a table, or as JSON."""
    listed = dependencies()
    if as_json:
        print_json(listed)
        return
    table = columns("package", "version", "licence", whole=("package",))
    for one in listed:
        table.add_row(*cells(one.name, one.version or "not installed", one.licence))
    console().print(table)


def _installed(name: str) -> Dependency:
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return Dependency(name, "", "")
    return Dependency(name, package.version, _licence(package.metadata))


def _licence(metadata: PackageMetadata) -> str:
    """The licence as the package states it: as an expression, by its classifiers, or in its own words."""
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classified = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith(":: OSI Approved")
    ]
    words = (metadata.get_all("License") or [""])[0]
    return ", ".join(classified) or " ".join(words.split())[:_LONGEST] or "not stated"
