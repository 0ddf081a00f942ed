"""``deepthink ingest``."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_NAME = re.compile(r"\w[\w .&+-]{0,63}")
DEFAULT_COLLECTION = "documents"


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH", help="Files and folders: HTML, PDF, DOCX, Markdown, text, CSV."),
    ],
    collection: Annotated[
        str | None, typer.Option("--collection", "-c", metavar="NAME", help="Where they go; made if new.")
    ] = None,
    description: Annotated[
        str,
        typer.Option("--description", "-d", metavar="TEXT", help="What it holds; the planner reads it."),
    ] = "",
) -> int:
    """Read documents into the library.

    What has not changed is not read again. A folder is taken whole: what was read from it before
    and is gone now is removed.
    """
    from agent import ingest as ing
    from tui.assemble import open_embedder, open_store
    from tui.failures import WrongUsage
    from tui.ingesting import show_ingestion
    from tui.interrupts import ctrl_c
    from tui.settings import load
    from tui.terminal import one_line

    for path in paths:
        if _URL.match(path):
            raise WrongUsage(
                f"{path} is an address; this version reads files and folders, not the web.",
                "Save the page or file, then ingest that.",
            )
    settings = load()
    name = collection if collection is not None else settings.collection or DEFAULT_COLLECTION
    if not _NAME.fullmatch(name):
        raise WrongUsage(
            f"“{one_line(name, 80)}” cannot be the name of a collection.",
            "Use up to 64 letters, digits, spaces and . & + - _, a letter or digit first.",
        )
    with ctrl_c() as cancel:
        events = ing.ingest(
            [Path(path) for path in paths],
            collection=name,
            description=" ".join(description.split()),
            store=open_store(),
            embedder=open_embedder(settings),
            cancel=cancel,
        )
        return show_ingestion(events)
