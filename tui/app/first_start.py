"""The first start's work, for threads: what is here, reading documents, taking the models that came."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.dom import DOMNode
from textual.message import Message

from tui.app.work import Failed, failed

if TYPE_CHECKING:
    from agent.ingest import IngestEvent
    from models.catalogue import CatalogueRole, ModelEntry
    from tui.app.engine import Engine
    from tui.intake import Intake


class First(Message):
    """What is here at the first start.

    Attributes:
        model: The language model that is here, "" if none is.
        missing: Catalogue names of what has to be fetched.
        size: Bytes of that.
        smaller: The same with the smaller language model.
        smaller_size: Bytes of that.
        documents: How many are in the library.
        samples: Whether the whole sample library is among them.
        question: One that it answers.
    """

    def __init__(
        self,
        model: str,
        missing: Sequence[str],
        size: int,
        smaller: Sequence[str],
        smaller_size: int,
        documents: int,
        samples: bool,
        question: str,
    ) -> None:
        super().__init__()
        self.model = model
        self.missing = missing
        self.size = size
        self.smaller = smaller
        self.smaller_size = smaller_size
        self.documents = documents
        self.samples = samples
        self.question = question


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the reading of documents has come.

    Attributes:
        files: Files done.
        total: Files there are.
        name: The file under way.
        passages: Its passages that have a vector.
        of: Its passages.
    """

    files: int = 0
    total: int = 0
    name: str = ""
    passages: int = 0
    of: int = 0


class ReadTold(Message):
    """Documents are being read."""

    def __init__(self, reading: Reading) -> None:
        super().__init__()
        self.reading = reading


class ReadEnded(Message):
    """The reading has ended; ``refused`` are files that could not be read, with the reason."""

    def __init__(
        self, refused: Sequence[str], *, stopped: bool = False, failure: Failed | None = None
    ) -> None:
        super().__init__()
        self.refused = refused
        self.stopped = stopped
        self.failure = failure


def look(engine: Engine) -> First:
    """See what is here. Raises `BadSetting`, `StoreError`."""
    from agent import sample_library
    from models.catalogue import ALL_MINILM_L6_V2, QWEN_CODER_0_5B, QWEN_CODER_1_5B
    from models.fetch import installed
    from models.protocols import ModelMissing
    from traces.library import Library

    settings = engine.settings()
    model = ""
    missing: list[ModelEntry] = []
    try:
        model = engine.chat().name
    except ModelMissing:
        missing.append(_known(settings.model, "chat") or QWEN_CODER_1_5B)
    embedder: list[ModelEntry] = []
    try:
        engine.embedder()
    except ModelMissing:
        embedder.append(_known(settings.embedder, "embedder") or ALL_MINILM_L6_V2)
    smaller = [QWEN_CODER_0_5B, *embedder] if missing else []
    held = {collection.name: collection.documents for collection in Library(engine.store).collections()}
    samples = all(
        held.get(name, 0) >= len(sample_library.documents(name)) for name in sample_library.COLLECTIONS
    )
    return First(
        model.removeprefix("llama.cpp:"),
        [entry.name for entry in (*missing, *embedder)],
        sum(entry.size for entry in (*missing, *embedder)),
        [entry.name for entry in smaller],
        sum(entry.size for entry in smaller if installed(entry) is None),
        sum(held.values()),
        samples,
        sample_library.demo_question().question,
    )


def welcome_needed(engine: Engine) -> bool:
    """Whether nothing was ever read or asked here; for a worker. Raises `StoreError`."""
    from traces.library import Library
    from traces.runs import Runs

    return not Library(engine.store).collections() and not Runs(engine.store).recent(1)


def use(engine: Engine, names: Sequence[str]) -> None:
    """Make the models of the catalogue called ``names`` those in use.

    Raises:
        BadSetting: the settings file cannot be read or written.
    """
    from models.catalogue import entry
    from tui.model_choice import KEYS
    from tui.settings_file import put

    settings = engine.settings()
    for known in map(entry, names):
        key = KEYS[known.role]
        if getattr(settings, key) != known.name:
            put(key, known.name)
    engine.reload()


def read_samples(node: DOMNode, engine: Engine, cancel: threading.Event) -> ReadEnded:
    """Read the sample library, telling ``node``."""

    def events() -> Iterator[IngestEvent]:
        from tui import samples

        for collection in samples.COLLECTIONS:
            yield from samples.read(collection, engine.store, engine.embedder(), cancel)

    return _read(node, events())


def read_own(node: DOMNode, engine: Engine, chosen: Intake, cancel: threading.Event) -> ReadEnded:
    """Read what a person chose, telling ``node``."""

    def events() -> Iterator[IngestEvent]:
        from agent.ingest import ingest
        from tui.intake import fetch

        yield from ingest(
            chosen.paths,
            addresses=chosen.addresses,
            fetch=fetch(engine.settings(), cancel) if chosen.addresses else None,
            collection=chosen.collection,
            description=chosen.description,
            store=engine.store,
            embedder=engine.embedder(),
            cancel=cancel,
        )

    return _read(node, events())


def _read(node: DOMNode, events: Iterator[IngestEvent]) -> ReadEnded:
    from agent import ingest as ing
    from models.protocols import GenerationCancelled
    from tui.terminal import one_line

    files = total = 0
    name = ""
    refused: list[str] = []
    try:
        for event in events:
            match event:
                case ing.FileFound():
                    total += event.total
                case ing.FileStarted():
                    name = event.name
                    node.post_message(ReadTold(Reading(files, total, name)))
                case ing.FileEmbedding():
                    told = Reading(files, total, name, event.done_chunks, event.total_chunks)
                    node.post_message(ReadTold(told))
                case ing.FileDone():
                    files += 1
                case ing.FileFailed():
                    files += 1
                    refused.append(f"{one_line(event.name, 40)}: {event.error.message}")
                case _:
                    pass
    except GenerationCancelled:
        return ReadEnded(refused, stopped=True)
    except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
        return ReadEnded(refused, failure=failed(error))
    return ReadEnded(refused)


def _known(name: str, role: CatalogueRole) -> ModelEntry | None:
    """The catalogue's model of that name and role, if there is one."""
    from models.catalogue import CATALOGUE

    return next((known for known in CATALOGUE if (known.name, known.role) == (name.lower(), role)), None)
