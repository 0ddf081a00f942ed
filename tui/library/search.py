"""Searching the library: the scope, and the passages as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from agent.retrieval.recall import Hit
from agent.run import EmptyLibrary
from traces.library import Library
from traces.records import Scope


def as_json_object(hit: Hit) -> dict[str, object]:
    """A passage with the fields of a citation, and its scores; scripts rely on the keys."""
    passage = hit.passage
    return {
        "passage_id": passage.id,
        "document_id": passage.document_id,
        "collection": passage.collection,
        "document": passage.document,
        "title": passage.title,
        "section": passage.section,
        "page": passage.page,
        "date": passage.date,
        "text": passage.text,
        "scores": hit.scores,
    }


def scope_of(library: Library, collections: Sequence[str]) -> Scope:
    """Where to search: the named collections, or all. Raises `UnknownCollection`, `EmptyLibrary`."""
    names = tuple(c.name for c in library.require_collections(collections) if c.chunks)
    if not names:
        raise EmptyLibrary("No document has been read yet.", "Add some: `deepthink ingest PATH`.")
    return Scope(collections=names)
