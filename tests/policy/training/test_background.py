"""Work in a thread, with its events."""

from __future__ import annotations

import threading

from policy.training.progress import Emit, Warned, run_in_background


def test_who_stops_watching_stops_the_work_and_waits_for_it() -> None:
    cancel, ended = threading.Event(), threading.Event()

    def work(emit: Emit) -> None:
        emit(Warned("one"))
        assert cancel.wait(30)
        ended.set()

    events = run_in_background(work, cancel)
    next(events)
    events.close()
    assert ended.is_set()
