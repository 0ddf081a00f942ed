"""What the user wants read: files, folders and addresses, and the collection for them."""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from traces.errors import DeepthinkError
from traces.typed_path import existing_file, existing_path

if TYPE_CHECKING:
    from agent.documents.ingest import IngestEvent
    from agent.documents.wanted import Fetched
    from models.protocols import Embedder
    from traces.records import Document
    from traces.store import Store
    from tui.settings.settings import Settings

DEFAULT_COLLECTION = "documents"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_NAME = re.compile(r"\w[\w .&+-]{0,63}")
_FETCH_SECONDS = 120.0  # the user waits for it, and a filing may be large
_MAX_ENTRIES = 1000  # entries of a folder, for completion


class WebOff(DeepthinkError):
    """Raised when an address is given while the web is off."""

    title = "The web is off"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Intake:
    """What to read, and the collection for it.

    Attributes:
        paths: Files and folders.
        addresses: Web pages and files.
        collection: Created if new.
        description: Of the collection; "" keeps the present one.
    """

    paths: tuple[Path, ...]
    addresses: tuple[str, ...]
    collection: str
    description: str = ""


def intake(
    names: Sequence[str], settings: Settings, collection: str | None = None, description: str = ""
) -> Intake:
    """Sort ``names`` into paths and addresses, and check what can be checked without the disk.

    Args:
        names: Paths and addresses as typed.
        settings: Whether the web is on, and the default collection.
        collection: The collection for them; None for the default.
        description: What the collection holds, in one line.

    Raises:
        WebOff: one of them is an address, and the web is off.
        WrongUsage: an address is neither http nor https, or the collection's name is not valid.
    """
    from tui.failures import WrongUsage
    from tui.terminal import one_line

    addresses = tuple(name for name in names if is_address(name))
    if addresses and not settings.web:
        raise WebOff(
            f"{one_line(addresses[0], 80)} is an address, and nothing is fetched while the web is off.",
            "Turn it on for this command with --web, or for good: `deepthink config set web true`.",
        )
    collection_name = collection if collection is not None else settings.collection or DEFAULT_COLLECTION
    if not _NAME.fullmatch(collection_name):
        raise WrongUsage(
            f"“{one_line(collection_name, 80)}” cannot be the name of a collection.",
            "Use up to 64 letters, digits, spaces and . & + - _, a letter or digit first.",
        )
    paths = tuple(Path(name) for name in names if name not in addresses)
    return Intake(paths, addresses, collection_name, " ".join(description.split()))


def checked_intake(
    names: Sequence[str], settings: Settings, collection: str | None = None, description: str = ""
) -> Intake:
    """Like `intake`; also raises `NothingToIngest` for a path that does not exist."""
    from agent.documents.ingest import NothingToIngest
    from tui.terminal import one_line

    selection = intake(names, settings, collection, description)
    for path in selection.paths:
        if existing_path(path) is None:
            raise NothingToIngest(f"{one_line(str(path), 80)} does not exist.", "Check the path.")
    return selection


def is_address(name: str) -> bool:
    """Whether it is an address, not a path. Raises `WrongUsage` unless it is http or https."""
    from tui.failures import WrongUsage
    from tui.terminal import one_line

    scheme = _ADDRESS.match(name)
    if scheme and scheme[1].lower() not in {"http", "https"}:
        raise WrongUsage(
            f"{one_line(name, 80)} is not fetched, only http and https are.",
            "Save it as a file, then ingest that.",
        )
    return scheme is not None


def read_in(
    selection: Intake,
    settings: Settings,
    store: Store,
    embedder: Embedder,
    cancel: threading.Event,
    *,
    follow: bool = True,
    exclude: Sequence[str] | None = None,
) -> Iterator[IngestEvent]:
    """Read an intake into the library, yielding events.

    The other arguments and the errors raised are those of `agent.documents.ingest.ingest`.
    """
    from agent.documents.ingest import ingest
    from tui.assemble import open_recogniser

    return ingest(
        selection.paths,
        addresses=selection.addresses,
        fetch=_fetch(settings, cancel) if selection.addresses else None,
        collection=selection.collection,
        description=selection.description,
        store=store,
        embedder=embedder,
        recogniser=open_recogniser(settings),
        cancel=cancel,
        follow=follow,
        exclude=exclude,
    )


def _fetch(settings: Settings, cancel: threading.Event) -> Callable[[str], Fetched]:
    """A function that fetches an address; ignores robots.txt, like a browser: the user named it."""
    from agent.documents.reading import MAX_BYTES
    from agent.web.fetch import Limits
    from tui.assemble import open_fetcher

    fetcher = open_fetcher(settings, Limits(total=_FETCH_SECONDS, size=MAX_BYTES))
    return lambda url: fetcher.fetch(url, robots=False, stop=cancel)


def reread_intake(documents: Sequence[Document], settings: Settings) -> tuple[Intake, list[str]]:
    """An intake that brings ``documents`` of one collection up to date.

    Returns:
        The intake, and a sentence for each document that cannot be read: its file is gone, or it is a page
        and the web is off.
    """
    from tui.terminal import clean

    paths: list[Path] = []
    addresses: list[str] = []
    missing: list[str] = []
    for document in documents:
        if "://" in document.source:
            if settings.web:
                addresses.append(document.source)
            else:
                missing.append(f"{clean(document.name)} is on the web, which is off.")
        elif (file := _file_of(document.source)) is not None:
            paths.append(file)
        else:
            missing.append(f"{clean(document.name)} is no longer at {clean(document.source)}.")
    collection = documents[0].collection if documents else DEFAULT_COLLECTION
    return Intake(tuple(dict.fromkeys(paths)), tuple(addresses), collection), missing


def _file_of(source: str) -> Path | None:
    """The file that a document was read from, or the mail or archive that contains it."""
    return next(filter(None, map(existing_file, [Path(source), *Path(source).parents])), None)


def split_paths(text: str) -> list[str]:
    """Split text that was typed, pasted or dropped on the terminal into paths and addresses.

    A terminal writes dropped files side by side, quoted or with backslashes, or one a line, some of them
    as ``file:`` addresses. A line that is an existing path is kept whole, with its spaces.
    """
    names: list[str] = []
    for line in text.strip().splitlines():
        entry = line.strip()
        if entry and existing_path(entry) is not None:
            names.append(entry)
            continue
        try:
            parts = shlex.split(entry)
        except ValueError:  # an unclosed quotation mark, as in a name with an apostrophe
            parts = [entry]
        names.extend(_path_of_file_url(part) for part in parts)
    return names


def _path_of_file_url(name: str) -> str:
    if not name.startswith("file://"):
        return name
    try:
        return unquote(urlsplit(name).path)
    except ValueError:  # an unclosed bracket in the host
        return name


def completions(text: str) -> list[str]:
    """Paths that begin with ``text``: folders and readable files, sorted.

    Folders end with the separator. Hidden names are left out unless the prefix is hidden.
    """
    from agent.documents.reading import SUFFIXES

    head, slash, prefix = text.rpartition(os.sep)
    folder = existing_path(f"{head}{slash}" or ".")
    if folder is None:
        return []
    try:
        return sorted(
            f"{head}{slash}{entry.name}{os.sep if entry.is_dir() else ''}"
            for entry in islice(folder.iterdir(), _MAX_ENTRIES)
            if entry.name.startswith(prefix)
            and (prefix.startswith(".") or not entry.name.startswith("."))
            and (entry.is_dir() or entry.suffix.casefold() in SUFFIXES)
        )
    except OSError:  # not a folder, or not readable
        return []
