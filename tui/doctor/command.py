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
        typer.Option("--licences", help="Only version and licence of each package it is built on."),
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
_DISTRIBUTION = "deepthink-tui"
_MAX_LICENCE = 60  # characters; some packages put the whole text into the field


@dataclass(frozen=True, slots=True)
class Dependency:
    """A direct dependency; ``version`` and ``licence`` are "" if it is not installed."""

    name: str
    version: str
    licence: str


def dependencies() -> list[Dependency]:
    """The direct dependencies sorted by name, without those of extras."""
    matches = {_NAME.match(line) for line in requires(_DISTRIBUTION) or () if "extra ==" not in line}
    return [_dependency(match[0]) for match in sorted(filter(None, matches), key=lambda match: match[0])]


def show_licences(*, as_json: bool) -> None:
    """Print the direct dependencies as a table, or as JSON."""
    packages = dependencies()
    if as_json:
        print_json(packages)
        return
    table = columns("package", "version", "licence", whole=("package",))
    for package in packages:
        table.add_row(*cells(package.name, package.version or "not installed", package.licence))
    console().print(table)


def _dependency(name: str) -> Dependency:
    try:
        package = distribution(name)
    except PackageNotFoundError:
        return Dependency(name, "", "")
    return Dependency(name, package.version, _licence(package.metadata))


def _licence(metadata: PackageMetadata) -> str:
    """The licence from the package's metadata: its expression, its classifiers, or its text."""
    if "License-Expression" in metadata:
        return metadata["License-Expression"]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in metadata.get_all("Classifier") or ()
        if line.startswith("License :: ") and not line.endswith(":: OSI Approved")
    ]
    words = (metadata.get_all("License") or [""])[0]
    return ", ".join(classifiers) or " ".join(words.split())[:_MAX_LICENCE] or "not stated"
