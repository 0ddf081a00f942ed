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
    """A worker failed; the message bubbles up to the app, which shows it.

    Attributes:
        error: Title, message and way out.
        detail: The traceback, for who wants it.
    """

    error: DeepthinkError
    detail: str


class Batch(Generic[T]):
    """Items from a thread, handed over in batches, so that a busy screen takes many at once.

    Args:
        told: Makes the message that something waits, posted when nothing did before.
    """

    def __init__(self, told: Callable[[], Message]) -> None:
        self._told = told
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
            self._to.post_message(self._told())

    def drain(self) -> list[T]:
        """The items since the last call."""
        with self._lock:
            items, self._waiting = self._waiting, []
            return items


def in_background(
    node: DOMNode, work: Callable[[], Message | None], *, group: str = "default", exclusive: bool = False
) -> Worker[None]:
    """Run ``work`` in a thread and post what it returns to ``node``, or `Failed` with what it raised.

    Args:
        node: A screen or widget; its worker ends with it.
        work: Must not touch a widget; may post further messages on its way.
        group: Work of one kind.
        exclusive: Whether the same kind of work that is still going on becomes irrelevant: its
            message is then dropped.
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
