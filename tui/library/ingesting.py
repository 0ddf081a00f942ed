"""What is known of an ingestion from its events, and showing it on the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import Progress, TaskID
from rich.text import Text

from agent.documents import ingest as ing
from models.catalogue import MULTILINGUAL_E5_SMALL
from tui import failures
from tui.bars import bars
from tui.terminal import cells, clean, columns, console, counted, duration, is_live, padded

LOW_COVERAGE = 0.95
"""Below this share too much of a document's text did not become passages."""

OUTCOMES = ("added", "updated", "moved", "unchanged", "removed")


@dataclass(slots=True)
class IngestFold:
    """A reading so far; several that follow one another add up.

    Attributes:
        total: Files and pages there are to look at.
        looked_at: How many were begun.
        under_way: The one under way.
        passages: How many of its passages have a vector, and how many there are; None while it is read.
        pages: How many of its scanned pages are recognised, and how many there are; None if it is no scan.
        scans: What recognising the text on scanned pages was said to take, of each reading that had some.
        unread: Endings of names of files that nothing reads, with how many there are.
        done: What is in the library, or gone from it.
        failed: What could not be read.
        unknown: Documents in languages that the embedder does not know, of each reading that had some.
        unchanged: Files that were found as they were, of the readings that have ended.
        away: Followed folders that could not be looked at.
        unsettled: Names of files that are being written.
        seconds: How long the readings took that have ended.
        ended: How many have.
    """

    total: int = 0
    looked_at: int = 0
    under_way: ing.FileStarted | None = None
    passages: tuple[int, int] | None = None
    pages: tuple[int, int] | None = None
    scans: list[ing.ScansFound] = field(default_factory=list)
    unread: Counter[str] = field(default_factory=Counter)
    done: list[ing.FileDone] = field(default_factory=list)
    failed: list[ing.FileFailed] = field(default_factory=list)
    unknown: list[ing.LanguagesUnknown] = field(default_factory=list)
    unchanged: int = 0
    away: list[ing.FolderAway] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    seconds: float = 0.0
    ended: int = 0

    def take(self, event: ing.IngestEvent) -> None:
        """Add an event."""
        match event:
            case ing.FileFound():
                self.total += event.total
            case ing.FileStarted():
                self.looked_at += 1
                self.under_way, self.passages, self.pages = event, None, None
            case ing.PageRecognised():
                self.pages = (event.done_pages, event.total_pages)
            case ing.FileSetAside():
                self.under_way = None
                self.looked_at -= event.waits
            case ing.ScansFound():
                self.scans.append(event)
            case ing.FileEmbedding():
                self.passages = (event.done_chunks, event.total_chunks)
            case ing.FileDone():
                self.under_way = None
                self.done.append(event)
            case ing.FileFailed():
                self.under_way = None
                self.failed.append(event)
            case ing.IngestFinished():
                self.under_way = None
                self.unchanged += event.unchanged
                self.seconds += event.seconds
                self.ended += 1
            case _:
                self._take_note(event)

    def _take_note(self, event: ing.IngestEvent) -> None:
        match event:
            case ing.FilesUnread():
                self.unread.update(dict(event.kinds))
            case ing.LanguagesUnknown():
                self.unknown.append(event)
            case ing.FolderAway():
                self.away.append(event)
            case ing.FilesUnsettled():
                self.unsettled += event.names
            case _:
                pass

    @property
    def finished(self) -> int:
        """Files and pages that were looked at to the end."""
        return self.looked_at - (self.under_way is not None)

    @property
    def news(self) -> list[ing.FileDone]:
        """What has changed in the library."""
        return [file for file in self.done if file.outcome != "unchanged"]

    @property
    def counts(self) -> str:
        """How many were added, updated and so on; "nothing to do" if there was nothing."""
        done: Counter[str] = Counter(file.outcome for file in self.done)
        done["unchanged"] = max(done["unchanged"], self.unchanged)
        numbers = [(done[outcome], outcome) for outcome in OUTCOMES]
        told = [f"{count} {word}" for count, word in (*numbers, (len(self.failed), "failed")) if count]
        return ", ".join(told) or "nothing to do"

    @property
    def scan_note(self) -> str:
        """What recognising the text on scanned pages takes; "" if there is none."""
        pages = sum(found.pages for found in self.scans)
        seconds = sum(found.seconds for found in self.scans)
        are = "page is a scan" if pages == 1 else "pages are scans"
        time = counted(math.ceil(seconds / 60), "minute") if seconds > 90 else f"{seconds:.0f} seconds"
        return f"{pages:,} {are}: about {time}." if pages else ""

    @property
    def unread_note(self) -> str:
        """The kinds of files that nothing reads, with how many there are; "" if there is none."""
        told = [f"{count:,} {ending or 'without an ending'}" for ending, count in self.unread.most_common()]
        return f"Passed over, because nothing reads them: {', '.join(told)}." if told else ""

    @property
    def folder_notes(self) -> list[str]:
        """A sentence for each followed folder that is away, and one on files that are being written."""
        notes = [
            f"{one.path} is {'empty' if one.is_there else 'not there'} now. What was read from it "
            f"stays: {counted(one.documents, 'document')}."
            for one in self.away
        ]
        if self.unsettled:
            notes.append(f"Still being written, and read next time: {', '.join(self.unsettled)}.")
        return notes

    @property
    def language_note(self) -> str:
        """That documents are in languages that the embedder does not know; "" if none is."""
        if not self.unknown:
            return ""
        documents = sum(one.documents for one in self.unknown)
        languages = dict.fromkeys(name for one in self.unknown for name in one.languages)
        what = f"{counted(documents, 'document')} in {', '.join(languages)}"
        return (
            f"{what}, which {self.unknown[0].embedder} does not know: what they say is found by its words, "
            "not by its meaning."
        )

    @property
    def summary(self) -> str:
        """The sum of it, and how long it took."""
        return f"{self.counts} in {duration(self.seconds)}"


def is_low(coverage: float) -> bool:
    """Whether too little of a document's text became passages."""
    return coverage < LOW_COVERAGE


def share(coverage: float) -> str:
    """A coverage in words."""
    return f"{coverage:.1%}{' low' if is_low(coverage) else ''}"


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
    if fold.ended or fold.away:
        _summary(out, fold)
    for failure in fold.failed:
        failures.report(failure.error, about=clean(failure.name))
    nothing = not fold.done and not fold.unchanged
    return failures.EXIT_CODES["input"] if fold.failed or fold.away or nothing else failures.DONE


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
                name = padded(event.name, _NAME_WIDTH)
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
    for note in (*fold.folder_notes, fold.unread_note):
        if note:
            failures.warn(clean(note))
    out.print(Text(fold.summary))


def _row(file: ing.FileDone) -> list[Text]:
    if file.outcome == "removed":
        return cells(file.name, "removed", "", "", "", "")
    told = Text(share(file.coverage), style="yellow" if is_low(file.coverage) else "")
    return cells(file.name, file.outcome, file.chunks, told, file.pages or "", duration(file.seconds))
