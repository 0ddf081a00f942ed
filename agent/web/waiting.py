"""Waiting for the network with a time limit.

A name lookup or a TLS handshake cannot be interrupted, and a server that sends a byte every few seconds
never exceeds a timeout between bytes. So such work runs in its own thread, which the caller can abandon:
it ends at its own timeouts or with the process, and its result is dropped.
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
    """Raised inside this package when the time limit is reached."""


def run_within(seconds: float, stop: threading.Event | None, work: Callable[[], Result]) -> Result:
    """The result of ``work``, if it ends in time; its exceptions are raised here.

    ``work`` is called in a thread; ``stop`` ends the wait within a tenth of a second.

    Raises:
        TookTooLong: The time limit was reached.
        GenerationCancelled: ``stop`` was set.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised in the waiting thread
            future.set_exception(error)

    threading.Thread(target=run, name="deepthink-web", daemon=True).start()
    deadline = time.monotonic() + seconds
    while not future.done():
        remaining = deadline - time.monotonic()
        if stop is not None and stop.is_set():
            raise GenerationCancelled("Waiting for the web was stopped.")
        if remaining <= 0:
            raise TookTooLong
        wait([future], min(remaining, _TICK_SECONDS))
    return future.result()
