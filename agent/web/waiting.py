"""Waiting for the network without being held by it.

Nothing stops a name lookup or a TLS handshake from outside, and a server that sends a byte every few
seconds never runs into a time-out between bytes. So such work runs in a thread of its own that the
caller may leave behind; one that is left ends at its own time-outs, at the latest with the process, and
what it comes to is dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

from models.protocols import GenerationCancelled

_TICK_SECONDS = 0.1

Result = TypeVar("Result")


class TookTooLong(Exception):
    """Raised inside this package when the time is over."""


def within(seconds: float, stop: threading.Event | None, work: Callable[[], Result]) -> Result:
    """What ``work`` returns, or raises, if it does so in time.

    Args:
        seconds: How long to wait.
        stop: Ends the waiting within a tenth of a second.
        work: What is waited for.

    Raises:
        TookTooLong: the time was over first.
        GenerationCancelled: ``stop`` was set first.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - handed to the one who waits
            future.set_exception(error)

    threading.Thread(target=run, name="deepthink-web", daemon=True).start()
    deadline = time.monotonic() + seconds
    while not future.done():
        left = deadline - time.monotonic()
        if stop is not None and stop.is_set():
            raise GenerationCancelled("Waiting for the web was stopped.")
        if left <= 0:
            raise TookTooLong
        wait([future], min(left, _TICK_SECONDS))
    return future.result()
