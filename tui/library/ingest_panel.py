"""An ingestion in a thread, and the panel that shows its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from textual import on
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from models.protocols import GenerationCancelled
from tui.app.failure import way_out
from tui.app.lists import QUIET, Sheet, gauge
from tui.app.work import Failed, Job
from tui.library.actions import Intake, read_in, read_samples
from tui.library.ingesting import IngestFold, is_low, share
from tui.terminal import one_line, padded

if TYPE_CHECKING:
    from agent.documents.ingest import IngestEvent
    from tui.app.engine import Engine


class IngestJob(Job["IngestEvent"]):
    """One ingestion; stopping ends it between two batches and keeps the documents read so far.

    ``read`` is `agent.documents.ingest.ingest` with every argument but ``cancel``.
    """

    def __init__(
        self,
        title: str,  # what it reads, in a few words
        read: Callable[[threading.Event], Iterator[IngestEvent]],
        into: Iterable[str] = (),  # collections
    ) -> None:
        def until_cancelled(cancel: threading.Event) -> None:
            with suppress(GenerationCancelled):
                for event in read(cancel):
                    self.put(event)
                    if cancel.is_set():  # also between files without new vectors
                        return

        super().__init__(until_cancelled)
        self.title = title
        self.into = frozenset(into)

    @classmethod
    def of(cls, engine: Engine, selection: Intake) -> IngestJob:
        def read(cancel: threading.Event) -> Iterator[IngestEvent]:
            return read_in(selection, engine.settings(), engine.store, engine.embedder(), cancel)

        return cls(f"into {selection.collection}", read, [selection.collection])

    @classmethod
    def of_samples(cls, engine: Engine) -> IngestJob:
        from agent.documents.sample_library import COLLECTIONS

        def read(cancel: threading.Event) -> Iterator[IngestEvent]:
            readings = [
                read_samples(collection, engine.store, engine.embedder(), cancel)
                for collection in COLLECTIONS
            ]
            yield from [next(reading) for reading in readings]  # how many files each has, for one bar
            yield from chain.from_iterable(readings)

        return cls("the sample library", read, COLLECTIONS)


_REDRAW = 0.1  # seconds between two drawings
_MAX_NAMED = 50  # files
_NAME = 28  # characters


class IngestPanel(Sheet):
    """Shows the progress of ingestions, one after another; stays until it is hidden."""

    HELP = """\
### What is being read

