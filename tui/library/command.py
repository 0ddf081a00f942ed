"""``deepthink ingest`` and ``deepthink library``."""

from __future__ import annotations

import sys
from itertools import groupby
from typing import Annotated, Literal

import typer
from rich.table import Table
from rich.text import Text

from agent.documents.media_types import FORMATS
from traces.library import Library
from traces.records import SECTION_SEPARATOR, Document, Scope, UnknownDocument
from tui import failures
from tui.assemble import open_embedder, open_store
from tui.failures import WrongUsage
from tui.library import embedding
from tui.options import AsJson
from tui.settings.settings import load
from tui.terminal import cells, clean, columns, console, counted, one_line, print_json


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|URL",
            help="Files and folders; addresses if the web is on. See `deepthink library formats`.",
        ),
    ],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="Where they go; made if new.")
    ] = None,
    description: Annotated[
        str,
        typer.Option("--description", "-d", metavar="TEXT", help="What it holds; the planner reads it."),
    ] = "",
    web: Annotated[bool, typer.Option("--web", help="Turn the web on for this command.")] = False,
) -> int:
    """Read documents into the library.

    What has not changed is not read again. A folder is taken whole: what was read from it before
    and is gone now is removed.
    """
    from tui import failures
    from tui.assemble import open_embedder, open_store
    from tui.interrupts import ctrl_c
    from tui.library import embedding
    from tui.library.ingesting import show_ingestion
    from tui.library.intake import intake, read_in
    from tui.settings.settings import load

    settings = load({"web": True if web else None})
    store, embedder = open_store(), open_embedder(settings)
    wanted = intake(paths, settings, collection, description)
    with ctrl_c() as cancel:
        code = show_ingestion(read_in(wanted, settings, store, embedder, cancel))
    if not embedding.embed(store, embedder):
        failures.warn("Passages read before have no vector yet: `deepthink library embed` makes them.")
    return code


app = typer.Typer(
    help="See, search and prune what was read.", invoke_without_command=True, rich_markup_mode=None
)


@app.callback()
def collections(context: typer.Context, as_json: AsJson = False) -> None:
    """See, search and prune what was read; without a command: the collections."""
    if context.invoked_subcommand:
        return
    library = Library(open_store())
    held = library.collections()
    out = console()
    if as_json:
        print_json(held)
        return
    if not held:
        out.print(_EMPTY)
        return
    table = columns("collection", "documents", "passages", "holds", right=("documents", "passages"))
    for collection in held:
        holds = one_line(collection.description, 160)
        table.add_row(*cells(collection.name, collection.documents, collection.chunks, holds))
    out.print(table)
    out.print(Text(f"\nvectors by {embedding.vectors_by(library)}", style="dim"))


@app.command("list")
def list_documents(
    collection: Annotated[
        str | None, typer.Argument(metavar="[COLLECTION]", help="All collections if none is named.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List documents: sections, pages, passages, coverage."""
    library = Library(open_store())
    if collection is not None:
        library.require_collections([collection])
    documents = library.documents(collection)
    out = console()
    if as_json:
        print_json(documents)
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


@app.command("formats")
def formats() -> None:
    """Show the kinds of files that are read, and what of each is kept."""
    table = columns("kind", "kept besides the words", "names end in")
    for kind in FORMATS:
        table.add_row(*cells(kind.name, kind.keeps, " ".join(kind.suffixes)))
    console().print(table)


@app.command("sections")
def sections(
    wanted: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its number or its name.")],
    as_json: AsJson = False,
) -> None:
    """Show the outline of a document as it was found."""
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


@app.command("search")
def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY")],
    collection: Annotated[
        list[str] | None, typer.Option("--collection", "-c", metavar="NAME", help="May be repeated.")
    ] = None,
    strategy: Annotated[
        Literal["hybrid", "vector", "keyword"], typer.Option("--strategy", "-s", help="How to rank.")
    ] = "hybrid",
    section: Annotated[
        str, typer.Option(metavar="TEXT", help="Only in sections like this, however worded.")
    ] = "",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Passages to show.")] = 5,
    as_json: AsJson = False,
) -> int:
    """Search without a language model.

    Shows for each passage the score that each stage gave it.
    """
    from tui.library.search import show_search

    return show_search(" ".join(query), collection or [], strategy, section, limit, as_json=as_json)


@app.command("embed")
def embed() -> int:
    """Give every passage its vector by the embedder in use.

    Only needed after another embedder was chosen, and done as you go on; this does it at once.
    """
    store, embedder = open_store(), open_embedder(load())
    if embedding.embed(store, embedder):
        console().print(f"Every passage has its vector by {embedder.name}.")
        return failures.DONE
    failures.warn("Not every passage has its vector yet: it was stopped, or another process is at it.")
    return failures.EXIT_CODES["cancelled"]


@app.command("remove")
def remove(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION")],
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="[DOCUMENT]", help="Its number or its name; without it, the whole collection."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove a document or a whole collection.

    The files themselves stay where they are.
    """
    library = Library(open_store())
    (held,) = library.require_collections([collection])
    document = _find(library, wanted, collection) if wanted is not None else None
    what = (
        f"{document.name} from {collection}"
        if document
        else f"{collection} ({counted(held.documents, 'document')})"
    )
    if not yes:
        if not sys.stdin.isatty():
            raise WrongUsage(f"Removing {what} needs a yes.", "Add --yes.")
        typer.confirm(f"Remove {clean(what)}? The files stay where they are.", abort=True)
    if document:
        library.remove_document(document.id)
    else:
        library.remove_collection(collection)
    typer.echo(f"Removed {clean(what)}.")


_EMPTY = "The library is empty. Add documents: deepthink ingest PATH, or try deepthink demo."


def _documents(library: Library, documents: list[Document]) -> Table:
    dated = any(document.date for document in documents)
    paged = any(document.pages for document in documents)
    headers = ["no.", "document", "sections", *(["pages"] if paged else []), "passages", "coverage"]
    numbers = [header for header in headers if header != "document"]
    table = columns(*headers, *(["date"] if dated else []), right=numbers, whole=("date",))
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
            )
        )
    return table


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
