"""Work in threads that report to the screens by messages only."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from textual.dom import DOMNode
from textual.message import Message
from textual.message_pump import MessagePump
from textual.worker import Worker

from traces.errors import DeepthinkError

T = TypeVar("T")


@dataclass
class Failed(Message):
    """A worker failed; the message bubbles up to the app, which shows it. ``detail`` is the traceback."""

    error: DeepthinkError
    detail: str


class Batch(Generic[T]):
    """Items from a thread, handed over in batches; the message is posted when nothing waited before."""

    def __init__(self, message: Callable[[], Message]) -> None:
        self._message = message
        self._to: MessagePump | None = None
        self._lock = threading.Lock()
        self._waiting: list[T] = []

    def goes_to(self, pump: MessagePump) -> None:
        """Post messages to ``pump`` from now on."""
        self._to = pump

    def put(self, item: T) -> None:
        """Add an item to the batch."""
        with self._lock:
            self._waiting.append(item)
            first = len(self._waiting) == 1
        if first and self._to is not None:  # the others are drained with it
            self._to.post_message(self._message())

    def drain(self) -> list[T]:
        """The items since the last call."""
        with self._lock:
            items, self._waiting = self._waiting, []
            return items


def in_background(
    node: DOMNode, work: Callable[[], Message | None], *, group: str = "default", exclusive: bool = False
) -> Worker[None]:
    """Run ``work`` in a thread and post what it returns to ``node``, or `Failed` with what it raised.

    It must not touch a widget. With ``exclusive``, work of the same group that still runs is ignored.
    """
    from textual.worker import get_current_worker

    def run() -> None:
        try:
            message = work()
        except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
            message = failed(error)
        if message is not None and not get_current_worker().is_cancelled:
            node.post_message(message)

    return node.run_worker(run, thread=True, group=group, exclusive=exclusive, exit_on_error=False)


def failed(error: BaseException) -> Failed:
    """The failure as the app shows it."""
    from tui.failures import explained

    return Failed(explained(error), "".join(traceback.format_exception(error)))
