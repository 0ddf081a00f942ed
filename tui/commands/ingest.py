"""``deepthink ingest``."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traces.errors import DeepthinkError

if TYPE_CHECKING:
    from agent.web.fetch import Fetched
    from tui.settings import Settings

_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_NAME = re.compile(r"\w[\w .&+-]{0,63}")
_FETCH_SECONDS = 120.0  # a person waits for this one, and a filing may be large
DEFAULT_COLLECTION = "documents"


class WebOff(DeepthinkError):
    """Raised when an address is given while the web is off."""

    title = "The web is off"
    kind = "usage"


def ingest(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="PATH|URL",
            help="Files and folders: HTML, PDF, DOCX, Markdown, text, CSV. Addresses, if the web is on.",
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
    from agent import ingest as ing
    from tui.assemble import open_embedder, open_store
    from tui.failures import WrongUsage
    from tui.ingesting import show_ingestion
    from tui.interrupts import ctrl_c
    from tui.settings import load
    from tui.terminal import one_line

    settings = load({"web": True if web else None})
    addresses = [path for path in paths if _is_address(path)]
    if addresses and not settings.web:
        raise WebOff(
            f"{one_line(addresses[0], 80)} is an address, and nothing is fetched while the web is off.",
            "Turn it on for this command with --web, or for good: `deepthink config set web true`.",
        )
    name = collection if collection is not None else settings.collection or DEFAULT_COLLECTION
    if not _NAME.fullmatch(name):
        raise WrongUsage(
            f"“{one_line(name, 80)}” cannot be the name of a collection.",
            "Use up to 64 letters, digits, spaces and . & + - _, a letter or digit first.",
        )
    with ctrl_c() as cancel:
        events = ing.ingest(
            [Path(path) for path in paths if path not in addresses],
            addresses=addresses,
            fetch=_fetch(settings, cancel) if addresses else None,
            collection=name,
            description=" ".join(description.split()),
            store=open_store(),
            embedder=open_embedder(settings),
            cancel=cancel,
        )
        return show_ingestion(events)


def _is_address(path: str) -> bool:
    from tui.failures import WrongUsage
    from tui.terminal import one_line

    found = _ADDRESS.match(path)
    if found and found[1].lower() not in {"http", "https"}:
        raise WrongUsage(
            f"{one_line(path, 80)} is not fetched, only http and https are.",
            "Save it as a file, then ingest that.",
        )
    return found is not None


def _fetch(settings: Settings, cancel: threading.Event) -> Callable[[str], Fetched]:
    """What fetches an address: as a browser would, because a person named it."""
    from agent.reading import MAX_BYTES
    from agent.web.fetch import Limits
    from tui.assemble import open_fetcher

    fetcher = open_fetcher(settings, Limits(total=_FETCH_SECONDS, size=MAX_BYTES))
    return lambda url: fetcher.fetch(url, robots=False, stop=cancel)
