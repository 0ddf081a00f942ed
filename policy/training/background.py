"""Work that tells events while it goes on, as a generator that whoever watches iterates over."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from queue import SimpleQueue
from typing import TypeVar

from policy.training.progress import TrainingEvent

T = TypeVar("T")


def telling(
    work: Callable[[Callable[[TrainingEvent], None]], T], cancel: threading.Event
) -> Generator[TrainingEvent, None, T]:
    """Run ``work`` in a thread and yield what it tells; its result is the generator's.

    A trainer calls back, an interface iterates: between the two there has to be a thread. If whoever
    watches stops (or is stopped by Ctrl-C), ``cancel`` is set and the work is waited for, so that its last
    checkpoint is whole.

    Args:
        work: Called with what takes an event.
        cancel: What the work looks at.

    Raises:
        Exception: whatever ``work`` raised.
    """
    events: SimpleQueue[TrainingEvent | None] = SimpleQueue()
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work(events.put))
        except BaseException as error:  # noqa: BLE001 # raised again where it is waited for
            errors.append(error)
        finally:
            events.put(None)

    thread = threading.Thread(target=run, name="training", daemon=True)
    thread.start()
    try:
        while (event := events.get()) is not None:
            yield event
    finally:
        if thread.is_alive() and not (results or errors):
            cancel.set()
        thread.join()
    if errors:
        raise errors[0]
    return results[0]
