"""The door: what is a document, what is refused, and with which words."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from agent.documents.document import NoText, UnreadableDocument
from agent.documents.reading import SUFFIXES, read, read_bytes
from tests.agent.documents.formats.parsed import parse
from tests.agent.documents.formats.samples import docx_file, pdf_file, scanned_pdf
from tests.formats import FILES


def refused(name: str, content: bytes) -> UnreadableDocument:
    with pytest.raises(UnreadableDocument) as caught:
        parse(name, content)
    error = caught.value
    assert error.message.endswith(".")
    assert error.way_out.endswith(".")
    assert name in error.message
    assert "object at 0x" not in error.message
    assert error.kind == "input"
    return error


def test_every_suffix_is_read() -> None:
    for suffix in SUFFIXES - {".pdf", ".docx"}:
        assert "Hello there." in parse(f"a{suffix}", b"Hello there.").visible_text


@pytest.mark.parametrize(
    ("name", "content", "media_type", "told"),
    [
        ("wrong.txt", pdf_file("Some words."), "application/pdf", "text PDF"),
        ("wrong.md", docx_file("Some words."), "wordprocessingml", "Markdown DOCX"),
        ("wrong.txt", b"<!DOCTYPE html><html><body><p>Some words.</p></body></html>", "text/html", ""),
        ("wrong.pdf", b"Some words.", "text/plain", "PDF text"),
        ("wrong.docx", b"<html><body><p>Some words.</p></body></html>", "text/html", "DOCX HTML"),
        ("wrong.html", b"Some words.", "text/plain", ""),
        ("wrong.xyz", b"Some words.", "text/plain", ""),
        ("right.md", b"<div>Some words.</div>", "text/markdown", ""),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # made files differ from worker to worker
)
def test_a_file_is_read_as_what_it_is(name: str, content: bytes, media_type: str, told: str) -> None:
    document = parse(name, content)
    assert media_type in document.media_type
    assert "Some words." in "\n".join(block.text for block in document.blocks)
    if told:
        [notice] = document.notices
        assert all(part in notice for part in (Path(name).suffix, *told.split()))


def test_a_page_is_what_its_server_says_whatever_its_address_ends_in() -> None:
    page = b"<html><body><p>Some words.</p></body></html>"
    assert read_bytes("index.php", page, served_as="text/html").notices == ()
    assert len(read_bytes("report.pdf", page, served_as="application/pdf").notices) == 1


@pytest.mark.parametrize(
    ("name", "text", "date"),
    [
        (
            "2025-05-06-committee.txt",
            "Minutes of the committee meeting of 6 May 2025\n\nNobody came.",
            "2025-05-06",
        ),
        ("committee_2025_05_06.csv", "name,cost\nroof,30", "2025-05-06"),
        ("Scan20250506.md", "It was paid on 7 July 2024 in full.", "2025-05-06"),
        ("2025-05-06.md", "# Minutes\n\n7 May 2025\n\nNobody came.", "2025-05-07"),
        ("2025-01-01_2025-03-31.txt", "Nobody came.", ""),
        ("2025-02-30-committee.txt", "Nobody came.", ""),
        ("a-2025-05-06-b.txt", "Nobody came.", ""),
        ("202505061.txt", "Nobody came.", ""),
        ("18990506.txt", "Nobody came.", ""),
        ("2025-05.txt", "Nobody came.", ""),
    ],
)
def test_a_full_date_at_either_end_of_the_name_dates_what_states_none(
    name: str, text: str, date: str
) -> None:
    assert parse(name, text).date == date


def test_what_is_no_file_or_too_large_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "nowhere.pdf", tmp_path):
        with pytest.raises(UnreadableDocument, match="cannot be opened"):
            read(path)
    path = tmp_path / "large.txt"
    with path.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(UnreadableDocument, match=r"large\.txt is 200 MB; at most 100 MB are read"):
        read(path)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"\x00" * 100, "empty"),
        (bytes(range(256)) * 20, "binary"),
        (b"\x7fELF\x02\x01\x01" + b"\x00" * 60, "binary"),
        (b"\x89PNG\r\n\x1a\n" + b"\x00" * 60, "picture"),
        (b"\xff\xd8\xff\xe0" + b"\x00" * 60, "picture"),
        (b"\x1f\x8b\x08" + b"\x00" * 60, "compressed"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600, "before 2007"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (b"PK\x03\x04" + b"junk" * 50, "damaged"),
        (b"%PDF-1.7\n" + b"junk" * 50, "damaged"),
        (pdf_file("Hidden.", password="open sesame"), "password"),
        (docx_file(""), "no text"),
        (b"<html><body></body></html>", "no text"),
        (" \u200b\n\n\u200c\u2060\ufeff\n".encode(), "no text"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",  # made files differ from worker to worker
)
def test_what_is_no_document(content: bytes, word: str) -> None:
    assert word in refused("a.docx", content).message


def test_scanned_pdf() -> None:
    error = refused("scan.pdf", scanned_pdf())
    assert isinstance(error, NoText)
    assert "ocr" in error.way_out
    assert read_bytes("scan.pdf", scanned_pdf(), recognised={}).scans == (1,)


def test_no_parsers_error_escapes() -> None:
    """Files cut short and with bytes turned over are read or refused, nothing else."""
    files = {"a.pdf": pdf_file("Some words."), "a.docx": docx_file("Some words.")}
    for name, whole in (files | {"a.xls": (FILES / "1.xls").read_bytes()}).items():
        for cut in range(1, 10):
            damaged = bytearray(whole[: len(whole) * cut // 10])
            turned = bytearray(whole)
            for at in range(cut * 7, len(turned), 97):
                turned[at] ^= 0x5A
            for content in (damaged, turned):
                with contextlib.suppress(UnreadableDocument):
                    parse(name, bytes(content))
