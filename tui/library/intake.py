"""What a person names to be read: files, folders and addresses, and the collection they go to."""

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
_FETCH_SECONDS = 120.0  # a person waits for this one, and a filing may be large
_LOOKED_AT = 1000  # entries of a folder, for completion


class WebOff(DeepthinkError):
    """Raised when an address is given while the web is off."""

    title = "The web is off"
    kind = "usage"


@dataclass(frozen=True, slots=True)
class Intake:
    """What is to be read, and where it goes.

    Attributes:
        paths: Files and folders.
        addresses: Pages and files of the web.
        collection: Made if new.
        description: What the collection holds; "" leaves it as it is.
    """

    paths: tuple[Path, ...]
    addresses: tuple[str, ...]
    collection: str
    description: str = ""


def intake(
    names: Sequence[str], settings: Settings, collection: str | None = None, description: str = ""
) -> Intake:
    """What ``names`` stand for, checked as far as that goes without looking at the disk.

    Args:
        names: Paths and addresses as they were written.
        settings: Say whether the web is on, and where documents go if nothing else is said.
        collection: Where they go; as set if None.
        description: What the collection holds, in one line.

    Raises:
        WebOff: an address is among them while the web is off.
        WrongUsage: an address is of a kind that is not fetched, or the collection cannot be called that.
    """
    from tui.failures import WrongUsage
    from tui.terminal import one_line

    addresses = tuple(name for name in names if is_address(name))
    if addresses and not settings.web:
        raise WebOff(
            f"{one_line(addresses[0], 80)} is an address, and nothing is fetched while the web is off.",
            "Turn it on for this command with --web, or for good: `deepthink config set web true`.",
        )
    called = collection if collection is not None else settings.collection or DEFAULT_COLLECTION
    if not _NAME.fullmatch(called):
        raise WrongUsage(
            f"“{one_line(called, 80)}” cannot be the name of a collection.",
            "Use up to 64 letters, digits, spaces and . & + - _, a letter or digit first.",
        )
    paths = tuple(Path(name) for name in names if name not in addresses)
    return Intake(paths, addresses, called, " ".join(description.split()))


def checked(
    names: Sequence[str], settings: Settings, collection: str | None = None, description: str = ""
) -> Intake:
    """The same as `intake`; also raises `NothingToIngest` for a path that is not there."""
    from agent.documents.ingest import NothingToIngest
    from tui.terminal import one_line

    chosen = intake(names, settings, collection, description)
    for path in chosen.paths:
        if existing_path(path) is None:
            raise NothingToIngest(f"{one_line(str(path), 80)} does not exist.", "Check the path.")
    return chosen


def is_address(name: str) -> bool:
    """Whether it is an address, not a path. Raises `WrongUsage` for one that is not fetched."""
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
    chosen: Intake,
    settings: Settings,
    store: Store,
    embedder: Embedder,
    cancel: threading.Event,
    *,
    follow: bool = True,
    exclude: Sequence[str] | None = None,
) -> Iterator[IngestEvent]:
    """Read what was chosen into the library, telling each step; ``follow`` and the rest as there.

    Raises what `agent.documents.ingest.ingest` raises.
    """
    from agent.documents.ingest import ingest
    from traces.paths import scans_dir
    from tui.assemble import open_recogniser

    return ingest(
        chosen.paths,
        addresses=chosen.addresses,
        fetch=_fetch(settings, cancel) if chosen.addresses else None,
        collection=chosen.collection,
        description=chosen.description,
        store=store,
        embedder=embedder,
        recogniser=open_recogniser(settings),
        scans=scans_dir(),
        cancel=cancel,
        follow=follow,
        exclude=exclude,
    )


def _fetch(settings: Settings, cancel: threading.Event) -> Callable[[str], Fetched]:
    """What fetches an address: as a browser would, because a person named it."""
    from agent.documents.reading import MAX_BYTES
    from agent.web.fetch import Limits
    from tui.assemble import open_fetcher

    fetcher = open_fetcher(settings, Limits(total=_FETCH_SECONDS, size=MAX_BYTES))
    return lambda url: fetcher.fetch(url, robots=False, stop=cancel)


def again(documents: Sequence[Document], settings: Settings) -> tuple[Intake, list[str]]:
    """What is to be read to bring ``documents`` of one collection up to date, and what cannot be.

    Returns:
        Their files and pages, and a sentence for each document whose file is gone, or whose page cannot be
        fetched while the web is off.
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
        elif (there := _file_of(document.source)) is not None:
            paths.append(there)
        else:
            missing.append(f"{clean(document.name)} is no longer at {clean(document.source)}.")
    collection = documents[0].collection if documents else DEFAULT_COLLECTION
    return Intake(tuple(dict.fromkeys(paths)), tuple(addresses), collection), missing


def _file_of(source: str) -> Path | None:
    """The file that a document was read from, or the one that its file lies in: a mail, an archive."""
    return next(filter(None, map(existing_file, [Path(source), *Path(source).parents])), None)


def pasted(text: str) -> list[str]:
    """The paths and addresses in a text that was typed, pasted or dropped on the terminal.

    A terminal writes dropped files side by side, quoted or with backslashes, or one a line, some of them
    as ``file:`` addresses. A path that exists as it is written is taken as it is, with its spaces.
    """
    names: list[str] = []
    for line in text.strip().splitlines():
        bare = line.strip()
        if bare and existing_path(bare) is not None:
            names.append(bare)
            continue
        try:
            parts = shlex.split(bare)
        except ValueError:  # a quotation mark that is never closed, as in a name with an apostrophe
            parts = [bare]
        names.extend(_of_file_address(part) for part in parts)
    return names


def _of_file_address(name: str) -> str:
    if not name.startswith("file://"):
        return name
    try:
        return unquote(urlsplit(name).path)
    except ValueError:  # a bracket that is never closed where the machine is named
        return name


def completions(typed: str) -> list[str]:
    """What ``typed`` may be the beginning of: folders, and files that can be read, in order.

    A folder ends with the separator. Hidden names are left out unless one is being typed.
    """
    from agent.documents.reading import SUFFIXES

    head, slash, begun = typed.rpartition(os.sep)
    folder = existing_path(f"{head}{slash}" or ".")
    if folder is None:
        return []
    try:
        return sorted(
            f"{head}{slash}{entry.name}{os.sep if entry.is_dir() else ''}"
            for entry in islice(folder.iterdir(), _LOOKED_AT)
            if entry.name.startswith(begun)
            and (begun.startswith(".") or not entry.name.startswith("."))
            and (entry.is_dir() or entry.suffix.casefold() in SUFFIXES)
        )
    except OSError:  # not a folder, or not ours to read
        return []
