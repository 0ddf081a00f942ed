"""What app and command line do with the library: reading, searching, vectors, followed folders."""

from __future__ import annotations

import os
import re
import shlex
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from models.protocols import Embedder, GenerationCancelled
from traces.errors import DeepthinkError
from traces.folders import Change, Folders
from traces.library import Library
from traces.paths import existing_file, existing_path
from traces.records import ALL_COLLECTIONS, WEB_COLLECTION, Collection, Document, Scope
from traces.store import Store
from tui import failures
from tui.bars import show_progress
from tui.interrupts import ctrl_c
from tui.run.words import local_time
from tui.terminal import clean, counted, one_line

if TYPE_CHECKING:
    from agent.documents.ingest import IngestEvent
    from agent.documents.sources import Fetched
    from agent.retrieval.recall import Hit
    from tui.settings.settings import Settings


DEFAULT_COLLECTION = "documents"
_ADDRESS = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)
_NAME = re.compile(r"\w[\w .&+-]{0,63}")
_FETCH_SECONDS = 120.0  # the user waits for it, and a filing may be large
_MAX_ENTRIES = 1000  # entries of a folder, for completion


class WebOff(DeepthinkError, title="The web is off", kind="usage"):
    """Raised when an address is given while the web is off."""


@dataclass(frozen=True, slots=True)
class Intake:
    """What to read, and the collection for it."""

    paths: tuple[Path, ...]  # files and folders
    addresses: tuple[str, ...]  # web pages and files
    collection: str  # created if new
    description: str = ""  # of the collection; "" keeps the present one


def intake(
    names: Sequence[str], settings: Settings, collection: str | None = None, description: str = ""
) -> Intake:
    """Sort ``names``, as typed, into paths and addresses, and check them.

    ``collection`` is None for that of the settings. Raises `WebOff`, `WrongUsage` if the web has no such
    address or no collection can have this name, and `NothingToIngest` if a path does not exist.
    """
    from agent.documents.ingest import NothingToIngest

    addresses = tuple(name for name in names if _is_address(name))
    if addresses and not settings.web:
        raise WebOff(
            f"{one_line(addresses[0], 80)} is an address, and nothing is fetched while the web is off.",
            "Turn it on for this command with --web, or for good: `deepthink config set web true`.",
        )
    collection_name = collection if collection is not None else settings.collection or DEFAULT_COLLECTION
    if not _NAME.fullmatch(collection_name) or collection_name in {ALL_COLLECTIONS, WEB_COLLECTION}:
        raise failures.WrongUsage(
            f"“{one_line(collection_name, 80)}” cannot be the name of a collection.",
            "Use up to 64 letters, digits, spaces and . & + - _, a letter or digit first; not all or web.",
        )
    if not all(names):  # an empty variable of a script; the path would be the current folder
        raise NothingToIngest("The path is empty.", "Name a file or a folder; . is the current folder.")
    paths = tuple(Path(name) for name in names if name not in addresses)
    for path in paths:
        if existing_path(path) is None:
            raise NothingToIngest(f"{one_line(str(path), 80)} does not exist.", "Check the path.")
    return Intake(paths, addresses, collection_name, " ".join(description.split()))


