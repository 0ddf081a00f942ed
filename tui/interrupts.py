"""Ctrl-C as a request: the first asks what is running to stop in order, the second stops it at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def ctrl_c() -> Iterator[threading.Event]:
    """An event that Ctrl-C sets; once it is set, Ctrl-C is what it was before, as it is afterwards."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        if asked.is_set() and callable(before):  # it was asked to stop by other means
            before(number, frame)
        asked.set()

    signal.signal(signal.SIGINT, ask)
    try:
        yield asked
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def ctrl_c_raises() -> Iterator[None]:
    """Ctrl-C raises `KeyboardInterrupt` in here, which is needed to stop reading a line."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
