"""Reading files with something to look at, and the table at the end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.text import Text

from agent.documents import ingest as ing
from models.catalogue import MULTILINGUAL_E5_SMALL
from tui import failures
from tui.bars import bars
from tui.ingest_fold import IngestFold, is_low, share
from tui.terminal import cells, clean, columns, console, duration, is_live, one_line

_NAME_WIDTH = 34


def show_ingestion(events: Iterable[ing.IngestEvent]) -> int:
    """Show files as they are read and what came of them; the exit code.

    A file that fails is told on stderr with its way out and does not stop the others.
    """
    out = console()
    fold = IngestFold()
    with _watching(out) as watcher:
        for event in events:
            watcher.take(event)
            fold.take(event)
    if fold.ended:
        _summary(out, fold)
    for failure in fold.failed:
        failures.report(failure.error, about=clean(failure.name))
    return failures.EXIT_CODES["input"] if fold.failed or not fold.done else failures.DONE


class _Watcher(Protocol):
    def take(self, event: ing.IngestEvent) -> None: ...


@contextmanager
def _watching(out: Console) -> Iterator[_Watcher]:
    if not is_live():
        yield _Lines(out)
        return
    with bars(out) as shown:
        yield _Bars(shown)


class _Bars:
    """One bar over all files, one over the passages of the file under way."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._all: TaskID | None = None
        self._file: TaskID | None = None
        self._total = 0

    def take(self, event: ing.IngestEvent) -> None:
        match event:
            case ing.FileFound() if self._all is None:
                self._total = event.total
                self._all = self._bars.add_task(
                    "all files".ljust(_NAME_WIDTH), total=event.total, said="files"
                )
            case ing.FileFound() if self._all is not None:  # inside another
                self._total += event.total
                self._bars.update(self._all, total=self._total)
            case ing.FileStarted():
                self._end()
                name = one_line(event.name, _NAME_WIDTH).ljust(_NAME_WIDTH)
                # Without a total the bar pulses: how many passages there will be is not known yet.
                said = "fetching" if "://" in event.source else "reading"
                self._file = self._bars.add_task(name, total=None, said=said)
            case ing.FileEmbedding() if self._file is not None:
                self._bars.update(
                    self._file, completed=event.done_chunks, total=event.total_chunks, said="passages"
                )
            case ing.ScansFound():
                self._bars.console.print(IngestFold(scans=[event]).scan_note)
            case ing.PageRecognised() if self._file is not None:
                self._bars.update(
                    self._file, completed=event.done_pages, total=event.total_pages, said="scanned pages"
                )
            case ing.FileDone() | ing.FileFailed() | ing.FileSetAside():
                self._end()
                if self._all is not None and not (isinstance(event, ing.FileSetAside) and event.waits):
                    self._bars.advance(self._all)
            case _:
                pass

    def _end(self) -> None:
        if self._file is not None:
            self._bars.remove_task(self._file)
            self._file = None


class _Lines:
    """One line per file that was read."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._total = 0
        self._looked_at = 0

    def take(self, event: ing.IngestEvent) -> None:
        match event:
            case ing.FileFound():
                self._total += event.total
            case ing.FileStarted():
                self._looked_at += 1
            case ing.FileSetAside():
                self._looked_at -= event.waits
            case ing.ScansFound():
                self._out.print(IngestFold(scans=[event]).scan_note)
            case ing.FileDone() if event.outcome not in {"unchanged", "removed"}:
                self._out.print(f"{self._looked_at} of {self._total}: {clean(event.name)} {event.outcome}")
            case _:
                pass


def _summary(out: Console, fold: IngestFold) -> None:
    if fold.news:
        table = columns(
            "file",
            "",
            "passages",
            "coverage",
            "pages",
            "time",
            right=("passages", "coverage", "pages", "time"),
        )
        for file in fold.news:
            table.add_row(*_row(file))
        out.print(table)
        out.print()
    for file in fold.news:
        for notice in file.notices:
            failures.warn(f"{clean(file.name)}: {clean(notice)}")
    if fold.language_note:
        name = MULTILINGUAL_E5_SMALL.name
        failures.warn(
            f"{fold.language_note} {name} knows about 100 languages: `deepthink models pull {name}`, then "
            f"`deepthink models use {name}`."
        )
    if fold.unread_note:
        failures.warn(clean(fold.unread_note))
    out.print(Text(fold.summary))


def _row(file: ing.FileDone) -> list[Text]:
    if file.outcome == "removed":
        return cells(file.name, "removed", "", "", "", "")
    told = Text(share(file.coverage), style="yellow" if is_low(file.coverage) else "")
    return cells(file.name, file.outcome, file.chunks, told, file.pages or "", duration(file.seconds))
