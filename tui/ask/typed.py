"""A typed question: parsed, and turned into a run."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from traces.typed_path import existing_path
from tui.run.live import Begin
from tui.terminal import one_line

if TYPE_CHECKING:
    from tui.app.engine import Engine

_REFERENCE = re.compile(r"(?:^|(?<=\s))([#@])(\S+)")
_MAX_NAMED = 5  # unreadable files in a warning


@dataclass(frozen=True, slots=True)
class Typed:
    """A question with the collections (``#``), the paths (``@``) and the filters (``from:``) that it names.

    ``unknown`` are the collections and paths that do not exist; the question is then refused.
    """

    question: str
    collections: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    unknown: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()


def read(text: str, collection_names: frozenset[str]) -> Typed:
    """Parse a typed question; ``collection_names`` are those of the library.

    ``#1`` is part of the question, as is ``@`` before a word that does not look like a path.
    """
    collections: list[str] = []
    paths: list[Path] = []
    unknown: list[str] = []

    def take_reference(match: re.Match[str]) -> str:
        sign, word = match[1], match[2]
        if sign == "#" and word in collection_names:
            collections.append(word)
            return ""
        if sign == "#" and collection_names and word[0].isalpha():
            unknown.append(match[0])
        path = existing_path(word) if sign == "@" else None
        if path is not None:
            paths.append(path)
            return ""
        if sign == "@" and any(mark in word for mark in "/~"):
            unknown.append(match[0])
        return match[0]

    from agent.retrieval.filters import taken_from

    unfiltered, filters = taken_from(text)
    question = " ".join(_REFERENCE.sub(take_reference, unfiltered).split())
    return Typed(
        question,
        tuple(dict.fromkeys(collections)),
        tuple(dict.fromkeys(paths)),
        tuple(unknown),
        tuple(filters),
    )


def begin(
    engine: Engine,
    typed: Typed,
    session: str,
    *,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    cancelled: threading.Event,
) -> Begin:
    """Read the files that a question names, then prepare `agent.run.run`; runs in the thread of the run.

    Args:
        engine: Settings, store and embedder.
        typed: The question.
        session: Id of the session; "" for a new one, which also replaces one deleted meanwhile.
        tell: Takes a few words about the progress.
        warn: Takes a sentence about what is left out: a deleted session, unreadable files of a folder.
        cancelled: Stops the reading.

    Raises:
        BadFilter: a filter has an invalid value.
        DeepthinkError: a named file, or all of a folder, cannot be read, or the settings are invalid.
    """
    from agent import run as agent_run
    from tui.ask.asking import request_of
    from tui.ask.warm import AskOptions
    from tui.library.intake import DEFAULT_COLLECTION

    settings = engine.settings()
    collections = typed.collections
    if typed.paths:
        collection = settings.collection or DEFAULT_COLLECTION
        _read_first(engine, typed.paths, collection, tell, warn, cancelled)
        collections = tuple(dict.fromkeys([*collections, collection])) if collections else ()
    options = AskOptions(typed.question, collections, filters=typed.filters)
    request = request_of(options, settings, interactive=True)
    return partial(agent_run.run, replace(request, session=_existing_session(engine, session, warn)))


def _existing_session(engine: Engine, session: str, warn: Callable[[str], None]) -> str:
    from traces.sessions import Sessions, UnknownSession

    try:
        return Sessions(engine.store).find(session).id if session else ""
    except UnknownSession:
        warn("The session was deleted; this question begins a new one.")
        return ""


def _read_first(
    engine: Engine,
    paths: tuple[Path, ...],
    collection: str,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    cancelled: threading.Event,
) -> None:
    from agent.documents.ingest import FileFailed
    from tui.library.ingesting import IngestFold
    from tui.library.intake import Intake, read_in

    named_files = {str(path.resolve()) for path in paths if not path.is_dir()}
    fold = IngestFold()
    intake = Intake(paths, (), collection)
    for event in read_in(intake, engine.settings(), engine.store, engine.embedder(), cancelled):
        fold.take(event)
        if isinstance(event, FileFailed) and event.source in named_files:
            raise event.error
        if fold.under_way is not None:
            tell(f"{fold.under_way.name}: {fold.doing}")
    failed = fold.failed
    if failed and all(file.outcome == "removed" for file in fold.done):
        raise failed[0].error
    if failed:
        names = ", ".join(one_line(file.name, 40) for file in failed[:_MAX_NAMED])
        more = f" and {len(failed) - _MAX_NAMED} more" if len(failed) > _MAX_NAMED else ""
        warn(f"Asked without what could not be read: {names}{more}.")
