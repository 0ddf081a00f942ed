"""Files of JSON lines that grow while work goes on, and outlive whoever is killed while writing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any


def whole_lines(file: Path) -> Iterator[tuple[int, bytes]]:
    """The lines of a file with their numbers, from 1, empty ones left out; none if it does not exist.

    A last line without its end, as a killed writer leaves one, is cut off the file.
    """
    content = file.read_bytes() if file.exists() else b""
    whole = content.rfind(b"\n") + 1
    if whole < len(content):
        with file.open("r+b") as cut:
            cut.truncate(whole)
    for number, line in enumerate(content[:whole].split(b"\n"), start=1):
        if line.strip():
            yield number, line


def append(file: Path, told: Mapping[str, Any]) -> None:
    """Add a line, on disk when this returns; the file and its folder are made if need be."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a", encoding="utf-8") as out:
        out.write(_line(told))


def write(file: Path, told: Iterable[Mapping[str, Any]]) -> None:
    """Write a file anew; it appears when it is whole, so that a killed writer leaves none half-written."""
    part = file.with_name(f"{file.name}.part")
    with part.open("w", encoding="utf-8") as out:
        out.writelines(map(_line, told))
    part.replace(file)


def _line(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False) + "\n"
