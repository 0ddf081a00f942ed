"""Scans: told before, read last and page by page, and not begun again."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agent.documents.formats.pdf_lines import ScannedPage
from agent.documents.ingest import FileDone, FileFailed, FileProgress, FileSetAside, FilesUnread, ScansFound
from agent.documents.reading import read
from models.protocols import Pixels, RecognisedWord
from tests.agent.documents.formats.parsed import tables
from tests.agent.documents.formats.samples import pdf_file, scanned_pdf
from tests.agent.documents.ingesting import names, read_in, stored, texts
from traces.errors import DeepthinkError
from traces.paths import scans_dir
from traces.store import Store


class _Eye:
    """Sees on a page the words for its brightness."""

    seconds_a_page = 3.0

    def __init__(self, words: dict[int, str]) -> None:
        self.words = words
        self.seen: list[int] = []

    def recognise(self, picture: Pixels) -> list[list[RecognisedWord]]:
        brightness = int(picture[0, 0, 0])
        self.seen.append(brightness)
        if self.words.get(brightness) == "fail":
            raise KeyboardInterrupt
        return [_line(self.words.get(brightness, ""))] if self.words.get(brightness) else []


def _line(text: str, top: float = 0.0, left: float = 0.0, sure: float = 0.9) -> list[RecognisedWord]:
    return [
        RecognisedWord(word, sure, left + 60 * n, top, left + 60 * n + 50, top + 20)
        for n, word in enumerate(text.split())
    ]


def _picture(*pages: int) -> bytes:
    out = BytesIO()
    first, *others = [Image.fromarray(np.full((300, 400), page, dtype=np.uint8)) for page in pages]
    first.save(out, "TIFF", save_all=True, append_images=others)
    return out.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    (made / "a.tiff").write_bytes(_picture(10, 20))
    (made / "b.md").write_text("Some words.")
    return made


def test_scans_are_told_and_read_last(store: Store, folder: Path) -> None:
    events = read_in(store, folder, recogniser=_Eye({10: "The crane costs 90 euros.", 20: "It is paid."}))
    told = [e for e in events if isinstance(e, (FileSetAside, ScansFound, FileProgress, FileDone))]
    assert [type(event).__name__.removeprefix("File") for event in told] == [
        *("SetAside", "Progress", "Done", "ScansFound", "Progress", "Progress", "Progress", "Done")
    ]
    assert told[3] == ScansFound(1, 2, 6.0)
    scan = stored(store)["a.tiff"]
    assert (scan.pages, scan.coverage) == (2, 1.0)
    assert not scan.notices, "nothing to warn of"
    assert not [
        event for event in read_in(store, folder, recogniser=_Eye({})) if isinstance(event, ScansFound)
    ]


def test_a_reading_that_was_stopped_goes_on_at_its_page(store: Store, folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        read_in(store, folder, recogniser=_Eye({10: "The crane.", 20: "fail"}))
    eye = _Eye({20: "It is paid."})
    read_in(store, folder, recogniser=eye)
    assert eye.seen == [20]
    assert "The crane." in texts(store)
    assert not list(scans_dir().iterdir()), "what was recognised is in the library"


def test_pictures_without_words_are_only_named_and_not_looked_at_twice(store: Store, folder: Path) -> None:
    for eye, seen in ((_Eye({}), [10, 20]), (_Eye({}), [])):
        events = read_in(store, folder, recogniser=eye)
        assert eye.seen == seen
        (unread,) = [event for event in events if isinstance(event, FilesUnread)]
        assert unread.names == {"no words in the picture": ["a.tiff"]}
        assert not [event for event in events if isinstance(event, FileFailed)]


def test_a_damaged_picture_keeps_no_other_file_from_being_read(store: Store, folder: Path) -> None:
    picture = BytesIO()
    Image.effect_noise((60, 60), 50).save(picture, "PNG")
    (folder / "0.png").write_bytes(picture.getvalue()[:2000])
    events = read_in(store, folder, recogniser=_Eye({10: "The crane costs 90 euros."}))
    assert [event.name for event in events if isinstance(event, FileFailed)] == ["0.png"]
    assert names(store) == {"a.tiff", "b.md"}


def test_without_recognition_pictures_are_of_a_kind_that_is_not_read(store: Store, folder: Path) -> None:
    events = read_in(store, folder, recogniser=None)
    (unread,) = [event for event in events if isinstance(event, FilesUnread)]
    assert unread.names == {"text recognition is off": ["a.tiff"]}
    with pytest.raises(DeepthinkError, match="text recognition is off"):
        read(folder / "a.tiff")


def test_a_pdf_is_read_again_once_its_scans_can_be(store: Store, tmp_path: Path) -> None:
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter()
    for part in (pdf_file("A page of text."), scanned_pdf(10)):
        writer.add_page(PdfReader(BytesIO(part)).pages[0])
    folder = tmp_path / "documents"
    folder.mkdir()
    writer.write(folder / "a.pdf")
    (done,) = [event for event in read_in(store, folder, recogniser=None) if isinstance(event, FileDone)]
    assert "1 of 2 pages are scans" in done.notices[0]
    (done,) = [event for event in read_in(store, folder, recogniser=None) if isinstance(event, FileDone)]
    assert done.outcome == "unchanged"
    eye = _Eye({10: "The crane costs 90 euros."})
    (done,) = [event for event in read_in(store, folder, recogniser=eye) if isinstance(event, FileDone)]
    assert (done.outcome, done.pages) == ("updated", 2)


def test_the_table_on_a_scan_is_a_table_and_unsure_words_are_marked(tmp_path: Path) -> None:
    (tmp_path / "a.tiff").write_bytes(_picture(10))
    rows = [("Part", "2023", "2024"), ("Lamp", "70", "83"), ("Door", "12", "14")]
    lines = [
        tuple(word for n, cell in enumerate(row) for word in _line(cell, 30.0 * y, 120.0 * n))
        for y, row in enumerate(rows)
    ]
    unsure = tuple(_line("Signed Holm", 200.0, sure=0.3))
    document = read(tmp_path / "a.tiff", recognised={1: ScannedPage(400, (*lines, unsure))})
    (table,) = tables(document)
    assert table.header == (("Part", "2023", "2024"),)
    assert table.rows == (("Lamp", "70", "83"), ("Door", "12", "14"))
    assert document.blocks[-1].text == "Signed[?] Holm[?]"
    assert "2 unsure words" in document.notices[0]
