"""Work in threads that report to the screens only by messages."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from textual.dom import DOMNode
from textual.message import Message
from textual.widget import Widget
from textual.worker import Worker

from traces.errors import DeepthinkError

T = TypeVar("T")
_STOP_SECONDS: Final = 2.0  # most work stops within this time


@dataclass
class Failed(Message):
    """A worker failed; the message bubbles up to the app, which shows it.

    ``detail`` is the traceback. ``is_shown``: the screen shows it already, the app only keeps it.
    """

    error: DeepthinkError
    detail: str
    is_shown: bool = False


def in_background(
    node: DOMNode,
    work: Callable[[], T],
    then: Callable[[T], object] | None = None,
    *,
    group: str,
    exclusive: bool = False,
) -> Worker[None]:
    """Run ``work`` in a thread; it must not touch a widget.

    What it returns is given to ``then`` in the app's thread, or posted to ``node`` if it is a message; what
    it raises is posted as `Failed`. With ``exclusive``, unfinished work of the group comes to nothing.
    """
    from textual.worker import get_current_worker

    def run() -> None:
        result: object
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
            result = failed(error)
        if get_current_worker().is_cancelled:
            return
        if then is not None and not isinstance(result, Failed):
            node.call_later(then, result)
        elif isinstance(result, Message):
            node.post_message(result)

    return node.run_worker(run, thread=True, group=group, exclusive=exclusive, exit_on_error=False)


def failed(error: BaseException) -> Failed:
    from tui.failures import explained

    return Failed(explained(error), "".join(traceback.format_exception(error)))


class Job(Generic[T]):
    """Work in a thread that reports events and can be stopped.

    ``work`` gives its events to `put`, and stops once its argument, ``cancel``, is set.
    """

    @dataclass
    class Progressed(Message):
        """New events; the widget that shows the job drains them."""

        job: Job[Any]

    @dataclass
    class Ended(Message):
        """The thread has ended; ``failure`` is what it raised."""

        job: Job[Any]
        failure: Failed | None

    def __init__(self, work: Callable[[threading.Event], None]) -> None:
        self.cancel = threading.Event()
        self._work = work
        self._lock = threading.Lock()
        self._waiting: list[T] = []
        self._widget: Widget | None = None
        self._ended = threading.Event()

    def start(self, widget: Widget) -> None:
        """Start the thread; it posts `Progressed` and finally `Ended` to ``widget``."""
        self._widget = widget
        in_background(widget, self._run, group="job")

    def leave(self) -> None:
        """Stop the job because the app ends, and wait a moment."""
        self.cancel.set()
        self._ended.wait(_STOP_SECONDS)

    def drain(self) -> list[T]:
        with self._lock:
            events, self._waiting = self._waiting, []
            return events

    def put(self, event: T) -> None:
        with self._lock:
            self._waiting.append(event)
            is_first = len(self._waiting) == 1
        if is_first and self._widget is not None:  # later events are drained with it
            self._widget.post_message(self.Progressed(self))

    def _run(self) -> Message:
        failure: Failed | None = None
        try:
            self._work(self.cancel)
        except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
            failure = failed(error)
        self._ended.set()
        return self.Ended(self, failure)
