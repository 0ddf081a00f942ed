"""A run in a worker thread: its events reach the screen in batches, as messages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from typing import TYPE_CHECKING, Any

from textual.message import Message
from textual.widget import Widget

from tui.app.work import Batch, Failed, failed

if TYPE_CHECKING:
    from agent import events as ev
    from tui.app.engine import Engine

_MOMENT = 2.0  # seconds; a run stops within one
Begin = Callable[..., "Generator[ev.Event]"]
"""`agent.run.run` or `agent.run.resume` with everything but the parts of the engine filled in."""


class RunEvents(Message):
    """Events have come: whoever shows the run drains them."""

    def __init__(self, run: LiveRun) -> None:
        super().__init__()
        self.run = run


class RunEnded(Message):
    """The run's thread has ended; ``failure`` is what the run raised, which is also the app's to tell."""

    def __init__(self, run: LiveRun, failure: Failed | None) -> None:
        super().__init__()
        self.run = run
        self.failure = failure


class LiveRun:
    """One run under way.

    Args:
        engine: Where its models and its store come from.
        prepare: Makes ``begin`` in the thread, where settings may still have to be loaded.
        model: The model it began with; "" for the one that is set.
        web: Whether it may search the web; None for what is set.
    """

    def __init__(
        self,
        engine: Engine,
        prepare: Callable[[LiveRun], Begin],
        model: str = "",
        web: bool | None = None,
    ) -> None:
        from agent.steering import Steering

        self.steering = Steering()
        self._engine = engine
        self._prepare = prepare
        self._model = model
        self._web = web
        self._events: Batch[ev.Event] = Batch(lambda: RunEvents(self))
        self._ended = threading.Event()

    def start(self, shown_by: Widget) -> None:
        """Begin; `RunEvents` and at last `RunEnded` are posted to ``shown_by``."""
        self._events.goes_to(shown_by)
        shown_by.run_worker(
            lambda: self._work(shown_by), thread=True, group="run", exit_on_error=False, name="run"
        )

    def tell(self, words: str) -> None:
        """Say what is done before the run proper begins; from its thread."""
        from agent import events as ev

        self._events.put(ev.NodeProgress("", 0, words))

    def leave(self) -> None:
        """Interrupt it because the app is left, and give it a moment to store what it has.

        Without that moment too it is found to be interrupted, and can be resumed.
        """
        self.steering.leave()
        self._ended.wait(_MOMENT)

    def drain(self) -> list[ev.Event]:
        """The events since the last time."""
        return self._events.drain()

    def _work(self, shown_by: Widget) -> None:
        failure: Failed | None = None
        try:
            begin = self._prepare(self)
            parts = self._parts()
            with (
                self._engine.chat(self._model) as chat,
                closing(begin(steering=self.steering, chat=chat, **parts)) as events,
            ):
                for event in events:
                    self._events.put(event)
        except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
            failure = failed(error)
        self._ended.set()
        shown_by.post_message(RunEnded(self, failure))

    def _parts(self) -> dict[str, Any]:
        from tui.assemble import open_web

        engine = self._engine
        embedder = engine.embedder()
        settings = engine.settings()
        if self._web is not None:
            settings = settings.model_copy(update={"web": self._web})
        return {
            "embedder": embedder,
            "reader": engine.reader(),
            "store": engine.store,
            "web": open_web(settings, engine.store, embedder),
            "learned": engine.learned(),
        }
