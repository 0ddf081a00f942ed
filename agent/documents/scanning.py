"""Recognising scanned pages, one at a time; each is stored as soon as it is done."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from agent.documents.formats.pdf_lines import ScannedPage
from agent.documents.formats.pictures import page_picture
from agent.documents.indexing import Origin, stop_if
from models.protocols import TextRecogniser
from traces.paths import scans_dir

_LINE: TypeAdapter[tuple[int, ScannedPage]] = TypeAdapter(tuple[int, ScannedPage])


class Scanning:
    """The recognised text of the files that are being read; it is stored until a file is finished.

    Without a recogniser, scans are not read.
    """

    def __init__(self, recogniser: TextRecogniser | None) -> None:
        self._recogniser = recogniser
        self._pages: dict[str, dict[int, ScannedPage]] = {}

    @property
    def is_on(self) -> bool:
        """Whether scans are read."""
        return self._recogniser is not None

    @property
    def seconds_a_page(self) -> float:
        """The estimated time for a page."""
        return self._recogniser.seconds_a_page if self._recogniser else 0.0

    def pages_of(self, origin: Origin) -> Mapping[int, ScannedPage] | None:
        """The recognised pages of a file, including those of an earlier reading; None if scans are off."""
        if not self.is_on:
            return None
        if origin.sha256 not in self._pages:
            self._pages[origin.sha256] = dict(_stored_pages(origin))
        return self._pages[origin.sha256]

    def recognise(
        self, origin: Origin, data: bytes, pages: Sequence[int], cancel: threading.Event | None
    ) -> Iterator[int]:
        """Recognise pages of a file; yields the number of finished pages after each.

        Raises:
            GenerationCancelled: ``cancel`` was set; finished pages are kept.
            ModelError: The model fails.
            UnreadableDocument: A page cannot be rendered.
        """
        assert self._recogniser is not None, "only where scans are read"
        for count, number in enumerate(pages, start=1):
            stop_if(cancel)
            picture = page_picture(origin.name, data, number)
            lines = tuple(map(tuple, self._recogniser.recognise(picture)))
            page = ScannedPage(picture.shape[1], lines)
            self._pages.setdefault(origin.sha256, {})[number] = page
            scans_dir().mkdir(parents=True, exist_ok=True)
            with _file(origin).open("ab") as file:
                file.write(_LINE.dump_json((number, page)) + b"\n")
            yield count

    def forget(self, origin: Origin) -> None:
        """Drop a file's pages, once its document is in the library."""
        self._pages.pop(origin.sha256, None)
        if self.is_on:
            _file(origin).unlink(missing_ok=True)


def _file(origin: Origin) -> Path:
    return scans_dir() / f"{origin.sha256}.jsonl"


def _stored_pages(origin: Origin) -> Iterator[tuple[int, ScannedPage]]:
    lines = _file(origin).read_bytes().splitlines() if _file(origin).exists() else []
    with suppress(ValidationError):  # the incomplete last line of a killed process
        for line in lines:
            yield _LINE.validate_json(line)