def _is_address(name: str) -> bool:
    """Whether it is an address, not a path. Raises `WrongUsage` unless it is http or https."""
    scheme = _ADDRESS.match(name)
    if scheme and scheme[1].lower() not in {"http", "https"}:
        raise failures.WrongUsage(
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
    """Read an intake into the library, yielding events; see `agent.documents.ingest.ingest`."""
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


def read_samples(
    collection: str, store: Store, embedder: Embedder, cancel: threading.Event
) -> Iterator[IngestEvent]:
    """Bring one sample collection up to date, yielding events; documents already read stay unchanged.

    That one of them is in Chinese is not told: nobody has to do anything about it.
    """
    from agent.documents import sample_library
    from agent.documents.ingest import LanguagesUnknown, ingest

    events = ingest(
        [sample_library.root() / collection],
        collection=collection,
        description=sample_library.COLLECTIONS[collection],
        store=store,
        embedder=embedder,
        cancel=cancel,
    )
    return (event for event in events if not isinstance(event, LanguagesUnknown))


def _fetch(settings: Settings, cancel: threading.Event) -> Callable[[str], Fetched]:
    """A function that fetches an address; ignores robots.txt, like a browser: the user named it."""
    from agent.documents.reading import MAX_BYTES
    from agent.web.fetch import Limits
    from tui.assemble import open_fetcher

    fetcher = open_fetcher(settings, Limits(total=_FETCH_SECONDS, size=MAX_BYTES))
    return lambda url: fetcher.fetch(url, robots=False, stop=cancel)


def reread_intake(documents: Sequence[Document], settings: Settings) -> tuple[Intake, list[str]]:
    """An intake that brings ``documents`` of one collection up to date.

    With it comes a sentence for each document whose file is gone, or which is a page while the web is off.
    """
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
    """Paths that begin with ``text``: folders and readable files, sorted, that of ``text`` itself first.

    Folders end with the separator. Hidden names are left out unless the prefix is hidden.
    """
    from agent.documents.sources import why_skipped

    head, slash, prefix = text.rpartition(os.sep)
    folder = existing_path(f"{head}{slash}" or ".")
    if folder is None:
        return []
    try:
        paths = [
            f"{head}{slash}{entry.name}{os.sep if entry.is_dir() else ''}"
            for entry in islice(folder.iterdir(), _MAX_ENTRIES)
            if entry.name.startswith(prefix)
            and (prefix.startswith(".") or not entry.name.startswith("."))
            and (entry.is_dir() or not why_skipped(entry))
        ]
    except OSError:  # not a folder, or not readable
        return []
    return sorted(paths, key=lambda path: (path.removesuffix(os.sep) != text, path))


_FEW: Final = 32  # passages; takes about as long as loading the model


def as_json_object(hit: Hit) -> dict[str, object]:
    """A passage with the fields of a citation, and its scores; scripts rely on the keys."""
    fields = ("document_id", "collection", "document", "title", "section", "page", "date", "text")
    shared = {name: getattr(hit.passage, name) for name in fields}
    return {"passage_id": hit.passage.id, **shared, "scores": hit.scores}


def named_collections(library: Library, names: Sequence[str]) -> list[Collection]:
    """The named collections; all of them if none or ``all`` is named. Raises `UnknownCollection`."""
    return library.require_collections(() if ALL_COLLECTIONS in names else names)


def scope_of(library: Library, collections: Sequence[str]) -> Scope:
    """Where to search: in `named_collections`. Raises `UnknownCollection`, `EmptyLibrary`."""
    from agent.run import EmptyLibrary

    names = tuple(c.name for c in named_collections(library, collections) if c.chunks)
    if not names:
        raise EmptyLibrary("The library is empty.", "Add documents: `deepthink ingest PATH`.")
    return Scope(collections=names)


def embed_few(store: Store, embedder: Embedder) -> None:
    """Make the missing vectors if they are few; else warn that only words find these passages."""
    from agent.documents.indexing import embed_library

    library = Library(store)
    done, total = library.embedded(embedder.name)
    if 0 < total - done <= _FEW:
        for _ in embed_library(library, embedder):
            pass
    elif done < total:
        failures.warn(
            f"{total - done:,} of {total:,} passages have no vector by {embedder.name} yet: words alone "
            "find them. `deepthink library embed` makes the vectors at once."
        )


def embed(
    store: Store, embedder: Embedder, cancel: threading.Event | None = None, *, quiet: bool = False
) -> bool:
    """Embed the passages without a vector; returns whether all have one now.

    Shows the progress unless ``quiet``. ``cancel`` stops it; if it is None, Ctrl-C does.
    """
    from agent.documents.indexing import embed_library

    library = Library(store)
    with nullcontext(cancel) if cancel is not None else ctrl_c() as stop:
        try:
            show_progress(
                embed_library(library, embedder, cancel=stop),
                lambda _progress: "embedding the library",
                quiet=quiet,
            )
        except GenerationCancelled:
            return False
    done, total = library.embedded(embedder.name)
    return done == total


def vectors_by(library: Library) -> str:
    """The embedder of the library's vectors, with its progress unless all passages are embedded."""
    embedder = library.embedder()
    if embedder is None:
        return "no model yet"
    done, total = library.embedded(embedder)
    return embedder if done == total else f"{embedder}, {done:,} of {total:,} passages so far"


def remove(store: Store, item: Collection | Document) -> str:
    """Remove a document or a whole collection; returns what follows from that, "" if nothing."""
    from agent.documents.following import forget

    if isinstance(item, Document):
        in_folder = " Its file is excluded from the followed folder, until you add it by its name."
        return in_folder if forget(store, item) else ""
    paths = ", ".join(folder.path for folder in Folders(store).followed(item.name))
    Library(store).remove_collection(item.name)
    return f" No longer followed: {paths}." if paths else ""


def change_detail(change: Change) -> str:
    return f"was {change.detail}" if change.outcome == "moved" else change.detail


def unread_files(folders: Folders, collection: str) -> list[str]:
    """Why files of a collection were not read when that was last tried: a sentence for each reason."""
    names: dict[str, list[str]] = {}
    for source, unreadable in sorted(folders.unreadable(collection).items()):
        if (path := existing_file(Path(source))) is not None:
            names.setdefault(unreadable.reason or "could not be read.", []).append(path.name)
    return [
        one_line(reason if files[0] in reason else f"{_named(files)}: {reason}")
        for reason, files in names.items()
    ]


_MAX_NAMED = 5  # files that were not read for the same reason


def _named(files: Sequence[str]) -> str:
    more = f" and {len(files) - _MAX_NAMED:,} more" if len(files) > _MAX_NAMED else ""
    return f"{', '.join(files[:_MAX_NAMED])}{more}"


def summary(folders: Folders) -> str:
    """Summarise the last changes in followed folders in one line; "" if no folder is followed."""
    followed_folders = folders.followed()
    if not followed_folders:
        return ""
    if missing := folders.away():
        path, detail = next(iter(missing.items()))
        return f"! {path}: {detail}. Its documents stay in the library."
    line = f"Following {counted(len(followed_folders), 'folder')}"
    changes = folders.changes()
    if not changes:
        return f"{line}."
    counts = Counter(change.outcome for change in changes if change.seen == changes[0].seen)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
    return f"{line}. Last change {local_time(changes[0].seen)}: {outcomes}."
