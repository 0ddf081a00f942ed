"""Work in a thread with its events, and the checkpoint from which a killed training goes on."""

from __future__ import annotations

import errno
import threading
from pathlib import Path

import pytest

from policy.training.fitting import newest, reporting_full_disk
from policy.training.progress import Emit, TrainingFailed, Warned, run_in_background


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


def checkpoint(folder: Path, step: int, state: str | None) -> Path:
    made = folder / f"checkpoint-{step}"
    made.mkdir()
    if state is not None:
        (made / "trainer_state.json").write_text(state, encoding="utf-8")
    return made


def test_the_newest_whole_one_by_number_and_torn_ones_are_removed(tmp_path: Path) -> None:
    checkpoint(tmp_path, 9, "{}")
    whole = checkpoint(tmp_path, 25, '{"global_step": 25}')
    torn = checkpoint(tmp_path, 100, '{"global_st')
    empty = checkpoint(tmp_path, 125, None)
    assert newest(tmp_path) == whole
    assert not torn.exists()
    assert not empty.exists()
    assert newest(tmp_path / "nowhere") is None


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        RuntimeError("[enforce fail at inline_container.cc] . PytorchStreamWriter failed writing file"),
        RuntimeError("SafetensorError: I/O error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_told_as_one(error: Exception, tmp_path: Path) -> None:
    with pytest.raises(TrainingFailed, match="no space for the checkpoint"), reporting_full_disk(tmp_path):
        raise error


def test_other_failures_are_left_as_they_are(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="shape"), reporting_full_disk(tmp_path):
        raise RuntimeError("shape mismatch")
