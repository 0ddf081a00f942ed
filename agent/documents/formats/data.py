"""Structured data (JSON, JSON Lines, YAML, XML): branches as headings, records as tables, values as lines.

Each value stays with its name: a branch with branches below it becomes a heading above them, and a list of
similar records becomes a table with a column for each field.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from agent.documents.document import Block, ParsedDocument, Table
from agent.documents.encoding import decode
from agent.documents.formats.text import read_source_code
from agent.documents.prose import normal

if TYPE_CHECKING:
    from lxml.etree import _Element

_Tree: TypeAlias = Any  # JSON-like: mappings, lists and plain values
_DEEPEST = 6
_FEWEST_RECORDS = 2
_MOST_FIELDS = 60
_FEW_FIELDS = 6
_MOST_VALUES = 5_000_000
_LEAST_FILLED = 0.3  # share of a table's cells; records with less in common are written one by one


def read_json(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as JSON, or as text if it is malformed."""
    return _read(path, data, json.loads)


def read_json_lines(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as JSON Lines, or as text if it is malformed."""
    return _read(path, data, lambda text: [json.loads(line) for line in text.splitlines() if line.strip()])


def read_yaml(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as YAML, or as text if it is malformed."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return _read(path, data, lambda text: list(yaml.load_all(text, loader)))


def read_xml(path: Path, data: bytes) -> ParsedDocument:
    """Read ``data`` as XML, or as text if it is malformed."""
    from lxml import etree

    def parsed(_: str) -> _Tree:
        parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True)
        root = etree.fromstring(data, parser)
        return {_local_name(root): _branch(root)}

    return _read(path, data, parsed)


def _read(path: Path, data: bytes, load: Callable[[str], _Tree]) -> ParsedDocument:
    try:
        tree = load(decode(data))
        visible = "\n".join(_values(tree))
        blocks = tuple(_blocks(tree, "", 0))
    except Exception:  # noqa: BLE001 - each parser has its own errors; the file is then read as text
        return read_source_code(path, data)
    return ParsedDocument(blocks, visible)


def _branch(element: _Element) -> _Tree:
    """An element as a plain value, or as a mapping from names to its attributes, elements and text."""
    from lxml import etree

    fields: dict[str, Any] = {_local_name(name): [value] for name, value in element.attrib.items()}
    children = [child for child in element if isinstance(child.tag, str)]
    if not children or normal("".join([element.text or "", *(child.tail or "" for child in element)])):
        words = normal("".join(element.itertext(etree.Element)))  # prose, maybe with markup inside
        return {**{name: value for name, (value,) in fields.items()}, "": words} if fields else words
    for child in children:
        fields.setdefault(_local_name(child), []).append(_branch(child))
    return {name: value[0] if len(value) == 1 else value for name, value in fields.items()}


def _local_name(node: Any) -> str:
    return str(getattr(node, "tag", node)).rpartition("}")[2]


def _blocks(tree: _Tree, name: str, level: int) -> Iterator[Block]:
    """The blocks of a branch, below a heading with its name."""
    if not _is_branch(tree):
        if text := _plain(tree):
            yield Block("text", f"{name}: {text}" if name else text)
        return
    if name:
        level = min(level + 1, _DEEPEST)
        yield Block("heading", name, level=level)
    if isinstance(tree, Mapping):
        small = {key: value for key, value in tree.items() if _is_small(value)}
        if lines := [f"{key}: {text}" if key else text for key, text in _fields(small)]:
            yield Block("text", "\n".join(lines))
        for key, value in tree.items():
            if key not in small:
                yield from _blocks(value, str(key), level)
    elif (table := _records(tree)) is not None:
        yield Block("table", table=table)
    elif not any(map(_is_branch, tree)):
        yield Block("text", "\n".join(filter(None, map(_plain, tree))))
    else:
        for number, value in enumerate(tree, start=1):
            yield from _blocks(value, f"{name} {number}".strip() if len(tree) > 1 else "", level)


def _is_branch(tree: _Tree) -> bool:
    """Whether it takes more than one line."""
    if isinstance(tree, Mapping):
        return bool(tree)
    return isinstance(tree, list) and any(isinstance(value, (Mapping, list)) for value in tree)


def _is_small(tree: _Tree) -> bool:
    """Whether it is written beside its neighbours, which give it context."""
    if isinstance(tree, Mapping):
        return len(tree) <= _FEW_FIELDS and not any(map(_is_branch, tree.values()))
    return not _is_branch(tree)


def _plain(value: _Tree) -> str:
    if isinstance(value, (list, Mapping)):
        return ", ".join(filter(None, map(_plain, value)))
    if value is None or isinstance(value, bool):
        return {None: "", True: "true", False: "false"}[value]
    return normal(str(value))


def _records(values: Sequence[_Tree]) -> Table | None:
    """Similar records as rows, with a column for each field; nested fields have dotted names."""
    if len(values) < _FEWEST_RECORDS or not all(isinstance(value, Mapping) for value in values):
        return None
    rows = [dict(_fields(value)) for value in values]
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not 0 < len(names) <= _MOST_FIELDS or sum(map(len, rows)) < _LEAST_FILLED * len(names) * len(rows):
        return None
    return Table((tuple(names),), tuple(tuple(row.get(name, "") for name in names) for row in rows))


def _fields(record: Mapping[str, _Tree]) -> Iterator[tuple[str, str]]:
    for key, value in record.items():
        if isinstance(value, Mapping):
            yield from ((f"{key}.{inner}" if inner else str(key), text) for inner, text in _fields(value))
        elif _is_branch(value):
            yield (
                str(key),
                "; ".join(
                    ", ".join(f"{name}: {text}" for name, text in _fields(item))
                    if isinstance(item, Mapping)
                    else _plain(item)
                    for item in value
                ),
            )
        elif text := _plain(value):
            yield str(key), text


def _values(tree: _Tree) -> Iterator[str]:
    """Every value; raises OverflowError if there are too many, which YAML aliases can produce."""
    pending = [tree]
    for _ in range(_MOST_VALUES):
        if not pending:
            return
        value = pending.pop()
        if isinstance(value, Mapping):
            pending += value.values()
        elif isinstance(value, list):
            pending += value
        else:
            yield _plain(value)
    raise OverflowError
