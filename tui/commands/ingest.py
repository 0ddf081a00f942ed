"""``deepthink ingest``."""

from __future__ import annotations

from typing import Annotated

import typer


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
    from agent.documents import ingest as ing
    from traces.paths import scans_dir
    from tui import embedding, failures
    from tui.assemble import open_embedder, open_recogniser, open_store
    from tui.ingesting import show_ingestion
    from tui.intake import fetch, intake
    from tui.interrupts import ctrl_c
    from tui.settings import load

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
        )
        code = show_ingestion(events)
    if not embedding.embed(store, embedder):
        failures.warn("Passages read before have no vector yet: `deepthink library embed` makes them.")
    return code
