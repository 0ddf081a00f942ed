"""Ingestion: only what changed is read, what fails harms nothing, what is gone goes."""

from __future__ import annotations

import errno
import os
import shutil
import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from agent.documents import indexing
from agent.documents.ingest import (
    FileDone,
    FileFailed,
    FilesUnread,
    IngestEvent,
    LanguagesUnknown,
    NothingToIngest,
    ingest,
)
from agent.documents.sources import Fetched
from agent.retrieval.recall import Recall
from agent.web.fetch import PageFailed
from models.protocols import GenerationCancelled, ModelError, ModelMissing, ModelUnreachable, Vectors
from tests.agent.documents.ingesting import Counting, names, outcomes, read_in, stored, texts
from tests.agent.web.pages import FILING
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Scope
from traces.store import Store, StoreBusy, now


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


def test_only_what_changed_is_read_again_and_what_is_gone_goes(store: Store, folder: Path) -> None:
    _read_page(store, _page(b"Delta.", "text/plain"), "https://example.org/d")
    events = read_in(store, folder)
    assert outcomes(events) == {"a.md": "added", "inner/b.txt": "added", "c.csv": "added"}
    assert all(e.coverage > 0.95 for e in events if isinstance(e, FileDone))
    (folder / "a.md").write_text("# Title\n\nAlpha is no longer the first letter.\n")
    (folder / "c.csv").unlink()
    assert outcomes(read_in(store, folder)) == {
        "a.md": "updated",
        "inner/b.txt": "unchanged",
        "c.csv": "removed",
    }
    assert names(store) == {"a.md", "inner/b.txt", "example.org/d"}, "a page is not of the folder"
    assert not any("It is Greek" in text for text in texts(store))


def test_a_file_named_outright_keeps_its_name_and_outlives_its_folder_being_read(
    store: Store, folder: Path
) -> None:
    read_in(store, folder)
    known, other = folder / "inner" / "b.txt", folder / "notes.log"
    known.write_text("Beta is no longer the second letter.\n")
    other.write_text("Gamma is the third letter.")
    assert outcomes(read_in(store, known, other)) == {"inner/b.txt": "updated", "notes.log": "added"}
    assert len(names(store)) == 4, "its neighbours stay"
    assert "notes.log" not in outcomes(read_in(store, folder))
    assert len(names(store)) == 4


