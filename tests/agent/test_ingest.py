"""Ingestion: only what changed is read, what fails harms nothing, what is gone goes."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from agent import indexing
from agent.ingest import FileDone, FileFailed, IngestEvent, IngestFinished, NothingToIngest, ingest
from models.protocols import GenerationCancelled, Vectors
from models.scripted import HashEmbedder
from traces.errors import DeepthinkError
from traces.library import Library
from traces.store import Store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "documents"
    (made / "inner").mkdir(parents=True)
    (made / "a.md").write_text("# Title\n\nAlpha is the first letter. It is Greek.\n")
    (made / "inner" / "b.txt").write_text("Beta is the second letter.\n")
    (made / "c.csv").write_text("name,value\nx,1\ny,2\n")
    (made / "picture.png").write_bytes(b"\x89PNG\r\n")
    (made / ".hidden.md").write_text("hidden")
    return made


def _read(store: Store, *paths: Path, embedder: HashEmbedder | None = None) -> list[IngestEvent]:
    return list(ingest(paths, collection="c", store=store, embedder=embedder or HashEmbedder()))


def _outcomes(events: list[IngestEvent]) -> dict[str, str]:
    return {e.name: e.outcome for e in events if isinstance(e, FileDone)}


def test_a_folder_is_read_whole(store: Store, folder: Path) -> None:
    events = _read(store, folder)
    assert _outcomes(events) == {"a.md": "added", "inner/b.txt": "added", "c.csv": "added"}
    end = events[-1]
    assert isinstance(end, IngestFinished)
    assert (end.added, end.failed) == (3, 0)
    assert all(e.coverage > 0.95 for e in events if isinstance(e, FileDone))
    assert {d.name for d in Library(store).documents("c")} == {"a.md", "inner/b.txt", "c.csv"}


def test_only_what_changed_is_read_again_and_what_is_gone_goes(store: Store, folder: Path) -> None:
    _read(store, folder)
    (folder / "a.md").write_text("# Title\n\nAlpha is no longer the first letter.\n")
    (folder / "c.csv").unlink()
    assert _outcomes(_read(store, folder)) == {
        "a.md": "updated",
        "inner/b.txt": "unchanged",
        "c.csv": "removed",
    }
    library = Library(store)
    assert len(library.documents("c")) == 2
    texts = [p.text for d in library.documents("c") for p in library.document_passages(d.id)]
    assert not any("It is Greek" in text for text in texts)


def test_a_file_named_outright_does_not_remove_its_neighbours(store: Store, folder: Path) -> None:
    _read(store, folder)
    assert _outcomes(_read(store, folder / "a.md")) == {"a.md": "unchanged"}
    assert len(Library(store).documents("c")) == 3


def test_a_file_named_outright_outlives_its_folder_being_read(store: Store, folder: Path) -> None:
    (folder / "notes.log").write_text("Gamma is the third letter.")
    _read(store, folder / "notes.log")
    assert "notes.log" not in _outcomes(_read(store, folder))
    assert len(Library(store).documents("c")) == 4


def test_a_name_that_is_not_utf8_fails_alone(store: Store, folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("Delta.")
    (failed,) = [e for e in _read(store, folder) if isinstance(e, FileFailed)]
    assert "UTF-8" in failed.error.message


def test_reading_changed_code_reads_everything_again(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _read(store, folder)
    monkeypatch.setattr(indexing, "READER_VERSION", indexing.READER_VERSION + 1)
    assert set(_outcomes(_read(store, folder)).values()) == {"updated"}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.txt", b""),
        ("blank.md", b"  \n\n "),
        ("binary.txt", bytes(range(256)) * 40),
        ("broken.pdf", b"%PDF-1.7\nnothing of the kind"),
        ("broken.docx", b"PK\x03\x04 not a zip"),
    ],
)
def test_a_bad_file_fails_alone_with_a_way_out(
    store: Store, folder: Path, name: str, content: bytes
) -> None:
    (folder / name).write_bytes(content)
    events = _read(store, folder)
    (failed,) = [e for e in events if isinstance(e, FileFailed)]
    assert failed.name == name
    assert failed.error.message
    assert failed.error.way_out
    assert len(_outcomes(events)) == 3


def test_a_file_that_is_too_large_is_not_opened(store: Store, tmp_path: Path) -> None:
    big = tmp_path / "big.txt"
    with big.open("wb") as file:
        file.truncate(200 * 1024 * 1024)  # sparse: takes no room
    (failed,) = [e for e in _read(store, big) if isinstance(e, FileFailed)]
    assert "MB" in failed.error.message


def test_a_wrongly_named_file_is_read_as_what_it_is(store: Store, tmp_path: Path) -> None:
    page = tmp_path / "page.txt"
    page.write_text("<html><head><title>T</title></head><body><p>Only this is visible.</p></body></html>")
    _read(store, page)
    (document,) = Library(store).documents("c")
    assert document.media_type == "text/html"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_fails_with_a_sentence(store: Store, folder: Path) -> None:
    (folder / "a.md").chmod(0)
    assert any(isinstance(e, FileFailed) for e in _read(store, folder))


def test_nothing_to_read_says_what_can_be(store: Store, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"x")
    with pytest.raises(NothingToIngest) as caught:
        _read(store, tmp_path)
    assert ".pdf" in caught.value.way_out
    with pytest.raises(NothingToIngest, match="does not exist"):
        _read(store, tmp_path / "nowhere")


def test_a_crash_while_reading_leaves_the_library_as_it_was(store: Store, folder: Path) -> None:
    _read(store, folder)

    class Failing(HashEmbedder):
        def embed_passages(self, texts: object) -> Vectors:
            raise KeyboardInterrupt

    (folder / "a.md").write_text("# Title\n\nNew text that never arrives.\n")
    with pytest.raises(KeyboardInterrupt):
        _read(store, folder, embedder=Failing())
    library = Library(store)
    (before,) = [d for d in library.documents("c") if d.name == "a.md"]
    assert "Alpha is the first letter." in library.document_passages(before.id)[0].text


def test_cancelling_keeps_what_is_read(store: Store, folder: Path) -> None:
    cancel = threading.Event()
    stream = ingest([folder], collection="c", store=store, embedder=HashEmbedder(), cancel=cancel)
    for event in stream:
        if isinstance(event, FileDone):
            cancel.set()
            break
    with pytest.raises(GenerationCancelled):
        list(stream)
    assert len(Library(store).documents("c")) == 1


def test_another_embedder_is_refused_before_anything_is_lost(store: Store, folder: Path) -> None:
    _read(store, folder)
    (folder / "a.md").write_text("# Title\n\nChanged.\n")
    with pytest.raises(DeepthinkError):
        _read(store, folder, embedder=HashEmbedder(dimensions=32))
    assert len(Library(store).documents("c")) == 3
