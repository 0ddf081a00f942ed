"""An ingestion in a thread, and the panel that shows its progress."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.app.lists import gauge
from tui.app.work import Job
from tui.library.ingesting import IngestFold, is_low, share
from tui.terminal import one_line, padded

if TYPE_CHECKING:
    from agent.documents.ingest import IngestEvent
    from tui.app.engine import Engine
    from tui.library.intake import Intake


class IngestJob(Job["IngestEvent"]):
    """One ingestion; stopping ends it between two batches and keeps the documents read so far.

    Args:
        title: What it reads, in a few words.
        read: `agent.documents.ingest.ingest` with every argument but ``cancel``.
        into: The collections it reads into.
    """

    def __init__(
        self,
        title: str,
        read: Callable[[threading.Event], Iterator[IngestEvent]],
        into: Iterable[str] = (),
    ) -> None:
        def until_cancelled(cancel: threading.Event) -> Iterator[IngestEvent]:
            from models.protocols import GenerationCancelled

            with suppress(GenerationCancelled):
                for event in read(cancel):
                    yield event
                    if cancel.is_set():  # also between files without new vectors
                        return

        super().__init__(until_cancelled)
        self.title = title
        self.into = frozenset(into)

    @classmethod
    def of(cls, engine: Engine, selection: Intake) -> IngestJob:
        """A job that reads what the user selected."""

        def read(cancel: threading.Event) -> Iterator[IngestEvent]:
            from tui.library.intake import read_in

            return read_in(selection, engine.settings(), engine.store, engine.embedder(), cancel)

        return cls(f"into {selection.collection}", read, [selection.collection])

    @classmethod
    def of_samples(cls, engine: Engine) -> IngestJob:
        """A job that reads the sample library."""
        from agent.documents.sample_library import COLLECTIONS

        def read(cancel: threading.Event) -> Iterator[IngestEvent]:
            from tui.ask import demo

            for collection in COLLECTIONS:
                yield from demo.read(collection, engine.store, engine.embedder(), cancel)

        return cls("the sample library", read, COLLECTIONS)


_REDRAW = 0.1  # seconds between two drawings
_MAX_NAMED = 50  # files
_NAME = 28  # characters


class IngestPanel(VerticalScroll, can_focus=True):
    """Shows the progress of ingestions, one after another; stays until it is hidden.

    Attributes:
        job: The current or last ingestion; None before the first.
        running: Whether it is running.
    """

    HELP = """\
### What is being read

