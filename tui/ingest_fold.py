"""What is known of a reading of files from its events; the command line and the app tell it alike."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field

from agent.documents import ingest as ing
from tui.terminal import counted, duration

LOW_COVERAGE = 0.95
"""Below this share too much of a document's text did not become passages."""

OUTCOMES = ("added", "updated", "unchanged", "removed")


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
            case ing.FilesUnread():
                self.unread.update(dict(event.kinds))
            case ing.FileEmbedding():
                self.passages = (event.done_chunks, event.total_chunks)
            case ing.FileDone():
                self.under_way = None
                self.done.append(event)
            case ing.FileFailed():
                self.under_way = None
                self.failed.append(event)
            case ing.LanguagesUnknown():
                self.unknown.append(event)
            case ing.IngestFinished():
                self.under_way = None
                self.seconds += event.seconds
                self.ended += 1
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
        numbers = [(sum(file.outcome == outcome for file in self.done), outcome) for outcome in OUTCOMES]
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
    """A coverage as it is told."""
    return f"{coverage:.1%}{' low' if is_low(coverage) else ''}"
