"""``deepthink ingest`` and ``deepthink library``."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tui.options import After, AsJson, Before, From, InFolder, Type, filters_from


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
    exclude: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATTERN", help="Leave this out of folders, as in .gitignore; may be repeated."
        ),
    ] = None,
    once: Annotated[bool, typer.Option("--once", help="Do not follow the folders.")] = False,
) -> int:
    """Read documents into the library.

    What has not changed is not read again. A folder is taken whole: what was read from it before
    and is gone now is removed. It is followed from then on: see `deepthink sync`.
    """
    from agent.documents import ingest as ing
    from traces.paths import scans_dir
    from tui import failures
    from tui.assemble import open_embedder, open_recogniser, open_store
    from tui.interrupts import ctrl_c
    from tui.library import embedding
    from tui.library.ingesting import show_ingestion
    from tui.library.intake import fetch, intake
    from tui.settings.settings import load

    settings = load({"web": True if web else None})
    store, embedder = open_store(), open_embedder(settings)
    wanted = intake(paths, settings, collection, description)
    with ctrl_c() as cancel:
        events = ing.ingest(
            wanted.paths,
            addresses=wanted.addresses,
            fetch=fetch(settings, cancel) if wanted.addresses else None,
            collection=wanted.collection,
            description=wanted.description,
            store=store,
            embedder=embedder,
            recogniser=open_recogniser(settings),
            scans=scans_dir(),
            cancel=cancel,
            follow=not once,
            exclude=exclude,
        )
        code = show_ingestion(events)
    if not embedding.embed(store, embedder):
        failures.warn("Passages read before have no vector yet: `deepthink library embed` makes them.")
    return code


def sync(
    collections: Annotated[
        list[str] | None,
        typer.Argument(metavar="[COLLECTION]", help="All that follow a folder if left out."),
    ] = None,
) -> int:
    """Bring the library up to date with the folders it follows.

    Reads what is new or changed, lets go of what was deleted, and knows a file that was renamed or moved.
    The app does the same while it is open. `deepthink library folders` shows the folders.
    """
    from tui.library.following import sync_folders

    return sync_folders(collections or [])


app = typer.Typer(
    help="See, search and prune what was read.", invoke_without_command=True, rich_markup_mode=None
)


@app.callback()
def library(context: typer.Context, as_json: AsJson = False) -> None:
    """See, search and prune what was read; without a command: the collections."""
    if not context.invoked_subcommand:
        from tui.library.tables import show_collections

        show_collections(as_json=as_json)


@app.command("list")
def list_documents(
    collection: Annotated[
        str | None, typer.Argument(metavar="[COLLECTION]", help="All collections if none is named.")
    ] = None,
    sender: From = None,
    after: After = None,
    before: Before = None,
    kind: Type = None,
    folder: InFolder = None,
    as_json: AsJson = False,
) -> None:
    """List documents: pages, passages, coverage, date, author."""
    from tui.library.tables import show_documents

    show_documents(collection, filters_from(sender, after, before, kind, folder), as_json=as_json)


@app.command("folders")
def folders(as_json: AsJson = False) -> None:
    """Show the folders that are followed."""
    from tui.library.following import show_folders

    show_folders(as_json=as_json)


@app.command("changes")
def changes(as_json: AsJson = False) -> None:
    """Show what changed in followed folders, newest first."""
    from tui.library.following import show_changes

    show_changes(as_json=as_json)


@app.command("unfollow")
def unfollow(folder: Annotated[str, typer.Argument(metavar="FOLDER")]) -> None:
    """No longer follow a folder.

    What was read from it stays in the library.
    """
    from tui.library.following import unfollow as unfollow_folder

    unfollow_folder(folder)


@app.command("formats")
def formats() -> None:
    """Show the kinds of files that are read, and what of each is kept."""
    from tui.library.tables import show_formats

    show_formats()


@app.command("sections")
def sections(
    document: Annotated[str, typer.Argument(metavar="DOCUMENT", help="Its number or its name.")],
    as_json: AsJson = False,
) -> None:
    """Show the outline of a document as it was found."""
    from tui.library.tables import show_sections

    show_sections(document, as_json=as_json)


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
    sender: From = None,
    after: After = None,
    before: Before = None,
    kind: Type = None,
    folder: InFolder = None,
    as_json: AsJson = False,
) -> int:
    """Search without a language model.

    Shows for each passage the score that each stage gave it.
    """
    from tui.library.search import show_search

    filters = filters_from(sender, after, before, kind, folder)
    return show_search(
        " ".join(query), collection or [], strategy, section, limit, filters, as_json=as_json
    )


@app.command("embed")
def embed() -> int:
    """Give every passage its vector by the embedder in use.

    Only needed after another embedder was chosen, and done as you go on; this does it at once.
    """
    from tui.library.tables import embed as embed_library

    return embed_library()


@app.command("remove")
def remove(
    collection: Annotated[str, typer.Argument(metavar="COLLECTION")],
    document: Annotated[
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
    from tui.library.tables import remove as remove_from_library

    remove_from_library(collection, document, ask=not yes)
