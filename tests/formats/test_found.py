"""Every kind of file, made by other programs: what is planted in it is found by one search."""

from __future__ import annotations

import pytest

from agent.documents.ingest import FileDone, FileFailed, IngestEvent, ScansFound, ingest
from agent.retrieval.recall import Recall
from models.ocr import RapidOcr
from tests.formats import ENDINGS, FILES, SCANS, facts
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Document, Scope
from traces.store import Store


def _documents(store: Store) -> dict[str, Document]:
    return {document.name: document for document in Library(store).documents()}


def _assert_found(store: Store, ending: str, files: int = 2) -> None:
    recall = Recall(Library(store), HashEmbedder())
    for place, keeper, code in facts(ending)[:files]:
        for query, fact in ((f"{place} keeper", keeper), (f"{place} lamp code", code)):
            texts = [hit.passage.text for hit in recall.search(query, "keyword", [Scope()], 3)]
            assert any(fact in text for text in texts), (ending, query, texts)


@pytest.mark.parametrize("ending", [ending for ending in ENDINGS if ending not in SCANS])
def test_what_is_planted_is_found(read: tuple[Store, list[IngestEvent]], ending: str) -> None:
    _assert_found(read[0], ending)


def test_all_of_every_file_is_read(read: tuple[Store, list[IngestEvent]]) -> None:
    assert not [event for event in read[1] if isinstance(event, FileFailed)]
    assert {
        event.name for event in read[1] if isinstance(event, FileDone) and event.coverage < 0.97
    } == set()


@pytest.mark.parametrize("ending", ["eml", "msg"])
def test_a_mail_says_who_wrote_it_and_when(read: tuple[Store, list[IngestEvent]], ending: str) -> None:
    documents = _documents(read[0])
    place, keeper, _ = facts(ending)[0]
    mail = documents[f"1.{ending}"]
    assert keeper in mail.author
    assert (mail.date, mail.title) == ("2024-03-05", f"The lamp of {place}")
    assert f"1.{ending}/lamps-{place}.csv" in documents


def test_each_message_of_a_mailbox_is_a_document(read: tuple[Store, list[IngestEvent]]) -> None:
    place, _, _ = facts("mbox")[0]
    mail = f"1.mbox/2024-03-05 The lamp of {place}.eml"
    assert {mail, f"{mail}/lamps-{place}.csv", "1.mbox/Tides.eml"} <= set(_documents(read[0]))


@pytest.mark.model
def test_what_is_planted_in_scans_is_found(store: Store) -> None:
    endings = ("jpg", "tiff", "scan.pdf")  # colours, black and white, a page of a PDF
    paths = [FILES / f"1.{ending}" for ending in endings]
    events = list(
        ingest(paths, collection="c", store=store, embedder=HashEmbedder(), recogniser=RapidOcr())
    )
    assert not [event for event in events if isinstance(event, FileFailed)]
    assert [(event.documents, event.pages) for event in events if isinstance(event, ScansFound)] == [(3, 3)]
    for ending in endings:
        _assert_found(store, ending, files=1)
