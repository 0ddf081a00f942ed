"""What the library screen asks of the store, in threads, and the messages that come back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from traces.records import Collection, Document, Passage
from traces.typed_path import existing_path

if TYPE_CHECKING:
    from tui.app.engine import Engine
    from tui.library.intake import Intake


@dataclass
class Shelved(Message):
    """The collections there are, the model that made their vectors, and a line on followed folders."""

    collections: Sequence[Collection]
    embedder: str
    followed: str


@dataclass
class Listed(Message):
    """The documents of a collection."""

    collection: str
    documents: Sequence[Document]


@dataclass
class Outlined(Message):
    """The passages of a document."""

    document: int
    passages: Sequence[Passage]


@dataclass
class Changed(Message):
    """The library was changed; ``told`` says how, in a sentence."""

    told: str


@dataclass
class Named(Message):
    """What is to be read, and a sentence for each document that cannot be."""

    chosen: Intake
    missing: Sequence[str] = ()


def shelves(engine: Engine) -> Shelved:
    """Ask what collections there are."""
    from traces.folders import Folders
    from traces.library import Library
    from tui.library.changes import summary
    from tui.library.embedding import vectors_by

    library, folders = Library(engine.store), Folders(engine.store)
    with library.together():
        return Shelved(library.collections(), vectors_by(library), summary(folders))


def documents(engine: Engine, collection: str) -> Listed:
    """Ask what a collection holds."""
    from traces.library import Library

    return Listed(collection, Library(engine.store).documents(collection))


def passages(engine: Engine, document: int) -> Outlined:
    """Ask for the text of a document."""
    from traces.library import Library

    return Outlined(document, Library(engine.store).document_passages(document))


def remove(engine: Engine, what: Collection | Document) -> Changed:
    """Remove a document or a collection. Raises `UnknownDocument`, `UnknownCollection`."""
    from agent.folders.sync import forget
    from traces.library import Library
    from tui.library.following import LEFT_OUT

    if isinstance(what, Document):
        left_out = LEFT_OUT if forget(engine.store, what) else ""
        return Changed(f"Removed {what.name} from {what.collection}.{left_out}")
    Library(engine.store).remove_collection(what.name)
    return Changed(f"Removed {what.name}.")


def describe(engine: Engine, collection: str, description: str) -> Changed:
    """Keep what a collection holds."""
    from traces.library import Library

    Library(engine.store).describe_collection(collection, description)
    return Changed(f"{collection} is described.")


def reread(engine: Engine, what: Collection | Document) -> Named:
    """Find the files and pages of a document or a collection."""
    from traces.library import Library
    from tui.library.intake import again

    wanted = [what] if isinstance(what, Document) else Library(engine.store).documents(what.name)
    return Named(*again(wanted, engine.settings()))


def dropped(engine: Engine, text: str, collection: str) -> Named:
    """Take a text that was pasted for paths. Raises `WebOff`, `WrongUsage`, `NothingToIngest`."""
    from agent.documents.ingest import NothingToIngest
    from tui.library.intake import intake, pasted
    from tui.terminal import one_line

    chosen = intake(pasted(text), engine.settings(), collection or None)
    for path in chosen.paths:
        if existing_path(path) is None:
            raise NothingToIngest(
                f"There is no file {one_line(str(path), 80)}.", "Add it from where it is now."
            )
    return Named(chosen)
