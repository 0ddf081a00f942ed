"""Ctrl-C as a request: the first asks the work to stop in order, the second stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; then, and afterwards, Ctrl-C works as before."""
    stop_requested = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop_requested
        return
    previous = signal.getsignal(signal.SIGINT)

    def request_stop(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, previous)
        if stop_requested.is_set() and callable(previous):  # stopping was requested by other means
            previous(number, frame)
        stop_requested.set()

    signal.signal(signal.SIGINT, request_stop)
    try:
        yield stop_requested
    finally:
        signal.signal(signal.SIGINT, previous)


@contextmanager
def ctrl_c_raises() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` in this context, which is needed to stop reading a line."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
