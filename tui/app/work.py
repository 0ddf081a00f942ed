"""Work in a thread, of which the screens hear only by messages."""

from __future__ import annotations

import traceback
from collections.abc import Callable

from textual.dom import DOMNode
from textual.message import Message
from textual.worker import Worker

from traces.errors import DeepthinkError


class Failed(Message):
    """Something went wrong in a worker; it bubbles up to the app, which tells it.

    Attributes:
        error: Title, message and way out.
        detail: The traceback, for who wants it.
    """

    def __init__(self, error: DeepthinkError, detail: str) -> None:
        super().__init__()
        self.error = error
        self.detail = detail


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
        except BaseException as error:  # noqa: BLE001 - told as a message: a worker never closes the app
            message = failed(error)
        if message is not None and not get_current_worker().is_cancelled:
            node.post_message(message)

    return node.run_worker(run, thread=True, group=group, exclusive=exclusive, exit_on_error=False)


def failed(error: BaseException) -> Failed:
    """What went wrong, as the app tells it."""
    from tui.failures import explained

    return Failed(explained(error), "".join(traceback.format_exception(error)))