The bar counts files, the line below it the passages of the current file. A file that fails does not stop
the others; it is listed with what to do about it. You can go to any other screen meanwhile.
"""
    DEFAULT_CSS = """
    IngestPanel {
        height: auto; max-height: 10; background: $surface; padding: 0 1; display: none;
        border-top: solid $panel; scrollbar-gutter: auto;
    }
    IngestPanel.-shown { display: block; }
    IngestPanel:focus { border-top: solid $primary; }
    """

    @dataclass
    class Changed(Message):
        """The library has changed; ``ended`` sums up a finished ingestion, "" if none finished."""

        ended: str = ""

    def __init__(self) -> None:
        super().__init__()
        self.job: IngestJob | None = None  # the current one, or the last
        self.running = False
        self.fold = IngestFold()
        self._failure = ""
        self._waiting: list[IngestJob] = []
        self._redraw_timer: Timer | None = None

    def begin(self, job: IngestJob) -> bool:
        """Start an ingestion, or queue it behind the running one; returns whether it started at once."""
        if self.running:
            self._waiting.append(job)
            self.redraw()
            return False
        self.job, self.fold, self._failure = job, IngestFold(), ""
        self.running = True
        self.add_class("-shown")
        self.redraw()
        job.start(self)
        self.screen.refresh_bindings()
        return True

    def is_reading_into(self, collection: str) -> bool:
        return self.running and self.job is not None and collection in self.job.into

    def stop(self) -> None:
        self._waiting.clear()
        if self.job is not None:
            self.job.cancel.set()
        self.redraw()

    def put_away(self) -> None:
        if not self.running:
            self.remove_class("-shown")

    def on_unmount(self) -> None:
        self._waiting.clear()
        if self.job is not None:
            self.job.cancel.set()

    @on(Job.Progressed)
    def _schedule_drawing(self, message: Job.Progressed) -> None:
        message.stop()
        if self._redraw_timer is None:
            self._redraw_timer = self.set_timer(_REDRAW, self._catch_up)

    def _catch_up(self) -> None:
        self._redraw_timer = None
        if self.job is not None:
            self._take(self.job)
            self.redraw()

    @on(Job.Ended)
    def _end_job(self, message: Job.Ended) -> None:
        message.stop()
        self._take(message.job)
        if message.failure is not None:
            error = message.failure.error
            self._failure = f"{error.message} {way_out(self, error)}"
            message.failure.is_shown = self.screen.is_current  # else the app shows it too
            self.post_message(message.failure)
        self.running = False
        self.post_message(self.Changed(self.fold.counts))  # who takes it redraws this, with its own counts
        self.screen.refresh_bindings()
        if self._waiting:
            self.begin(self._waiting.pop(0))

    def _take(self, job: Job[IngestEvent]) -> None:
        before, failed_before = len(self.fold.news), len(self.fold.failed)
        for event in job.drain():
            self.fold.take(event)
        for file in self.fold.failed[failed_before:]:
            self.post_message(Failed(file.error, "", is_shown=True))
        if len(self.fold.news) > before:
            self.post_message(self.Changed())

    def lines(self, width: int) -> list[Content]:
        fold, job = self.fold, self.job
        if job is None:
            return []
        lines = self._progress(job, width) if self.running else [self._result(job)]
        language_note = fold.language_note and f"{fold.language_note}: F7 Models fetches it."
        notes = [(f"! {one_line(note)}", "$warning") for note in (fold.skipped_note, language_note) if note]
        if self._failure:
            notes.append((f"✗ {one_line(self._failure)}", "$error"))
        for failure in fold.failed[-_MAX_NAMED:]:
            notes.append((f"✗ {one_line(failure.name, 60)}: {one_line(failure.error.message)}", "$error"))
            if advice := way_out(self, failure.error):
                notes.append((f"  {one_line(advice)}", QUIET))
        for file in [file for file in fold.news if file.outcome != "removed"][-_MAX_NAMED:]:
            low = [f"coverage {share(file.coverage)}"] if is_low(file.coverage) else []
            for notice in (*low, *file.notices):
                notes.append((f"! {one_line(file.name, 60)}: {one_line(notice)}", "$warning"))
        return [*lines, *(Content.styled(note, style) for note, style in notes)]

    def _progress(self, job: IngestJob, width: int) -> list[Content]:
        fold = self.fold
        waiting = ", ".join(one_line(other.title, 30) for other in self._waiting)
        following = f"; then {waiting}" if waiting else ""
        title = f"{'Stopping …' if job.cancel.is_set() else 'Reading'} {one_line(job.title, 40)}{following}"
        lines = [
            Content.styled(title, "bold $primary"),
            _bar("all files", fold.finished, fold.total, "files", width),
        ]
        if not fold.total:
            return [*lines, Content.styled("Preparing …", QUIET)]
        if fold.under_way is not None:
            name = padded(fold.under_way.name, _NAME)
            progress = fold.progress
            lines.append(
                _bar(name, progress.done, progress.total, progress.unit, width)
                if progress is not None
                else Content.assemble(name, (f" {fold.doing}", QUIET))
            )
        return [*lines, Content.styled(fold.scan_note, QUIET)] if fold.scan_note else lines

    def _result(self, job: IngestJob) -> Content:
        fold = self.fold
        sign, style = ("✓", "$success")
        if fold.failed:
            sign, style = ("!", "$warning")
        if self._failure or (fold.failed and not fold.done):
            sign, style = ("✗", "$error")
        is_cut_short = job.cancel.is_set() or bool(self._failure)
        counts = "nothing was read" if is_cut_short and not (fold.done or fold.failed) else fold.counts
        verb = "Stopped reading" if job.cancel.is_set() else "Read"
        return Content.styled(f"{sign} {verb} {one_line(job.title, 40)}: {counts}", f"bold {style}")


def _bar(name: str, done: int, total: int, unit: str, width: int) -> Content:
    words = f" {done:,} of {total:,} {unit}"
    room = max(min(width - _NAME - len(words) - 1, 40), 8)
    return Content.assemble(f"{name} ", gauge(done / total if total else 0.0, room), words)
