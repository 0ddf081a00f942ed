"""Followed folders: what changed is read, what moved is not, and a folder that is away loses nothing."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest.mock import Mock

import pytest

from agent.documents.following import SyncUnderWay, due, forget, sync
from agent.documents.ingest import FileFailed, FilesUnread, FolderAway, IngestEvent, IngestFinished, ingest
from agent.documents.reading import cannot_open
from models.protocols import Vectors
from tests.agent.documents.ingesting import Counting, names, outcomes, read_in, stored
from tests.scripted import HashEmbedder
from traces.folders import Folder, Folders
from traces.library import Library
from traces.store import Store


@pytest.fixture
def folder(tmp_path: Path, store: Store) -> Path:
    """Three files in a folder that the collection ``c`` follows."""
    made = tmp_path / "letters"
    (made / "inner").mkdir(parents=True)
    _write(made / "a.md", "Alpha is the first letter.")
    _write(made / "inner" / "b.txt", "Beta is the second letter.")
    _write(made / "c.md", "Gamma is the third letter.")
    read_in(store, made, follow=True)
    return made


def _write(path: Path, text: str, age: float = 60.0) -> None:
    """Write a file that was last changed so many seconds ago."""
    path.write_text(text)
    os.utime(path, (time.time() - age,) * 2)


def _sync(store: Store, embedder: HashEmbedder | None = None) -> list[IngestEvent]:
    return list(sync(store=store, embedder=embedder or HashEmbedder()))


def test_what_is_new_changed_or_deleted_is_followed_and_recorded(store: Store, folder: Path) -> None:
    _write(folder / "a.md", "Alpha is no longer first.", age=50)
    (folder / "c.md").unlink()
    _write(folder / "d.md", "Delta is the fourth letter.")
    assert outcomes(_sync(store)) == {"a.md": "updated", "c.md": "removed", "d.md": "added"}
    changes = Folders(store).changes()
    assert {(change.name, change.outcome) for change in changes} == {
        ("a.md", "updated"),
        ("c.md", "removed"),
        ("d.md", "added"),
    }
    (end,) = [e for e in _sync(store) if isinstance(e, IngestFinished)]
    assert end.unchanged == 3
    assert Folders(store).changes() == changes, "nothing happened, so nothing is recorded"


def test_a_change_in_the_second_of_the_reading_is_not_missed(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = (folder / "a.md").stat()
    monkeypatch.setattr(
        "agent.documents.sources._DATE_RESOLUTION", 1e6
    )  # everything was read in the tick of its last change
    (folder / "a.md").write_text("Alpha is the worst letter.")  # as long, and dated alike
    os.utime(folder / "a.md", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert outcomes(_sync(store))["a.md"] == "updated"


def test_a_renamed_folder_and_archive_are_followed_without_reading_them(store: Store, folder: Path) -> None:
    shutil.make_archive(str(folder / "old"), "zip", folder, "inner")
    _write(folder / "inner" / "b.txt", "Only the archive says what it said.", age=40)
    os.utime(folder / "old.zip", (time.time() - 60,) * 2)
    _sync(store)
    assert "old.zip/inner/b.txt" in names(store)
    before = {document.id for document in Library(store).documents("c")}
    (folder / "old.zip").rename(folder / "new.zip")
    (folder / "inner").rename(folder / "renamed")
    (folder / "c.md").rename(folder / "renamed" / "gamma.md")
    moved = ["new.zip", "renamed/b.txt", "renamed/gamma.md"]
    embedder = Counting()
    assert outcomes(_sync(store, embedder)) == dict.fromkeys(moved, "moved")
    assert embedder.texts == []
    assert {document.id for document in Library(store).documents("c")} == before
    assert names(store) == {"a.md", "new.zip/inner/b.txt", *moved}
    was = {change.detail for change in Folders(store).changes() if change.outcome == "moved"}
    assert was == {"old.zip", "inner/b.txt", "c.md"}


@pytest.mark.parametrize("left", ["nothing", "an empty folder", "a file of another kind"])
def test_a_folder_away_loses_nothing_and_is_told_once(store: Store, folder: Path, left: str) -> None:
    folder.rename(folder.with_name("elsewhere"))
    if left != "nothing":
        folder.mkdir()
    if left == "a file of another kind":
        (folder / "mounted.here").write_text("no")
    for _ in range(2):
        (away,) = [e for e in _sync(store) if isinstance(e, FolderAway)]
        assert (away.path, away.is_there, away.documents) == (str(folder), left != "nothing", 3)
    assert len(names(store)) == 3
    assert [change.outcome for change in Folders(store).changes()] == ["away"]
    shutil.rmtree(folder, ignore_errors=True)
    folder.with_name("elsewhere").rename(folder)
    assert outcomes(_sync(store)) == {}
    assert Folders(store).changes()[0].outcome == "back"


def test_a_file_being_written_waits(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.documents.following._PATIENCE", 0.0)
    _write(folder / "d.md", "Delta is the", age=0)
    events = _sync(store)
    (unread,) = [e for e in events if isinstance(e, FilesUnread)]
    assert [*unread.names.values()] == [["d.md"]]
    assert outcomes(events) == {}
    _write(folder / "d.md", "Delta is the fourth letter.")
    assert outcomes(_sync(store)) == {"d.md": "added"}


def test_what_cannot_be_read_is_tried_again_only_when_it_changes(store: Store, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of the kind")
    os.utime(folder / "broken.pdf", (time.time() - 60,) * 2)
    assert [e.name for e in _sync(store) if isinstance(e, FileFailed)] == ["broken.pdf"]
    events = _sync(store)
    assert not [e for e in events if isinstance(e, FileFailed)]
    assert [[*e.names.values()] for e in events if isinstance(e, FilesUnread)] == [[["broken.pdf"]]]
    _write(folder / "broken.pdf", "Now it is text.", age=30)
    assert outcomes(_sync(store)) == {"broken.pdf": "added"}


def test_a_file_that_may_be_read_now_is_tried_again(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(folder / "private.md", "Delta is a secret.")
    refusal = cannot_open("private.md", PermissionError(errno.EACCES, "Permission denied"))
    with monkeypatch.context() as refused:  # root, who runs the tests in places, may read anything
        refused.setattr("agent.documents.sources.read_file", Mock(side_effect=refusal))
        assert [e.name for e in _sync(store) if isinstance(e, FileFailed)] == ["private.md"]
    (folder / "private.md").chmod(0o640)
    assert outcomes(_sync(store)) == {"private.md": "added"}


def test_what_is_left_out_is_not_read_and_goes(store: Store, folder: Path) -> None:
    (folder / "drafts").mkdir()
    _write(folder / "drafts" / "d.md", "Delta is a draft.")
    for name in (".hidden.md", "~$a.docx", "e.md.part", "f.txt~"):
        _write(folder / name, "This is nothing to be read.")
    Folders(store).follow(Folder("c", str(folder), ("drafts/", "*.txt", "!keep.txt")))
    _write(folder / "keep.txt", "Epsilon is kept.")
    assert outcomes(_sync(store)) == {"inner/b.txt": "removed", "keep.txt": "added"}
    assert "drafts/d.md" not in outcomes(read_in(store, folder, follow=True)), (
        "what was to be left out is remembered"
    )


@pytest.mark.parametrize("name", ["c.md", "what [is] this! # 1.md"])
def test_a_document_that_is_removed_does_not_come_back_until_it_is_named(
    store: Store, folder: Path, name: str
) -> None:
    (folder / "c.md").rename(folder / name)
    _sync(store)
    assert forget(store, stored(store)[name])
    assert outcomes(_sync(store)) == {}
    assert names(store) == {"a.md", "inner/b.txt"}
    assert outcomes(read_in(store, folder / name)) == {name: "added"}
    assert outcomes(_sync(store)) == {}
    assert names(store) == {"a.md", "inner/b.txt", name}


def test_a_collection_removed_during_a_sync_stays_away(store: Store, folder: Path, tmp_path: Path) -> None:
    class Removing(HashEmbedder):
        def embed_passages(self, texts: Sequence[str]) -> Vectors:
            if any("Alpha" in text for text in texts):
                Library(store).remove_collection("c")
            return super().embed_passages(texts)

    other = tmp_path / "other"
    other.mkdir()
    _write(other / "x.md", "Xi is in another collection.")
    list(ingest([other], collection="d", store=store, embedder=HashEmbedder(), follow=True))
    _write(folder / "a.md", "Alpha has changed.", age=50)
    _write(other / "x.md", "Xi has changed.", age=50)
    assert outcomes(_sync(store, Removing())) == {"x.md": "updated"}
    assert [collection.name for collection in Library(store).collections()] == ["d"]


def test_only_one_at_a_time(store: Store, folder: Path) -> None:
    _write(folder / "d.md", "Delta is the fourth letter.")
    under_way = sync(store=store, embedder=HashEmbedder())
    next(under_way)
    with pytest.raises(SyncUnderWay):
        _sync(store)
    list(under_way)
    assert "d.md" in names(store)


def test_a_change_in_a_folder_makes_its_collection_due(store: Store, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    _write(tmp_path / "other" / "z.md", "Omega is the last letter.")
    list(ingest([tmp_path / "other"], collection="o", store=store, embedder=HashEmbedder(), follow=True))
    closing = threading.Event()
    dues: Iterator[list[str]] = due(store, closing)
    assert next(dues) == ["c", "o"]

    def change() -> None:
        while not closing.wait(0.2):  # until it is heard: watching begins with the next line
            (folder / "a.md").write_text("Alpha is changed.")

    writer = threading.Thread(target=change)
    writer.start()
    try:
        assert next(dues) == ["c"]
    finally:
        closing.set()
        writer.join()
    assert list(dues) == []
