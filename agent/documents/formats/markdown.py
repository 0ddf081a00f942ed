"""Markdown (CommonMark with tables and strikethrough), by markdown-it; Jupyter notebooks as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.documents.cover import stated_date, with_cover
from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.encoding import decode
from agent.documents.formats.html import fragment_blocks, fragment_text
from agent.documents.prose import joined, normal, on_one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# YAML between two rules: keys and values. Any other text between rules is part of the document.
_KEY = r"[\"']?\w[\w.:/-]*(?: [\w.-]+){0,2}[\"']?[ \t]*:(?:[ \t].*)?\n"
_FRONT_MATTER = re.compile(
    rf"\A---[ \t]*\n((?:\#.*\n)*{_KEY}(?:{_KEY}|(?:[ \t\#\]}}].*|-(?:[ \t].*)?)?\n)*?)"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
_FIELD = re.compile(r"^(title|date|author)\s*:\s*[\"']?(.*?)[\"']?\s*$", re.IGNORECASE | re.MULTILINE)
_FENCE = "`" * 12


def read_markdown(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as Markdown; title, date and author are taken from the front matter."""
    text = decode(data).removeprefix("\ufeff")
    front_matter = _FRONT_MATTER.match(text)
    fields = (
        {name.lower(): value for name, value in _FIELD.findall(front_matter[1])} if front_matter else {}
    )
    body = text[front_matter.end() :] if front_matter else text
    parser = _parser()
    document = ParsedDocument(
        tuple(_Builder().blocks(parser.parse(body))),
        fragment_text(parser.render(body)),
        title=fields.get("title", ""),
        date=stated_date([Block("text", fields.get("date", "")[:10])]),
        author=normal(fields.get("author", "")),
    )
    return with_cover(document, path)


def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


@dataclass(slots=True)
class _Builder:
    """Walks markdown-it's flat list of tokens; ``markers`` are those of the open list items."""

    markers: list[str] = field(default_factory=list)
    level: int = 0
    header: list[tuple[str, ...]] = field(default_factory=list)
    rows: list[tuple[str, ...]] = field(default_factory=list)
    row: list[str] = field(default_factory=list)
    in_header: bool = False

    def blocks(self, tokens: Sequence[Token]) -> Iterator[Block]:
        in_table = False
        for token in tokens:
            kind = token.type
            if kind in {"table_open", "table_close"}:
                in_table = kind == "table_open"
                if not in_table and (self.rows or self.header):
                    yield Block("table", table=Table(tuple(self.header), tuple(self.rows)))
                    self.header, self.rows = [], []
            elif in_table:
                self._cell(token)
            elif kind == "heading_open":
                self.level = int(token.tag[1])
            elif kind == "list_item_open":
                self.markers.append(f"{token.info}{token.markup}" if token.info else "•")
            elif kind == "list_item_close":
                self.markers.pop()
            elif kind == "inline":
                yield from self._paragraph(_inline_text(token))
            elif kind in {"fence", "code_block"} and token.content.strip():
                yield Block("text", token.content.strip("\n"))
            elif kind == "html_block":
                yield from fragment_blocks(token.content)

    def _paragraph(self, text: str) -> Iterator[Block]:
        if self.level:
            if text:
                yield Block("heading", text, level=self.level)
            self.level = 0
            return
        marker = self.markers[-1] if self.markers else ""
        if marker:
            self.markers[-1] = ""  # only the item's first paragraph gets the marker
        if text:
            yield Block("text", f"{marker} {text}".strip())

    def _cell(self, token: Token) -> None:
        if token.type == "thead_open":
            self.in_header = True
        elif token.type == "thead_close":
            self.in_header = False
        elif token.type == "inline":
            self.row.append(_inline_text(token))
        elif token.type == "tr_close":
            if any(self.row):
                (self.header if self.in_header else self.rows).append(tuple(self.row))
            self.row = []


def _inline_text(token: Token) -> str:
    """The text of an inline token, without markup, as one line."""
    lines: list[list[tuple[str, bool]]] = [[]]
    raised = False
    for child in token.children or []:
        if child.type in {"text", "code_inline"}:
            lines[-1].append((child.content, raised))
        elif child.type == "image":
            lines[-1].append((_inline_text(child), raised))
        elif child.type in {"softbreak", "hardbreak"} or _is_tag(child, "<br"):
            lines.append([])
        elif _is_tag(child, "<sup"):
            raised = True
        elif _is_tag(child, "</sup"):
            raised = False
    texts = (on_one_line(line).strip() for line in lines)
    return normal(joined(text for text in texts if text))


def _is_tag(token: Token, prefix: str) -> bool:
    return token.type == "html_inline" and token.content.lower().startswith(prefix)


def read_notebook(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as a Jupyter notebook, without pictures and HTML output."""
    notebook = json.loads(decode(data))
    parts = [part for cell in notebook["cells"] for part in _parts(cell)]
    authors = notebook.get("metadata", {}).get("authors", [])
    names = (author.get("name", "") for author in authors if isinstance(author, dict))
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