def _hide(monkeypatch: pytest.MonkeyPatch, hidden: Path, error: int) -> None:
    """Nothing below ``hidden`` can be looked at; root, who runs the tests in places, may look anywhere."""

    def refusing(known: Callable[..., object]) -> Callable[..., object]:
        def asked(path: str | Path, *given: object, **named: object) -> object:
            if str(path).startswith(str(hidden)):
                raise OSError(error, os.strerror(error), str(path))
            return known(path, *given, **named)

        return asked

    for name in ("stat", "lstat", "scandir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))


@pytest.mark.parametrize(
    ("error", "hidden"), [(errno.EACCES, "a.md"), (errno.EIO, "inner/b.txt"), (errno.ESTALE, "inner")]
)
def test_what_may_not_be_looked_at_fails_alone_and_is_not_gone(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, error: int, hidden: str
) -> None:
    read_in(store, folder)
    _hide(monkeypatch, folder / hidden, error)
    events = read_in(store, folder)
    (failed,) = [e for e in events if isinstance(e, FileFailed)]
    assert failed.name == hidden
    assert os.strerror(error) in failed.error.message
    assert set(outcomes(events).values()) == {"unchanged"}
    assert len(outcomes(events)) == 2
    assert len(names(store)) == 3


@pytest.mark.parametrize("named", ["documents", "documents/a.md"])
def test_a_path_that_may_not_be_looked_at_is_refused_with_a_sentence(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    read_in(store, folder)
    _hide(monkeypatch, folder, errno.EACCES)
    with pytest.raises(NothingToIngest, match="Permission denied"):
        read_in(store, folder.parent / named)
    assert len(names(store)) == 3


def test_what_has_no_extension_is_read_if_it_is_plain_text(store: Store, tmp_path: Path) -> None:
    contents = {
        "NOTES": b"Alpha is the first letter.",
        "LICENCE-2.0": b"Beta is the second letter.",
        "LISEZMOI": "Le café est fermé.".encode("latin-1"),
        "wide": "Alpha is the first letter.".encode("utf-16"),
        "program": b"\x7fELF\x02\x01\x01" + bytes(60),
        "packed": b"\x1f\x8b\x08" + bytes(60),
        "blank": b" \n\n",
        "film.mp4": b"words",
    }
    folder = tmp_path / "documents"
    folder.mkdir()
    for name, content in contents.items():
        (folder / name).write_bytes(content)
    events = read_in(store, folder)
    assert set(outcomes(events)) == {"NOTES", "LICENCE-2.0", "LISEZMOI", "wide"}
    (unread,) = (event for event in events if isinstance(event, FilesUnread))
    assert sorted(map(sorted, unread.names.values())) == [["blank", "packed", "program"], ["film.mp4"]]
    assert not [event for event in events if isinstance(event, FileFailed)]


def test_a_link_out_of_the_folder_is_named_and_read_only_when_meant(store: Store, folder: Path) -> None:
    private = folder.parent / "private.md"
    private.write_text("The key is under the mat.")
    link = folder / "notes.md"
    link.symlink_to(private)
    (folder / "old.md").symlink_to(folder.parent / "gone.md")
    events = read_in(store, folder)
    assert "notes.md" not in outcomes(events)
    (unread,) = (event for event in events if isinstance(event, FilesUnread))
    assert {("notes.md",), ("old.md",)} <= {*map(tuple, unread.names.values())}
    assert outcomes(read_in(store, link)) == {"notes.md": "added"}


def test_a_file_and_a_link_to_it_are_one_document(store: Store, folder: Path) -> None:
    (folder / "0.md").symlink_to("a.md")
    (folder / "inner" / "link.txt").symlink_to("b.txt")
    assert set(outcomes(read_in(store, folder))) == {"a.md", "inner/b.txt", "c.csv"}
    read_in(store, folder)
    assert names(store) == {"a.md", "inner/b.txt", "c.csv"}


def test_a_copy_of_what_is_on_a_drive_not_mounted_replaces_nothing(store: Store, folder: Path) -> None:
    drive = folder.parent / "drive"
    shutil.copytree(folder, drive / "documents")
    read_in(store, drive / "documents")
    shutil.rmtree(drive / "documents")  # what is left when it is not mounted
    assert "removed" not in outcomes(read_in(store, folder)).values()
    with pytest.raises(NothingToIngest):
        read_in(store, drive)
    assert len(texts(store)) == 6, "of six documents"


def test_what_lies_behind_a_link_that_leads_nowhere_now_is_not_gone(store: Store, folder: Path) -> None:
    read_in(store, folder)
    shutil.rmtree(folder / "inner")
    (folder / "inner").symlink_to(folder.parent / "drive")
    assert "removed" not in outcomes(read_in(store, folder)).values()
    (folder.parent / "drive").mkdir()
    assert outcomes(read_in(store, folder))["inner/b.txt"] == "removed"


def test_a_file_under_a_new_name_is_not_read_again(store: Store, folder: Path) -> None:
    read_in(store, folder / "inner")
    (folder / "inner").rename(folder / "renamed")
    (folder / "renamed" / "b.txt").rename(folder / "renamed" / "Gamma ray.txt")
    (document,) = Library(store).documents("c")
    events = read_in(
        store, folder / "renamed", embedder=_Failing(ModelError("Not a number.", "Report this."))
    )
    (done,) = [e for e in events if isinstance(e, FileDone)]
    assert (done.name, done.outcome, done.was) == ("Gamma ray.txt", "moved", "b.txt")
    (moved,) = Library(store).documents("c")
    assert (moved.id, moved.title) == (document.id, "Gamma ray")
    hits = Recall(Library(store), HashEmbedder()).search("gamma ray", "keyword", [Scope()], 3)
    assert [hit.passage.document for hit in hits] == ["Gamma ray.txt"]


def test_a_name_that_is_not_utf8_fails_alone(store: Store, folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/caf\xe9.txt")).write_text("Delta.")
    (failed,) = [e for e in read_in(store, folder) if isinstance(e, FileFailed)]
    assert "UTF-8" in failed.error.message


def test_a_new_reader_reads_all_again(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_in(store, folder)
    monkeypatch.setattr(indexing, "READER_VERSION", indexing.READER_VERSION + 1)
    (folder / "inner" / "b.txt").rename(folder / "inner" / "d.txt")
    renamed = {"a.md": "updated", "inner/d.txt": "updated", "c.csv": "updated"}
    assert outcomes(read_in(store, folder)) == renamed
    assert names(store) == set(renamed)


def test_bad_files_fail_alone_with_a_way_out(store: Store, folder: Path) -> None:
    bad = {
        "blank.md": b" \n ",
        "binary.pdf": bytes(range(256)) * 40,
        "broken.docx": b"PK\x03\x04 not a zip",
    }
    for name, content in bad.items():
        (folder / name).write_bytes(content)
    events = read_in(store, folder)
    failed = {e.name: e.error for e in events if isinstance(e, FileFailed)}
    assert set(failed) == set(bad)
    assert all(error.message and error.way_out for error in failed.values())
    assert failed["binary.pdf"].message == "binary.pdf is a binary file, not PDF."
    assert len(outcomes(events)) == 3


def test_nothing_to_read_says_what_can_be(store: Store, tmp_path: Path) -> None:
    (tmp_path / "x.png").write_bytes(b"x")
    with pytest.raises(NothingToIngest) as caught:
        read_in(store, tmp_path)
    assert "formats" in caught.value.way_out
    with pytest.raises(NothingToIngest, match="does not exist"):
        read_in(store, tmp_path / "nowhere")


def test_each_passage_keeps_its_vector_though_the_longest_come_first(store: Store, tmp_path: Path) -> None:
    lengths = [100 - number for number in range(70)]
    sections = [f"# {n}\n\nSection {n} says this. {'word ' * length}" for n, length in enumerate(lengths)]
    (tmp_path / "long.md").write_text("\n\n".join(sections))
    embedder = Counting()
    read_in(store, tmp_path / "long.md", embedder=embedder)
    assert len(embedder.texts) == 70
    assert len(embedder.texts[0]) > len(embedder.texts[-1])
    library = Library(store)
    (document,) = library.documents("c")
    passages = library.document_passages(document.id)
    ids, vectors = library.collection_vectors("c", embedder.name)
    texts = {p.id: indexing.passage_text(document.title, [p.section], p.text) for p in passages}
    np.testing.assert_allclose(
        vectors, embedder.embed_passages([texts[n] for n in ids.tolist()]), atol=1e-6
    )


def test_what_a_document_repeats_is_embedded_once(store: Store, tmp_path: Path) -> None:
    (tmp_path / "line.txt").write_text("The same words once more. " * 400)
    embedder = Counting()
    events = read_in(store, tmp_path / "line.txt", embedder=embedder)
    (done,) = (event for event in events if isinstance(event, FileDone))
    assert len(embedder.texts) == len(set(embedder.texts)) < done.chunks
    assert Library(store).embedded(embedder.name) == (done.chunks, done.chunks)


def test_cancelling_keeps_what_is_read_and_removes_nothing(store: Store, folder: Path) -> None:
    def cancelled() -> None:
        cancel = threading.Event()
        stream = ingest([folder], collection="c", store=store, embedder=HashEmbedder(), cancel=cancel)
        next(event for event in stream if isinstance(event, FileDone))
        cancel.set()
        with pytest.raises(GenerationCancelled):
            list(stream)

    cancelled()
    assert len(names(store)) == 1
    read_in(store, folder)
    (folder / "c.csv").unlink()
    cancelled()
    assert len(names(store)) == 3


def test_a_language_that_the_embedder_does_not_know_is_told_once(store: Store, tmp_path: Path) -> None:
    class English(HashEmbedder):
        """Goes by the name of a model for English."""

        name = "bge-small-en"

    german = "Die Mitgliederversammlung beschließt über die Beiträge und über die Satzung des Vereins."
    names = "Bad Erlenbach, 23. August 2024. Anwesend: Jürgen Pfannkuch, Solveig Marsh, Waltraud Berg"
    decided = (
        "Die Vereine vereinbaren einen Austausch von Saatgut. Der nächste Besuch findet im Juni statt."
    )
    minutes = f"{names}. {decided}"
    english = "The members decide at their yearly meeting how much everybody has to pay from then on."
    for name, text in (("a.md", german), ("b.md", english), ("c.md", minutes)):
        (tmp_path / name).write_text(f"# Note\n\n{text}\n")
    (tmp_path / "d.csv").write_text("1,2\n3,4\n")

    def told(into: Store, embedder: HashEmbedder) -> list[IngestEvent]:
        events = read_in(into, tmp_path, embedder=embedder)
        return [event for event in events if isinstance(event, LanguagesUnknown)]

    assert told(store, English()) == [LanguagesUnknown({"German": ["a.md", "c.md"]}, "bge-small-en")]
    assert told(store, English()) == [], "nothing new was read"
    assert told(Store(tmp_path / "other.duckdb"), HashEmbedder()) == [], "it may know any"


class _Failing(HashEmbedder):
    """Cannot embed passages of Beta, and, if ``broken``, nothing else either."""

    def __init__(self, error: BaseException, *, broken: bool = False) -> None:
        super().__init__()
        self._error = error
        self._broken = broken

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if any("Beta" in text for text in texts):
            raise self._error
        return super().embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        if self._broken:
            raise self._error
        return super().embed_query(text)


def test_a_file_not_embedded_fails_alone_and_what_was_there_stays(store: Store, folder: Path) -> None:
    read_in(store, folder / "inner")
    (folder / "inner" / "b.txt").write_text("Beta is no longer the second letter.\n")
    (folder / "z.txt").write_text("Zeta is the sixth letter.\n")
    error = ModelError("A vector is not a number.", "Report this.")
    events = read_in(store, folder, embedder=_Failing(error))
    assert [(e.name, e.error) for e in events if isinstance(e, FileFailed)] == [("inner/b.txt", error)]
    assert outcomes(events) == {"a.md": "added", "c.csv": "added", "z.txt": "added"}
    with pytest.raises(KeyboardInterrupt):  # a crash
        read_in(store, folder, embedder=_Failing(KeyboardInterrupt()))
    assert "Beta is the second letter." in texts(store)


@pytest.mark.parametrize(
    "embedder",
    [
        _Failing(ModelMissing("There is no embedding model.")),
        _Failing(ModelUnreachable("The server does not answer.")),
        _Failing(ModelError("The model could not be loaded."), broken=True),
    ],
)
def test_an_embedder_that_always_fails_stops_it_all(store: Store, folder: Path, embedder: _Failing) -> None:
    with pytest.raises(ModelError):
        read_in(store, folder, embedder=embedder)


def test_a_busy_store_stops_it_all(store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Library, "put_document", Mock(side_effect=StoreBusy("It is held.")))
    with pytest.raises(StoreBusy):
        read_in(store, folder)


def _page(data: bytes, media_type: str = "text/html", charset: str = "") -> Callable[[str], Fetched]:
    return lambda url: Fetched(f"{url}?moved", media_type, charset, data)


def _read_page(store: Store, fetch: Callable[[str], Fetched], *urls: str) -> list[IngestEvent]:
    return read_in(store, addresses=urls, fetch=fetch)


def test_an_address_is_read_whole_as_a_file_would_be(store: Store, tmp_path: Path) -> None:
    url = "https://www.sec.gov/Archives/tlv-20241231.htm"
    (tmp_path / "tlv-20241231.htm").write_text(FILING)
    fetch = _page(FILING.encode())
    assert outcomes(_read_page(store, fetch, url, url)) == {url.removeprefix("https://"): "added"}
    (page,) = Library(store).documents("c")
    read_in(store, tmp_path / "tlv-20241231.htm")
    file = stored(store)["tlv-20241231.htm"]
    assert (page.source, page.sha256, page.bytes) == (url, file.sha256, file.bytes)
    assert (page.title, page.date, page.coverage) == (file.title, "2024-12-31", file.coverage)
    library = Library(store)
    assert [p.text for p in library.document_passages(page.id)] == [
        p.text for p in library.document_passages(file.id)
    ]


def test_a_page_that_did_not_change_is_not_stored_again(store: Store) -> None:
    url = "https://example.org/notes/"
    text = b"Beta is the second letter. \xc4gypten had others."
    _read_page(store, _page(text, "text/plain", "iso-8859-1"), url)
    (before,) = Library(store).documents("c")
    assert before.date == now().date().isoformat(), "it gives itself none, so the day it was fetched"
    assert "Ägypten" in Library(store).document_passages(before.id)[0].text
    again = _read_page(store, _page(text, "text/plain", "iso-8859-1"), url)
    assert outcomes(again) == {"example.org/notes": "unchanged"}
    (after,) = Library(store).documents("c")
    assert replace(after, ingested=before.ingested) == before
    assert set(outcomes(_read_page(store, _page(b"# Gamma", "text/markdown"), url)).values()) == {"updated"}


def test_a_page_that_fails_fails_alone(store: Store, folder: Path) -> None:
    def fetch(url: str) -> Fetched:
        if "gone" in url:
            raise PageFailed(f"{url} answers 404.", "Check the address.")
        return Fetched(url, "image/png", "", b"\x89PNG")

    urls = ("https://example.org/gone", "https://example.org/picture")
    events = read_in(store, folder, addresses=urls, fetch=fetch)
    assert [e.source for e in events if isinstance(e, FileFailed)] == list(urls)
    assert len(outcomes(events)) == 3


# --- files inside files: documents of their own, gone with what they lay in ---------------------------


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
def outer(tmp_path: Path) -> Path:
    made = tmp_path / "outer"
    made.mkdir()
    return made


def test_an_attachment_is_a_document_of_its_own(store: Store, outer: Path) -> None:
    files = ("bill.md", b"The bill is 90 euros."), ("NOTES", b"Paid."), ("film.mp4", b"\x00\x01")
    (outer / "a.eml").write_bytes(_mail("Crane", *files))
    events = read_in(store, outer)
    assert outcomes(events) == {"a.eml/bill.md": "added", "a.eml/NOTES": "added", "a.eml": "added"}
    (unread,) = [event for event in events if isinstance(event, FilesUnread)]
    assert [*unread.names.values()] == [["a.eml/film.mp4"]]
    mail = stored(store)["a.eml"]
    assert (mail.author, mail.date, mail.title) == ("Ada Holm <ada@ulm.example>", "2024-03-05", "Crane")
    assert outcomes(read_in(store, outer)) == {"a.eml": "unchanged"}


def test_what_is_no_longer_inside_goes_and_what_is_stays(store: Store, outer: Path) -> None:
    path = outer / "a.zip"
    _zipped(path, {"in/one.md": b"One is here.", "two.md": b"Two is here."})
    read_in(store, outer)
    assert names(store) == {"a.zip", "a.zip/in/one.md", "a.zip/two.md"}
    _zipped(path, {"two.md": b"Two is here."})
    assert outcomes(read_in(store, path)) == {
        "a.zip/in/one.md": "removed",
        "a.zip/two.md": "unchanged",
        "a.zip": "updated",
    }
    path.unlink()
    (outer / "b.md").write_text("Something else.")
    read_in(store, outer)
    assert names(store) == {"b.md"}


def test_files_lie_in_files_that_lie_in_files_but_not_too_deep(store: Store, outer: Path) -> None:
    inner = b"Deep down."
    name = "deep.md"
    for level in range(5):
        inner, name = _zipped(outer / "level.zip", {name: inner}), f"{level}.zip"
    events = read_in(store, outer)
    (failed,) = [event for event in events if isinstance(event, FileFailed)]
    assert "too deep" in failed.error.message
    assert len(names(store)) == 5


def test_a_file_inside_that_fails_is_named_and_stops_no_other(store: Store, outer: Path) -> None:
    files = {"bad.pdf": b"%PDF-1.7 junk", "turned.md": b"Turned", "TURNED": b"Turned", "good.md": b"Good"}
    path = outer / "a.zip"
    path.write_bytes(_zipped(path, files, zipfile.ZIP_STORED).replace(b"Turned", b"turned"))
    events = read_in(store, outer)
    failed = ["a.zip/bad.pdf", "a.zip/turned.md", "a.zip/TURNED"]
    assert [event.name for event in events if isinstance(event, FileFailed)] == failed
    assert names(store) == {"a.zip", "a.zip/good.md"}
    assert "a.zip/bad.pdf" in stored(store)["a.zip"].notices[0]


def test_files_of_one_name_are_told_apart(store: Store, outer: Path) -> None:
    (outer / "m.eml").write_bytes(_mail("Two", ("../a.md", b"First."), ("../a.md", b"Second.")))
    read_in(store, outer)
    assert names(store) == {"m.eml", "m.eml/a.md", "m.eml/a (2).md"}