The bar counts files, the line below it the passages of the current file. A file that fails does not stop
the others; it is listed with what to do about it. You can go to any other screen meanwhile.
"""
    DEFAULT_CSS = """
    IngestPanel {
        height: auto; max-height: 10; background: $surface; padding: 0 1; display: none;
        border-top: solid $panel;
    }
    IngestPanel.-shown { display: block; }
    IngestPanel:focus { border-top: solid $primary; }
    IngestPanel Static { height: auto; }
    """

    @dataclass
    class Changed(Message):
        """The library has changed; ``ended`` sums up a finished ingestion, "" if none finished."""

        ended: str = ""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.job: IngestJob | None = None
        self.running = False
        self.fold = IngestFold()
        self._failure = ""
        self._waiting: list[IngestJob] = []
        self._redraw_timer: Timer | None = None

    def compose(self) -> Iterable[Static]:
        yield Static(markup=False)

    def begin(self, job: IngestJob) -> bool:
        """Start an ingestion, or queue it behind the running one; returns whether it started at once."""
        if self.running:
            self._waiting.append(job)
            self._draw()
            return False
        self.show(job)
        self.running = True
        job.start(self)
        self.screen.refresh_bindings()
        return True

    def show(self, job: IngestJob, events: Iterable[IngestEvent] = ()) -> None:
        """Show an ingestion and the events so far."""
        self.job, self.fold, self._failure = job, IngestFold(), ""
        self.running = True
        self.add_class("-shown")
        self.take(events)
        self._draw()

    def is_reading_into(self, collection: str) -> bool:
        """Whether the running ingestion reads into this collection."""
        return self.running and self.job is not None and collection in self.job.into

    def stop(self) -> None:
        """Stop the running ingestion and drop the queued ones."""
        self._waiting.clear()
        if self.job is not None:
            self.job.cancel.set()
        self._draw()

    def put_away(self) -> bool:
        """Hide a finished ingestion; returns whether there was one to hide."""
        can_hide = self.has_class("-shown") and not self.running
        if can_hide:
            self.remove_class("-shown")
        return can_hide

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
            self.take(self.job.drain())
            self._draw()

    @on(Job.Ended)
    def _end_job(self, message: Job.Ended) -> None:
        message.stop()
        self.take(message.job.drain())
        if message.failure is not None:
            error = message.failure.error
            self._failure = f"{error.message} {error.way_out}"
            self.post_message(message.failure)  # the app shows it too
        self.finish()
        if self._waiting:
            self.begin(self._waiting.pop(0))

    def finish(self) -> None:
        """Show that the ingestion has ended."""
        self.running = False
        self._draw()
        self.post_message(self.Changed(self.fold.counts))
        self.screen.refresh_bindings()

    def take(self, events: Iterable[IngestEvent]) -> None:
        """Add events of the ingestion."""
        before = len(self.fold.news)
        for event in events:
            self.fold.take(event)
        if len(self.fold.news) > before:
            self.post_message(self.Changed())

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if self.job is not None and self.is_mounted:
            self.query_one(Static).update(Content("\n").join(self._lines(max(self.content_size.width, 40))))

    def _lines(self, width: int) -> list[Content]:
        fold, job = self.fold, self.job
        assert job is not None
        lines: list[Content] = []
        if self.running:
            state = "Stopping …" if job.cancel.is_set() else "Reading"
            following = (
                f"; then {', '.join(one_line(j.title, 30) for j in self._waiting)}" if self._waiting else ""
            )
            name = f"{state} {one_line(job.title, 40)}{following}"
            lines.append(Content(name).stylize("bold $primary"))
            lines.append(_bar("all files", fold.finished, fold.total, "files", width))
            lines += _current_file_lines(fold, width)
        else:
            has_errors = bool(self._failure or fold.failed)
            sign, style = ("✗", "$error") if has_errors else ("✓", "$success")
            title, counts = one_line(job.title, 40), fold.counts
            text = f"{sign} Read {title}: {counts}"
            if job.cancel.is_set():
                counts = counts if fold.done or fold.failed else "nothing was read"
                text = f"{sign} Stopped reading {title}: {counts}"
            lines.append(Content(text).stylize(f"bold {style}"))
        if fold.unread_note:
            lines.append(Content(f"! {one_line(fold.unread_note)}").stylize("$warning"))
        if fold.language_note:
            lines.append(
                Content(f"! {fold.language_note} Another in Models knows more.").stylize("$warning")
            )
        if self._failure:
            lines.append(Content(f"✗ {one_line(self._failure)}").stylize("$error"))
        for failure in fold.failed[-_MAX_NAMED:]:
            text = f"✗ {one_line(failure.name, 60)}: {one_line(failure.error.message)}"
            lines.append(Content.styled(text, "$error"))
            if failure.error.way_out:
                lines.append(Content.styled(f"  {one_line(failure.error.way_out)}", "$foreground 65%"))
        for file in [file for file in fold.news if file.outcome != "removed"][-_MAX_NAMED:]:
            low = [f"coverage {share(file.coverage)}"] if is_low(file.coverage) else []
            for notice in (*low, *file.notices):
                lines.append(Content.styled(f"! {one_line(file.name, 60)}: {one_line(notice)}", "$warning"))
        return lines


def _current_file_lines(fold: IngestFold, width: int) -> list[Content]:
    """The current file, and how long OCR of its scans will take."""
    if not fold.total:
        return [Content("Preparing …").stylize("$foreground 65%")]
    lines: list[Content] = []
    if fold.under_way is not None:
        name = padded(fold.under_way.name, _NAME)
        done, total = fold.passages or fold.pages or (0, 0)
        if total:
            lines.append(_bar(name, done, total, "passages" if fold.passages else "scanned pages", width))
        else:
            lines.append(Content.assemble(name, (f" {fold.doing}", "$foreground 65%")))
    if fold.scan_note:
        lines.append(Content(fold.scan_note).stylize("$foreground 65%"))
    return lines


def _bar(name: str, done: int, total: int, unit: str, width: int) -> Content:
    """A name, a bar, and the numbers."""
    words = f" {done:,} of {total:,} {unit}"
    room = max(min(width - _NAME - len(words) - 1, 40), 8)
    return Content.assemble(f"{name} ", gauge(done / total if total else 0.0, room), words)
