"""Files inside files: read as documents of their own, and gone with what they lay in."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from email.message import EmailMessage
from pathlib import Path

import pytest

from agent.documents.ingest import FileFailed, FilesUnread
from tests.agent.documents.ingesting import names, outcomes, read_in, stored
from traces.store import Store


def _mail(subject: str, *attachments: tuple[str, bytes]) -> bytes:
    message = EmailMessage()
    message["From"], message["To"] = "Ada Holm <ada@ulm.example>", "office@ulm.example"
    message["Subject"], message["Date"] = subject, "Tue, 05 Mar 2024 09:41:00 +0100"
    message.set_content("The crane is repaired.")
    for name, content in attachments:
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=name)
    return message.as_bytes()


def _zipped(path: Path, files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path.read_bytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    made.mkdir()
    return made


def test_an_attachment_is_a_document_of_its_own(store: Store, folder: Path) -> None:
    files = ("bill.md", b"The bill is 90 euros."), ("NOTES", b"Paid."), ("film.mp4", b"\x00\x01")
    (folder / "a.eml").write_bytes(_mail("Crane", *files))
    events = read_in(store, folder)
    assert outcomes(events) == {"a.eml/bill.md": "added", "a.eml/NOTES": "added", "a.eml": "added"}
    (unread,) = [event for event in events if isinstance(event, FilesUnread)]
    assert [*unread.names.values()] == [["a.eml/film.mp4"]]
    mail = stored(store)["a.eml"]
    assert (mail.author, mail.date, mail.title) == ("Ada Holm <ada@ulm.example>", "2024-03-05", "Crane")
    assert outcomes(read_in(store, folder)) == {"a.eml": "unchanged"}


def test_what_is_no_longer_inside_goes_and_what_is_stays(store: Store, folder: Path) -> None:
    path = folder / "a.zip"
    _zipped(path, {"in/one.md": b"One is here.", "two.md": b"Two is here."})
    read_in(store, folder)
    assert names(store) == {"a.zip", "a.zip/in/one.md", "a.zip/two.md"}
    _zipped(path, {"two.md": b"Two is here."})
    assert outcomes(read_in(store, path)) == {
        "a.zip/in/one.md": "removed",
        "a.zip/two.md": "unchanged",
        "a.zip": "updated",
    }
    path.unlink()
    (folder / "b.md").write_text("Something else.")
    read_in(store, folder)
    assert names(store) == {"b.md"}


def test_files_lie_in_files_that_lie_in_files_but_not_too_deep(store: Store, folder: Path) -> None:
    inner = b"Deep down."
    name = "deep.md"
    for level in range(5):
        inner, name = _zipped(folder / "level.zip", {name: inner}), f"{level}.zip"
    events = read_in(store, folder)
    (failed,) = [event for event in events if isinstance(event, FileFailed)]
    assert "too deep" in failed.error.message
    assert len(names(store)) == 5


def test_a_file_inside_that_fails_is_named_and_stops_no_other(store: Store, folder: Path) -> None:
    files = {"bad.pdf": b"%PDF-1.7 junk", "turned.md": b"Turned", "TURNED": b"Turned", "good.md": b"Good"}
    path = folder / "a.zip"
    path.write_bytes(_zipped(path, files, zipfile.ZIP_STORED).replace(b"Turned", b"turned"))
    events = read_in(store, folder)
    failed = ["a.zip/bad.pdf", "a.zip/turned.md", "a.zip/TURNED"]
    assert [event.name for event in events if isinstance(event, FileFailed)] == failed
    assert names(store) == {"a.zip", "a.zip/good.md"}
    assert "a.zip/bad.pdf" in stored(store)["a.zip"].notices[0]


def test_files_of_one_name_are_told_apart(store: Store, folder: Path) -> None:
    (folder / "m.eml").write_bytes(_mail("Two", ("../a.md", b"First."), ("../a.md", b"Second.")))
    read_in(store, folder)
    assert names(store) == {"m.eml", "m.eml/a.md", "m.eml/a (2).md"}
