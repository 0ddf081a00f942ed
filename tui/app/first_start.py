"""The first start's work, for threads: what is here, and taking the models that came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

from tui.terminal import size

if TYPE_CHECKING:
    from agent.documents.ingest import IngestEvent
    from models.catalogue import CatalogueRole, ModelEntry
    from tui.app.engine import Engine
    from tui.ingest_fold import IngestFold


class First(Message):
    """What is here at the first start.

    Attributes:
        model: The language model that is here, "" if none is.
        missing: Catalogue names of what has to be fetched.
        size: Bytes of that.
        begun: Bytes of it that are here already, from a fetch that was interrupted.
        smaller: The same with the smaller language model.
        smaller_size: Bytes of that.
        documents: How many are in the library.
        samples: Whether the whole sample library is among them.
        sample_documents: How many that has.
        question: One that it answers.
    """

    def __init__(
        self,
        model: str,
        missing: Sequence[str],
        size: int,
        begun: int,
        smaller: Sequence[str],
        smaller_size: int,
        documents: int,
        samples: bool,
        sample_documents: int,
        question: str,
    ) -> None:
        super().__init__()
        self.model = model
        self.missing = missing
        self.size = size
        self.begun = begun
        self.smaller = smaller
        self.smaller_size = smaller_size
        self.documents = documents
        self.samples = samples
        self.sample_documents = sample_documents
        self.question = question

    @property
    def weight(self) -> str:
        """How much has to be fetched, in words."""
        half = f" {size(self.begun)} of it is here already." * bool(self.begun)
        return f"{size(self.size)}, once.{half}"


def look(engine: Engine) -> First:
    """See what is here. Raises `BadSetting`, `StoreError`."""
    from agent.documents import sample_library
    from models.catalogue import BGE_SMALL_EN, MS_MARCO_MINILM_L12, QWEN_CODER_0_5B, QWEN_CODER_1_5B
    from models.fetch import ChecksumMismatch, begun, installed
    from models.protocols import ModelMissing
    from traces.library import Library

    settings = engine.settings()
    model = ""
    missing: list[ModelEntry] = []
    try:
        with engine.chat() as chat:
            model = chat.name
    except (ModelMissing, ChecksumMismatch):  # fetching mends either
        missing.append(_known(settings.model, "chat") or QWEN_CODER_1_5B)
    searching: list[ModelEntry] = []
    try:
        engine.embedder()
    except (ModelMissing, ChecksumMismatch):
        searching.append(_known(settings.embedder, "embedder") or BGE_SMALL_EN)
    try:
        engine.reader()
    except (ModelMissing, ChecksumMismatch):
        searching.append(_known(settings.reranker, "reranker") or MS_MARCO_MINILM_L12)
    smaller = [QWEN_CODER_0_5B, *searching] if missing else []
    held = {collection.name: collection.documents for collection in Library(engine.store).collections()}
    there_are = {name: len(sample_library.documents(name)) for name in sample_library.COLLECTIONS}
    return First(
        model.removeprefix("llama.cpp:"),
        [entry.name for entry in (*missing, *searching)],
        sum(entry.size for entry in (*missing, *searching)),
        sum(begun(entry) for entry in (*missing, *searching)),
        [entry.name for entry in smaller],
        sum(entry.size for entry in smaller if installed(entry) is None),
        sum(held.values()),
        all(held.get(name, 0) >= count for name, count in there_are.items()),
        sum(there_are.values()),
        sample_library.demo_question().question,
    )


def welcome_needed(engine: Engine) -> bool:
    """Whether nothing was ever read or asked here; for a worker. Raises `StoreError`."""
    from traces.library import Library
    from traces.runs import Runs

    return not Library(engine.store).collections() and not Runs(engine.store).recent(1)


class EmbedderLoading(Message):
    """The embedder is being loaded: vectors come only after that."""


def embedder_loading(engine: Engine) -> EmbedderLoading | None:
    """Whether the first vectors have to wait for the embedder."""
    from models.protocols import Loadable
    from traces.errors import DeepthinkError

    try:
        embedder = engine.embedder()
    except DeepthinkError:  # told by the reading, which needs it too
        return None
    return EmbedderLoading() if isinstance(embedder, Loadable) and not embedder.ready() else None


@dataclass(slots=True)
class Reading:
    """A reading of documents under way, as the first start tells it.

    Attributes:
        fold: What is known of it from its events.
        expected: How many documents there will be, where that is known before they are looked for; else 0.
        waits: Whether it waits for the embedder.
    """

    fold: IngestFold
    expected: int = 0
    waits: bool = False

    @classmethod
    def of(cls, expected: int) -> Reading:
        """One that has not begun."""
        from tui.ingest_fold import IngestFold

        return cls(IngestFold(), expected)

    def take(self, event: IngestEvent) -> None:
        """Add an event."""
        self.fold.take(event)
        self.waits = self.waits and not self.embeds

    @property
    def embeds(self) -> bool:
        """Whether the embedder has brought vectors."""
        return bool(self.fold.news) or bool(self.fold.passages and self.fold.passages[0])

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        done, passages = self.fold.passages or (0, 0)
        under_way = done / passages if passages else 0.0
        return (self.fold.finished + under_way) / max(1, self.fold.total, self.expected)

    @property
    def whole(self) -> str:
        """Of how many documents that is the share."""
        total = max(self.fold.total, self.expected)
        return f"{total} documents" if total else "the documents"

    @property
    def told(self) -> str:
        """What it is doing."""
        if self.waits:
            return "The embedder is being loaded: some seconds, once …"
        return self.fold.under_way.name if self.fold.under_way is not None else ""


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
