"""A reading of files in a thread, of which the screen hears in batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from textual.message import Message
from textual.widget import Widget

from tui.app.work import Batch, Failed, failed

if TYPE_CHECKING:
    from agent.documents.ingest import IngestEvent
    from tui.app.engine import Engine
    from tui.intake import Intake

Read = Callable[[threading.Event], "Iterator[IngestEvent]"]
"""`agent.documents.ingest.ingest` with everything but ``cancel`` filled in."""


class IngestTold(Message):
    """Events have come: whoever shows the job drains them."""

    def __init__(self, job: IngestJob) -> None:
        super().__init__()
        self.job = job


class IngestEnded(Message):
    """The job's thread has ended; ``failure`` is what it raised, but for being stopped."""

    def __init__(self, job: IngestJob, failure: Failed | None) -> None:
        super().__init__()
        self.job = job
        self.failure = failure


class IngestJob:
    """One reading.

    Args:
        title: What is read, in a few words.
        read: Reads it.
        into: The collections it goes to.

    Attributes:
        cancel: Set to stop between two batches; what is read stays read.
    """

    def __init__(self, title: str, read: Read, into: Iterable[str] = ()) -> None:
        self.title = title
        self.into = frozenset(into)
        self.cancel = threading.Event()
        self._read = read
        self._events: Batch[IngestEvent] = Batch(lambda: IngestTold(self))

    @classmethod
    def of(cls, engine: Engine, chosen: Intake) -> IngestJob:
        """Reads what a person chose."""

        def read(cancel: threading.Event) -> Iterator[IngestEvent]:
            from agent.documents.ingest import ingest
            from traces.paths import scans_dir
            from tui.assemble import open_recogniser
            from tui.intake import fetch

            return ingest(
                chosen.paths,
                addresses=chosen.addresses,
                fetch=fetch(engine.settings(), cancel) if chosen.addresses else None,
                collection=chosen.collection,
                description=chosen.description,
                store=engine.store,
                embedder=engine.embedder(),
                recogniser=open_recogniser(engine.settings()),
                scans=scans_dir(),
                cancel=cancel,
            )

        return cls(f"into {chosen.collection}", read, [chosen.collection])

    @classmethod
    def of_samples(cls, engine: Engine) -> IngestJob:
        """Reads the sample library."""

        from agent.documents.sample_library import COLLECTIONS

        def read(cancel: threading.Event) -> Iterator[IngestEvent]:
            from tui import samples

            for collection in COLLECTIONS:
                yield from samples.read(collection, engine.store, engine.embedder(), cancel)

        return cls("the sample library", read, COLLECTIONS)

    def start(self, shown_by: Widget) -> None:
        """Begin; `IngestTold` and at last `IngestEnded` are posted to ``shown_by``."""
        self._events.goes_to(shown_by)
        shown_by.run_worker(lambda: self._work(shown_by), thread=True, group="ingest", exit_on_error=False)

    def drain(self) -> list[IngestEvent]:
        """The events since the last time."""
        return self._events.drain()

    def _work(self, shown_by: Widget) -> None:
        failure: Failed | None = None
        try:
            from models.protocols import GenerationCancelled

            try:
                for event in self._read(self.cancel):
                    self._events.put(event)
                    if self.cancel.is_set():  # between files that bring no vectors as well
                        break
            except GenerationCancelled:
                pass
        except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
            failure = failed(error)
        shown_by.post_message(IngestEnded(self, failure))
