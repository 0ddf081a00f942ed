"""Notebooks (IPYNB): read as the Markdown that they amount to, code and what it printed fenced."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.documents.document import ParsedDocument
from agent.documents.encoding import decode
from agent.documents.formats.markdown import read_markdown

_FENCE = "`" * 12


def read_notebook(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a Jupyter notebook; pictures and HTML that code made are left out."""
    notebook = json.loads(decode(data))
    parts = [part for cell in notebook["cells"] for part in _parts(cell)]
    authors = notebook.get("metadata", {}).get("authors", [])
    names = (one.get("name", "") for one in authors if isinstance(one, dict))
    return replace(read_markdown(path, "\n\n".join(parts).encode()), author=", ".join(filter(None, names)))


def _parts(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell.get("source", ""))
    if cell.get("cell_type") != "code":
        yield source
        return
    yield _fenced(source)
    for output in cell.get("outputs", []):
        yield _fenced("".join(output.get("text") or output.get("data", {}).get("text/plain", "")))


def _fenced(text: str) -> str:
    return f"{_FENCE}\n{text}\n{_FENCE}" if text.strip() else ""
