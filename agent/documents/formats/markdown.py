"""Markdown (CommonMark with tables and strikethrough), by markdown-it; Jupyter notebooks as Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from agent.documents.cover import full_date
from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.encoding import decode
from agent.documents.formats.html import fragment_blocks, fragment_text
from agent.documents.prose import joined, normal, on_one_line

# YAML between two rules: keys and values. Any other text between rules is part of the document.
_KEY = r"[\"']?\w[\w.:/-]*(?: [\w.-]+){0,2}[\"']?[ \t]*:(?:[ \t].*)?\n"
_FRONT_MATTER = re.compile(
    rf"\A---[ \t]*\n((?:\#.*\n)*{_KEY}(?:{_KEY}|(?:[ \t\#\]}}].*|-(?:[ \t].*)?)?\n)*?)"
    r"(?:---|\.\.\.)[ \t]*(?:\n|\Z)"
)
_FIELD = re.compile(r"^(title|date|author)\s*:\s*(.*?)\s*$", re.IGNORECASE | re.MULTILINE)
_FENCE = "`" * 12


def read_markdown(_path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as Markdown; title, date and author are taken from the front matter."""
    text = decode(data).removeprefix("\ufeff")
    front_matter = _FRONT_MATTER.match(text)
    fields = (
        {name.lower(): _unquoted(value) for name, value in _FIELD.findall(front_matter[1])}
        if front_matter
        else {}
    )
    body = text[front_matter.end() :] if front_matter else text
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(body)
    return ParsedDocument(
        tuple(_blocks(SyntaxTreeNode(tokens), [])),
        fragment_text(parser.renderer.render(tokens, parser.options, {})),
        title=fields.get("title", ""),
        date=full_date(fields.get("date", "")[:10]),
        author=fields.get("author", ""),
    )


def _unquoted(value: str) -> str:
    """A field's value, read as YAML reads it if it is quoted; others are often no YAML ("title: a: b")."""
    if value[:1] not in {'"', "'"}:
        return value
    try:
        return str(yaml.safe_load(value))
    except yaml.YAMLError:
        return value


def _blocks(parent: SyntaxTreeNode, markers: list[str]) -> Iterator[Block]:
    """The blocks in a node; ``markers`` has that of the list item until its first paragraph gets it."""
    for node in parent.children:
        if node.type == "heading":
            if text := _inline_text(node.children[0].token):
                yield Block("heading", text, level=int(node.tag[1]))
        elif node.type == "paragraph":
            if text := _inline_text(node.children[0].token):
                yield Block("text", " ".join([*markers, text]))
            markers.clear()
        elif node.type == "list_item":
            yield from _blocks(node, [f"{node.info}{node.markup}" if node.info else "•"])
        elif node.type == "table":
            table = _table(node)
            if table.header or table.rows:
                yield Block("table", table=table)
        elif node.type in {"fence", "code_block"}:
            if node.content.strip():
                yield Block("text", node.content.strip("\n"))
        elif node.type == "html_block":
            yield from fragment_blocks(node.content)
        else:
            yield from _blocks(node, markers)


def _table(node: SyntaxTreeNode) -> Table:
    parts: dict[str, tuple[tuple[str, ...], ...]] = {}
    for part in node.children:
        rows = (
            tuple(_inline_text(cell.children[0].token) for cell in row.children) for row in part.children
        )
        parts[part.type] = tuple(filter(any, rows))
    return Table(parts.get("thead", ()), parts.get("tbody", ()))


def _inline_text(token: Token | None) -> str:
    """The text of an inline token, without markup, as one line."""
    lines: list[list[tuple[str, bool]]] = [[]]
    raised = False
    for child in (token and token.children) or []:
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
