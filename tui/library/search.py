"""Search without a language model: the first stage of the funnel, with every score it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich.padding import Padding
from rich.text import Text

from agent.retrieval.recall import Hit, Recall, Strategy
from agent.run import EmptyLibrary
from traces.library import Library
from traces.records import NO_FILTERS, Filters, Scope
from tui.assemble import open_embedder, open_store
from tui.failures import DONE, NOT_FOUND, WrongUsage
from tui.library import embedding
from tui.run.words import located
from tui.settings.settings import load
from tui.terminal import clean, console, one_line, print_json

_SHOWN = 320  # characters of a passage


def show_search(
    query: str,
    collections: list[str],
    strategy: Strategy,
    limit: int,
    filters: Filters = NO_FILTERS,
    *,
    as_json: bool = False,
) -> int:
    """The best passages for ``query``; `DONE`, or `NOT_FOUND` if there is none.

    Raises:
        UnknownCollection, EmptyLibrary, ModelMissing: it cannot be searched.
        WrongUsage: the query is empty.
    """
    if not any(c.isalnum() for c in query):
        raise WrongUsage("There is nothing to search for.", "Give a few words.")
    store = open_store()
    library = Library(store)
    scope = replace(scope_of(library, collections), filters=filters)
    embedder = open_embedder(load())
    embedding.before(store, embedder)
    recall = Recall(library, embedder)
    hits = recall.search(one_line(query), strategy, [scope], limit)
    if as_json:
        print_json([as_json_object(hit) for hit in hits])
    else:
        _show(hits)
    return DONE if hits else NOT_FOUND


def as_json_object(hit: Hit) -> dict[str, object]:
    """A passage with what a citation needs, and its scores; the keys are part of what scripts rely on."""
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


def _show(hits: Sequence[Hit]) -> None:
    out = console()
    if not hits:
        out.print("Nothing found.")
    for number, hit in enumerate(hits, start=1):
        out.print(Text(f"{number}. {_place(hit)}", style="bold"))
        scores = "  ".join(f"{stage} {score:.4g}" for stage, score in hit.scores.items())
        out.print(
            Text(f"   {hit.passage.collection} · {clean(hit.passage.document)} · {scores}", style="dim")
        )
        out.print(Padding(Text(one_line(hit.passage.text, _SHOWN)), (0, 0, 0, 3), expand=False))


def scope_of(library: Library, collections: Sequence[str]) -> Scope:
    """Where to search: the named collections, or all. Raises `UnknownCollection`, `EmptyLibrary`."""
    names = tuple(c.name for c in library.require_collections(collections) if c.chunks)
    if not names:
        raise EmptyLibrary("No document has been read yet.", "Add some: `deepthink ingest PATH`.")
    return Scope(collections=names)


def _place(hit: Hit) -> str:
    passage = hit.passage
    return located(passage.title or passage.document, passage.section, passage.page)
