"""What the library holds, as tables; and removing from it."""

from __future__ import annotations

import sys
from itertools import groupby

import typer
from rich.table import Table
from rich.text import Text

from agent.documents.media_types import FORMATS
from agent.folders.sync import forget
from traces.library import Library
from traces.records import NO_FILTERS, SECTION_SEPARATOR, Document, Filters, Scope, UnknownDocument
from tui import failures
from tui.assemble import open_embedder, open_store
from tui.failures import WrongUsage
from tui.library import embedding
from tui.library.following import LEFT_OUT
from tui.settings.settings import load
from tui.terminal import cells, clean, columns, console, counted, one_line, print_json

_EMPTY = "The library is empty. Add documents: deepthink ingest PATH, or try deepthink demo."


def show_collections(*, as_json: bool = False) -> None:
    """One line per collection."""
    library = Library(open_store())
    collections = library.collections()
    out = console()
    if as_json:
        print_json(collections)
        return
    if not collections:
        out.print(_EMPTY)
        return
    table = columns("collection", "documents", "passages", "holds", right=("documents", "passages"))
    for collection in collections:
        holds = one_line(collection.description, 160)
        table.add_row(*cells(collection.name, collection.documents, collection.chunks, holds))
    out.print(table)
    out.print(Text(f"\nvectors by {vectors_by(library)}", style="dim"))


def show_formats() -> None:
    """One line per kind of file that is read."""
    table = columns("kind", "kept besides the words", "names end in")
    for kind in FORMATS:
        table.add_row(*cells(kind.name, kind.keeps, " ".join(kind.suffixes)))
    console().print(table)


def vectors_by(library: Library) -> str:
    """Who makes the library's vectors, and how many passages have theirs where not all have."""
    embedder = library.embedder()
    if embedder is None:
        return "no model yet"
    done, total = library.embedded(embedder)
    return embedder if done == total else f"{embedder}, {done:,} of {total:,} passages so far"


def embed() -> int:
    """Embed what has no vector by the embedder in use; the exit code.

    Raises:
        ModelError: the embedder is missing or fails.
    """
    store, embedder = open_store(), open_embedder(load())
    if embedding.embed(store, embedder):
        console().print(f"Every passage has its vector by {embedder.name}.")
        return failures.DONE
    failures.warn("Not every passage has its vector yet: it was stopped, or another process is at it.")
    return failures.EXIT_CODES["cancelled"]


def show_documents(collection: str | None, filters: Filters = NO_FILTERS, *, as_json: bool = False) -> None:
    """A table for each collection, one line per document that fits. Raises `UnknownCollection`."""
    library = Library(open_store())
    if collection is not None:
        library.require_collections([collection])
    documents = library.documents(collection, filters)
    out = console()
    if as_json:
        print_json(documents)
        return
    if not documents and filters != NO_FILTERS:
        out.print("No document fits.")
        return
    if not documents:
        out.print(f"{collection} holds no documents." if collection else _EMPTY)
        return
    for name, shelf in groupby(documents, key=lambda document: document.collection):
        held = list(shelf)
        out.print(Text(f"{name}: {counted(len(held), 'document')}", style="bold"))
        out.print(_documents(library, held))
        out.print()
    for document in documents:
        for notice in document.notices:
            out.print(Text(f"{clean(document.name)}: {clean(notice)}", style="yellow"))


def _documents(library: Library, documents: list[Document]) -> Table:
    dated = any(document.date for document in documents)
    paged = any(document.pages for document in documents)
    signed = any(_by(document) for document in documents)
    numbers = ["no.", "sections", *(["pages"] if paged else []), "passages", "coverage"]
    facts = [*(["date"] if dated else []), *(["by"] if signed else [])]
    table = columns(numbers[0], "document", *numbers[1:], *facts, right=numbers, whole=("date",))
    for document in documents:
        sections = len(library.sections(Scope(documents=(document.id,))))
        table.add_row(
            *cells(
                document.id,
                document.name,
                sections or "",
                *([document.pages or ""] if paged else []),
                document.chunks,
                f"{document.coverage:.1%}",
                *([document.date] if dated else []),
                *([_by(document)] if signed else []),
            )
        )
    return table


def _by(document: Document) -> str:
    """Who wrote or sent a document, by name."""
    stated = document.author or document.sender
    return stated.partition("<")[0].strip(' "') or stated


def show_sections(wanted: str, *, as_json: bool = False) -> None:
    """The outline of one document. Raises `UnknownDocument`."""
    library = Library(open_store())
    document = _find(library, wanted, None)
    paths = library.sections(Scope(documents=(document.id,)))
    if as_json:
        print_json({"document": document, "sections": [path.split(SECTION_SEPARATOR) for path in paths]})
        return
    out = console()
    out.print(Text(clean(document.title), style="bold"))
    shown: tuple[str, ...] = ()
    for path in paths:
        headings = tuple(path.split(SECTION_SEPARATOR))
        shared = 0
        while shared < min(len(shown), len(headings)) and shown[shared] == headings[shared]:
            shared += 1
        for depth in range(shared, len(headings)):
            out.print(Text(f"{'  ' * (depth + 1)}{one_line(headings[depth])}"))
        shown = headings
    if not paths:
        out.print("  (no headings were found in it)")


def remove(collection: str, wanted: str | None, *, ask: bool) -> None:
    """Remove one document, or all of a collection, having asked if ``ask``.

    Raises:
        UnknownCollection, UnknownDocument: it is not there.
        WrongUsage: nobody is there to be asked.
    """
    store = open_store()
    library = Library(store)
    (held,) = library.require_collections([collection])
    document = _find(library, wanted, collection) if wanted is not None else None
    what = (
        f"{document.name} from {collection}"
        if document
        else f"{collection} ({counted(held.documents, 'document')})"
    )
    if ask:
        if not sys.stdin.isatty():
            raise WrongUsage(f"Removing {what} needs a yes.", "Add --yes.")
        typer.confirm(f"Remove {clean(what)}? The files stay where they are.", abort=True)
    left_out = forget(store, document) if document else False
    if document is None:
        library.remove_collection(collection)
    typer.echo(f"Removed {clean(what)}.{LEFT_OUT if left_out else ''}")


def _find(library: Library, wanted: str, collection: str | None) -> Document:
    """The document with this number, name or title; a part of the name will do if it fits only one."""
    documents = library.documents(collection)
    by_number = [d for d in documents if wanted.isdecimal() and d.id == int(wanted)]
    exact = [d for d in documents if wanted in {d.name, d.title, d.source}]
    part = [d for d in documents if wanted and wanted.casefold() in d.name.casefold()]
    for found in (by_number, exact, part):
        if len(found) == 1:
            return found[0]
        if found:
            several = ", ".join(f"{d.id} ({d.collection}: {d.name})" for d in found[:5])
            raise UnknownDocument(f"“{wanted}” fits several documents: {several}.", "Give the number.")
    where = f"{collection} holds" if collection else "The library holds"
    raise UnknownDocument(
        f"{where} no document “{wanted}”.", "`deepthink library list` shows numbers and names."
    )
