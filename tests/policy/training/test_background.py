"""Work in a thread, with its events."""

from __future__ import annotations

import threading

import pytest

from policy.training.progress import Emit, TrainingFailed, Warned, run_in_background


def test_events_come_in_order_and_the_result_at_the_end() -> None:
    def work(emit: Emit) -> int:
        emit(Warned("one"))
        emit(Warned("two"))
        return 3

    events = run_in_background(work, threading.Event())
    told = []
    while True:
        try:
            told.append(next(events))
        except StopIteration as stopped:
            result = stopped.value
            break

    assert told == [Warned("one"), Warned("two")]
    assert result == 3


def test_what_the_work_raises_is_raised_where_it_is_watched() -> None:
    def work(emit: Emit) -> None:
        emit(Warned("one"))
        raise TrainingFailed("No.")

    events = run_in_background(work, threading.Event())

    assert next(events) == Warned("one")
    with pytest.raises(TrainingFailed):
        next(events)


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
