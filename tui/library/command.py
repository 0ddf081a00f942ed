"""``deepthink ingest`` and ``deepthink library``."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from agent.documents.following import sync as sync_folders
from agent.documents.reading import FORMATS
from agent.documents.sources import is_folder
from agent.retrieval.filters import filters_of
from agent.retrieval.recall import Hit, Recall, Strategy
from traces.errors import did_you_mean
from traces.folders import Folders
from traces.library import Library
from traces.paths import expanded_path
from traces.records import NO_FILTERS, Document, Scope, UnknownCollection, UnknownDocument
from tui import completion, failures
from tui.assemble import open_embedder, open_recogniser, open_store
from tui.failures import WrongUsage
from tui.interrupts import ctrl_c
from tui.library import actions
from tui.library.actions import intake, read_in
from tui.library.ingesting import show_ingestion
from tui.options import (
    After,
    AsJson,
    Before,
    From,
    InFolder,
    Type,
    Yes,
    collection_option,
    confirm,
    filter_pairs,
    is_alone,
)
from tui.run.words import local_time, located, preview
from tui.settings.settings import load, warn_if_unusable
from tui.terminal import clean, console, counted, one_line, print_json, shell_word, table, to_tabulate

_EMPTY = "The library is empty. Add documents: deepthink ingest PATH, or try deepthink demo."
_NONE_FOLLOWED = "No folder is followed yet. `deepthink ingest FOLDER` reads a folder and follows it."
_EXCERPT = 320  # characters of a passage

_Collections = Annotated[
    list[str] | None, collection_option("Here only; may be repeated. all: everywhere.")
]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Only what needs your attention, on stderr.")]


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|URL",
            help="Files and folders; addresses if the web is on. See `deepthink library formats`.",
        ),
    ],
    collection: Annotated[str | None, collection_option("Collection for them; created if new.")] = None,
    description: Annotated[
        str,
        typer.Option("--description", "-d", metavar="TEXT", help="What it holds; the planner reads it."),
    ] = "",
    web: Annotated[bool, typer.Option("--web", help="Turn the web on for this command.")] = False,
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Exclude this from folders, as in .gitignore; may be repeated."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Do not follow the folders.")] = False,
    quiet: _Quiet = False,
) -> int:
    """Read documents into the library.

    Unchanged files are not read again. A folder is read as a whole: documents whose files are gone
    are removed. It is followed from then on: see `deepthink sync`.
    """
    settings = load({"web": True if web else None})
    store, embedder = open_store(), open_embedder(settings)
    selection = intake(paths, settings, collection, description)
    with ctrl_c() as cancel:
        events = read_in(selection, settings, store, embedder, cancel, follow=not once, exclude=exclude)
        code = show_ingestion(events, quiet=quiet)
    if not actions.embed(store, embedder, quiet=quiet):
        failures.warn("Some passages have no vector yet: `deepthink library embed` makes them.")
    return code


def sync(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLLECTION",
            help="All that follow a folder if none is named.",
            autocompletion=completion.collections,
        ),
    ] = None,
    quiet: _Quiet = False,
) -> int:
    """Update the library from the folders it follows.

    Reads new and changed files, removes deleted ones, and recognises files that were renamed or moved.
    The app does the same while it is open. `deepthink library folders` shows the folders.
    """
    store = open_store()
    followed_collections = {folder.collection for folder in Folders(store).followed()}
    for name in names or ():
        if name not in followed_collections:
            raise UnknownCollection(
                f"The collection “{name}” follows no folder.",
                did_you_mean(
                    name, followed_collections, "`deepthink library folders` lists the followed folders."
                ),
            )
    if not followed_collections:
        if not quiet:
            console().print(_NONE_FOLLOWED)
        return failures.DONE
    settings = load()
    with ctrl_c() as cancel:
        events = sync_folders(
            names or [],
            store=store,
            embedder=open_embedder(settings),
            recogniser=open_recogniser(settings),
            cancel=cancel,
        )
        return show_ingestion(events, quiet=quiet)


app = typer.Typer(invoke_without_command=True)


@app.callback()
def collections(context: typer.Context, as_json: AsJson = False) -> None:
    """See, search and prune what was read.

    Without a command, it lists the collections.
    """
    if not is_alone(context, json=as_json):
        return
    library = Library(open_store())
    shelves = library.collections()
    if not to_tabulate(shelves, _EMPTY, as_json=as_json):
        return
    rows = [(one.name, one.documents, one.chunks, one_line(one.description, 160)) for one in shelves]
    headers = ("collection", "documents", "passages", "holds")
    out = console()
    out.print(table(headers, rows, right=("documents", "passages")))
    out.print(Text(f"\nvectors by {actions.vectors_by(library)}", style="dim"))


@app.command("list", context_settings={"allow_extra_args": True})
def list_documents(
    context: typer.Context,
    collection: _Collections = None,
    sender: From = None,
    after: After = None,
    before: Before = None,
    kind: Type = None,
    folder: InFolder = None,
    as_json: AsJson = False,
) -> None:
    """List documents: pages, passages, coverage, date, author."""
    if context.args:
        name = context.args[0]
        raise WrongUsage(
            f"“{name}” is not expected here.",
            f"To list one collection: deepthink library list --collection {shell_word(name)}",
        )
    filters = filters_of(filter_pairs(sender, after, before, kind, folder))
    warn_if_unusable()
    store = open_store()
    library, out = Library(store), console()
    named = {one.name for one in actions.named_collections(library, collection or [])}
    with library.together():
        shelves = {name: library.documents(name, filters) for name in sorted(named)}
        unread = {name: actions.unread_files(Folders(store), name) for name in shelves}
    documents = [document for shelf in shelves.values() for document in shelf]
    if as_json:
        print_json(documents)
        return
    if not documents and filters != NO_FILTERS:
        out.print("No document fits.")
        return
    if not documents:
        out.print(f"{', '.join(collection)} holds no documents." if collection else _EMPTY)
    for name, shelf in shelves.items():
        if shelf:
            out.print(Text(f"{name}: {counted(len(shelf), 'document')}", style="bold"))
            out.print(_document_table(library, shelf))
            out.print()
    for document in documents:
        for notice in document.notices:
            out.print(Text(f"{clean(document.name)}: {clean(notice)}", style="yellow"))
    for name, files in unread.items():
        for file in files:
            out.print(Text(f"{name}, not read: {file}", style="yellow"))


@app.command("folders")
def folders(as_json: AsJson = False) -> None:
    """List the followed folders."""
    followed_folders = Folders(open_store()).followed()
    if not to_tabulate(followed_folders, _NONE_FOLLOWED, as_json=as_json):
        return
    rows = [
        (one.collection, one.path, "  ".join(one.exclude), "" if is_folder(Path(one.path)) else "missing")
        for one in followed_folders
    ]
    console().print(table(("collection", "folder", "excluded", ""), rows))


@app.command("changes")
def changes(as_json: AsJson = False) -> None:
    """Show what changed in followed folders, newest first."""
    entries = Folders(open_store()).changes()
    if not to_tabulate(
        entries,
        "No change of a followed folder was taken in yet. `deepthink sync` looks for changes now.",
        as_json=as_json,
    ):
        return
    rows = [
        (local_time(one.seen), one.collection, one.outcome, one.name, actions.change_detail(one))
        for one in entries
    ]
    console().print(table(("when", "collection", "", "file", ""), rows, whole=("when",)))


@app.command("unfollow")
def unfollow(folder: Annotated[str, typer.Argument(metavar="FOLDER")]) -> None:
    """Stop following a folder.

    Its documents stay in the library.
    """
    if not folder:
        raise WrongUsage("The path is empty.", "`deepthink library folders` lists the followed folders.")
    path = os.path.realpath(expanded_path(folder))
    if not Folders(open_store()).unfollow(path):
        raise WrongUsage(
            f"{clean(path)} is not followed.", "`deepthink library folders` lists the followed folders."
        )
    console().print(Text(f"{clean(path)} is no longer followed. Its documents stay in the library."))


@app.command("formats")
def formats(as_json: AsJson = False) -> int:
    """List the file types that can be read, and what is kept of each."""
    if as_json:
        print_json([{"type": one.name, "keeps": one.keeps, "extensions": one.suffixes} for one in FORMATS])
        return failures.DONE
    rows = [(kind.name, kind.keeps, " ".join(kind.suffixes)) for kind in FORMATS]
    console().print(table(("type", "kept besides the text", "extensions"), rows))
    console().print("A file without an extension is read if it is plain text.")
    return failures.DONE


@app.command("search")
def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY")],
    collection: _Collections = None,
    strategy: Annotated[Strategy, typer.Option("--strategy", "-s", help="How to rank.")] = "hybrid",
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=100, help="Passages to show.")] = 5,
    sender: From = None,
    after: After = None,
    before: Before = None,
    kind: Type = None,
    folder: InFolder = None,
    as_json: AsJson = False,
) -> int:
    """Search without a language model.

    The best passage comes first; --json adds the score that each stage of the search gave it.
    """
    words = one_line(" ".join(query))
    if not any(character.isalnum() for character in words):
        raise WrongUsage("There is nothing to search for.", "Give a few words.")
    filters = filters_of(filter_pairs(sender, after, before, kind, folder))
    store = open_store()
    library = Library(store)
    scope = replace(actions.scope_of(library, collection or []), filters=filters)
    embedder = open_embedder(load())
    actions.embed_few(store, embedder)
    hits = Recall(library, embedder).search(words, strategy, [scope], limit)
    if as_json:
        print_json([actions.as_json_object(hit) for hit in hits])
    else:
        _show_hits(hits, words)
    return failures.DONE if hits else failures.NOT_FOUND


def _show_hits(hits: list[Hit], query: str) -> None:
    out = console()
    if not hits:
        out.print("Nothing found.")
    for number, hit in enumerate(hits, start=1):
        passage = hit.passage
        place = located(passage.title or passage.document, passage.section, passage.page)
        out.print(Text(f"{number}. {place}", style="bold"))
        out.print(Text(f"   {passage.collection} · {clean(passage.document)}", style="dim"))
        out.print(Padding(Text(preview(passage.text, query, _EXCERPT)), (0, 0, 0, 3), expand=False))


@app.command("embed")
def embed() -> int:
    """Give every passage its vector by the embedder in use.

    Only needed after you chose another embedder; the app does it between answers.
    """
    store, embedder = open_store(), open_embedder(load())
    if actions.embed(store, embedder):
        console().print(f"Every passage has its vector by {embedder.name}.")
        return failures.DONE
    failures.warn(
        "Not every passage has its vector yet: this was stopped, or another process is embedding."
    )
    return failures.EXIT_CODES["cancelled"]


@app.command("remove")
def remove(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION", autocompletion=completion.collections)],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="DOCUMENT", help="Its number or its name; without it, the whole collection."
        ),
    ] = None,
    yes: Yes = False,
) -> None:
    """Remove a document or a whole collection.

    The files themselves stay where they are.
    """
    store = open_store()
    library = Library(store)
    try:
        (shelf,) = library.require_collections([collection])
    except UnknownCollection as unknown:
        raise UnknownCollection(
            unknown.message,
            did_you_mean(
                collection,
                [one.name for one in library.collections()],
                "`deepthink library remove COLLECTION DOCUMENT` removes a document; "
                "`deepthink library list` shows in which collection it is.",
            ),
        ) from unknown
    document = find_document(library, name, collection) if name is not None else None
    target = (
        f"{document.name} from {collection}"
        if document
        else f"{collection} ({counted(shelf.documents, 'document')})"
    )
    confirm(f"Remove {target}? The files stay where they are.", yes)
    typer.echo(clean(f"Removed {target}.{actions.remove(store, document or shelf)}"))


def _document_table(library: Library, documents: list[Document]) -> Table:
    with library.together():
        sections = [len(library.sections(Scope(documents=(d.id,)))) or "" for d in documents]
    rows = [
        (d.id, d.name, count, d.pages or "", d.chunks, f"{d.coverage:.1%}", d.date, _author(d))
        for d, count in zip(documents, sections, strict=True)
    ]
    headers = ("no.", "document", "sections", "pages", "passages", "coverage", "date", "by")
    right = ("no.", "sections", "pages", "passages", "coverage")
    return table(headers, rows, right=right, whole=("date",), spare=("by", "date", "pages"))


def _author(document: Document) -> str:
    author = document.author or document.sender
    return author.partition("<")[0].strip(' "') or author


def find_document(library: Library, reference: str, collection: str | None) -> Document:
    """Find a document by number, name, title or source, or by a part of its name that fits only one.

    Raises `UnknownDocument` if none fits, or several do.
    """
    documents = library.documents(collection)
    by_number = [d for d in documents if reference.isdecimal() and d.id == int(reference)]
    exact = [d for d in documents if reference in {d.name, d.title, d.source}]
    partial = [d for d in documents if reference and reference.casefold() in d.name.casefold()]
    for matches in (by_number, exact, partial):
        if len(matches) == 1:
            return matches[0]
        if matches:
            candidates = ", ".join(f"{d.id} ({d.collection}: {d.name})" for d in matches[:5])
            are_apart = len({d.collection for d in matches}) > 1
            way_out = "Give the number, or --collection and its name." if are_apart else "Give the number."
            raise UnknownDocument(f"“{reference}” fits several documents: {candidates}.", way_out)
    place = f"{collection} holds" if collection else "The library holds"
    raise UnknownDocument(
        f"{place} no document “{reference}”.", "`deepthink library list` shows numbers and names."
    )
