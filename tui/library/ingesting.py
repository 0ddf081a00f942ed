"""The state of an ingestion, folded from its events, and its display on the terminal."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.text import Text

from agent.documents import ingest as ing
from models.catalogue import MULTILINGUAL_E5_SMALL
from tui import failures
from tui.bars import bar
from tui.terminal import clean, console, counted, duration, is_live, padded, table

_NAME_WIDTH = 34
_LONG = 10.0  # seconds
_MAX_NAMED = 5  # files, for each reason or language
_LOW_COVERAGE = 0.95  # below it, too much of a document's text is missing from its passages
_OUTCOMES = ("added", "updated", "moved", "unchanged", "removed")


@dataclass(slots=True)
class IngestFold:
    """The state of an ingestion; several ingestions in a row add up."""

    total: int = 0  # files and pages
    started: int = 0  # of them
    begun: list[ing.FileStarted] = field(default_factory=list)  # the current file, after those around it
    progress: ing.FileProgress | None = None  # of the current file, once parsed
    scans: list[ing.ScansFound] = field(default_factory=list)  # estimates for OCR, one per ingestion
    skipped: dict[str, list[str]] = field(default_factory=dict)  # names of files by reason
    done: list[ing.FileDone] = field(default_factory=list)  # unchanged documents too
    failed: list[ing.FileFailed] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)  # names by a language not supported
    embedder: str = ""  # that does not support them
    unchanged: int = 0  # files in finished ingestions
    away: list[ing.FolderAway] = field(default_factory=list)
    seconds: float = 0.0  # of finished ingestions
    ended: int = 0  # finished ingestions

    def take(self, event: ing.IngestEvent) -> None:  # noqa: PLR0912 - one arm per event
        if isinstance(event, ing.FileEvent):
            self._turn_to(event)
        match event:
            case ing.FileFound():
                self.total += event.total
            case ing.FileStarted():
                self.started += 1
            case ing.FileSetAside():
                self.started -= 1
            case ing.ScansFound():
                self.scans.append(event)
            case ing.FileDone():
                self.done.append(event)
            case ing.FileFailed():
                self.failed.append(event)
            case ing.IngestFinished():
                self.begun.clear()
                self.unchanged += event.unchanged
                self.seconds += event.seconds
                self.ended += 1
            case ing.FilesUnread():
                for reason, names in event.names.items():
                    self.skipped.setdefault(reason, []).extend(names)
            case ing.LanguagesUnknown():
                self.embedder = event.embedder
                for language, names in event.names.items():
                    self.unknown.setdefault(language, []).extend(names)
            case ing.FolderAway():
                self.away.append(event)
            case _:
                pass

    def _turn_to(self, event: ing.FileEvent) -> None:
        """Make the file of ``event`` the current one, or the file around it if it is over."""
        while self.begun and not f"{event.source}/".startswith(f"{self.begun[-1].source}/"):
            self.begun.pop()  # a picture without words ends without an event
        self.progress = event if isinstance(event, ing.FileProgress) else None
        if isinstance(event, ing.FileStarted):
            self.begun.append(event)
        elif self.progress is None and self.under_way and self.under_way.source == event.source:
            self.begun.pop()

    @property
    def under_way(self) -> ing.FileStarted | None:
        """The file that is read; None between two files."""
        return self.begun[-1] if self.begun else None

    @property
    def finished(self) -> int:
        """Number of finished files and pages; one is not finished before the files inside it are."""
        return self.started - len(self.begun)

    @property
    def doing(self) -> str:
        """The current activity; "" between two files."""
        if self.under_way is None:
            return ""
        if self.progress is not None:
            return f"{self.progress.done:,} of {self.progress.total:,} {_with_time_left(self.progress)}"
        return "fetching …" if "://" in self.under_way.source else "reading …"

    @property
    def news(self) -> list[ing.FileDone]:
        return [file for file in self.done if file.outcome != "unchanged"]

    @property
    def counts(self) -> str:
        """How many were added, updated and so on; "nothing to do" if there were none."""
        outcomes: Counter[str] = Counter(file.outcome for file in self.done)
        outcomes["unchanged"] = max(outcomes["unchanged"], self.unchanged)
        numbers = [(outcomes[outcome], outcome) for outcome in _OUTCOMES]
        parts = [f"{count} {word}" for count, word in (*numbers, (len(self.failed), "failed")) if count]
        return ", ".join(parts) or "nothing to do"

    @property
    def scan_note(self) -> str:
        """How long OCR of the scanned pages takes; "" if there are none."""
        pages = sum(scan.pages for scan in self.scans)
        seconds = sum(scan.seconds for scan in self.scans)
        subject = "page is a scan" if pages == 1 else "pages are scans"
        time = counted(math.ceil(seconds / 60), "minute") if seconds > 90 else f"{seconds:.0f} seconds"
        return f"{pages:,} {subject}: about {time}." if pages else ""

    @property
    def skipped_note(self) -> str:
        """The files that are not read, each with the reason; "" if there are none."""
        return f"Skipped: {_listed(self.skipped)}." if self.skipped else ""

    @property
    def folder_notes(self) -> list[str]:
        return [
            f"{folder.path} is {'empty' if folder.is_there else 'missing'}. "
            f"Its documents stay in the library: {folder.documents:,}."
            for folder in self.away
        ]

    @property
    def language_note(self) -> str:
        """Which documents are in languages that the embedder does not support; "" if there are none."""
        if not self.unknown:
            return ""
        knows = f"{self.embedder} does not know the language, {MULTILINGUAL_E5_SMALL.name} about 100"
        return f"Found by words alone, not by meaning: {_listed(self.unknown)}. {knows}"


def _listed(names: Mapping[str, Sequence[str]]) -> str:
    """The first names of each group, with what they have in common in brackets; large groups first."""
    groups = []
    for common, group in sorted(names.items(), key=lambda item: -len(item[1])):
        more = f" and {len(group) - _MAX_NAMED:,} more" if len(group) > _MAX_NAMED else ""
        groups.append(f"{', '.join(group[:_MAX_NAMED])}{more} ({common})")
    return "; ".join(groups)


def _with_time_left(progress: ing.FileProgress) -> str:
    """What is counted, and how long it still takes, if that is long."""
    left = progress.seconds_left
    return f"{progress.unit}, {duration(left)} left" if left > _LONG else progress.unit


def is_low(coverage: float) -> bool:
    return coverage < _LOW_COVERAGE


def share(coverage: float) -> str:
    """Format a coverage, marked where it is low."""
    return f"{coverage:.1%}{' low' if is_low(coverage) else ''}"


def show_ingestion(events: Iterable[ing.IngestEvent], *, quiet: bool = False) -> int:
    """Show the progress and the result of an ingestion unless ``quiet``; returns the exit code.

    A file that fails is reported on stderr and does not stop the others.
    """
    out = console()
    out.quiet = quiet
    fold = IngestFold()
    live = is_live()
    with bar(out) as progress:
        for event in events:
            fold.take(event)
            if isinstance(event, ing.ScansFound):
                out.print(IngestFold(scans=[event]).scan_note)
            elif live and fold.total:
                name = padded(fold.under_way.name if fold.under_way else "", _NAME_WIDTH)
                progress.show(name, fold.finished, fold.total, fold.doing)
            elif isinstance(event, ing.FileProgress) and event.seconds_left > _LONG:
                progress.show(clean(event.name), event.done, event.total, _with_time_left(event))
            elif isinstance(event, ing.FileDone) and event.outcome not in {"unchanged", "removed"}:
                out.print(f"{fold.finished} of {fold.total}: {clean(event.name)} {event.outcome}")
    if fold.ended or fold.away:
        _show_summary(out, fold)
    for failure in fold.failed:
        failures.report(failure.error, about=clean(failure.name))
    is_empty = not fold.done and not fold.unchanged
    return failures.EXIT_CODES["input"] if fold.failed or fold.away or is_empty else failures.DONE


def _show_summary(out: Console, fold: IngestFold) -> None:
    if fold.news:
        headers = ("file", "", "passages", "coverage", "pages", "time")
        out.print(table(headers, map(_row, fold.news), right=headers[2:]))
        out.print()
    for file in fold.news:
        for notice in file.notices:
            failures.warn(f"{clean(file.name)}: {clean(notice)}")
    if fold.language_note:
        name = MULTILINGUAL_E5_SMALL.name
        way_out = f"`deepthink models pull {name}`, then `deepthink models use {name}`."
        failures.warn(f"{clean(fold.language_note)}: {way_out}")
    for note in (*fold.folder_notes, fold.skipped_note):
        if note:
            failures.warn(clean(note))
    out.print(Text(f"{fold.counts} in {duration(fold.seconds)}"))


def _row(file: ing.FileDone) -> tuple[object, ...]:
    if file.outcome == "removed":
        return file.name, "removed", "", "", "", ""
    coverage = Text(share(file.coverage), style="yellow" if is_low(file.coverage) else "")
    return file.name, file.outcome, file.chunks, coverage, file.pages or "", duration(file.seconds)
