"""The first start's work, for threads: what is here, and taking the models that came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from models.catalogue import CatalogueRole, ModelEntry
    from tui.app.engine import Engine


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


def _known(name: str, role: CatalogueRole) -> ModelEntry | None:
    """The catalogue's model of that name and role, if there is one."""
    from models.catalogue import CATALOGUE

    return next((known for known in CATALOGUE if (known.name, known.role) == (name.lower(), role)), None)
