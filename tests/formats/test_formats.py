"""Every kind of file, made by other programs: what is planted in it is found, and the right file first."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from agent.documents.indexing import embed_library
from agent.documents.ingest import FileDone, FileFailed, IngestEvent, ScansFound, ingest
from agent.retrieval.filters import BadFilter, as_written, filters_of, taken_from
from agent.retrieval.recall import Recall
from models.ocr import RapidOcr
from tests.formats import ENDINGS, FILES, SCANS, facts
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.records import Document, Filters, Scope
from traces.store import Store
from tui.assemble import open_embedder
from tui.settings.settings import Settings


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, list[IngestEvent]]:
    """The store that all files but scans were read into, and the events of reading them."""
    store = Store(tmp_path_factory.mktemp("read") / "store.duckdb")
    paths = [path for path in FILES.iterdir() if not path.name.endswith(SCANS)]
    return store, list(ingest(paths, collection="c", store=store, embedder=HashEmbedder()))


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


_RIGHT = 18  # of the twenty
_QUESTIONS = (
    ("What did Yusuf write about the lamp? from:yusuf type:mail", "1.eml"),
    ("What did Ingrid write in March 2024? from:ingrid after:2024-03 before:2024-04 type:mail", "2.eml"),
    ("Who keeps the light? from:ottilie type:mail", "1.mbox/2024-03-05 The lamp of Corinford.eml"),
    ("from:Benedikt type:mail Who keeps the light?", "2.mbox/2024-03-05 The lamp of Dunmerford.eml"),
    ("Who is the keeper now? from:keeper@eskalford.example type:mail", "1.msg"),
    ('What did Sigrid Vance send? from:"Sigrid Vance" type:msg', "2.msg"),
    ("Which lamp codes are in Marisol's list? from:marisol type:csv", "1.msg/lamps-Eskalford.csv"),
    ("Lamp codes on the list of Yusuf? from:yusuf type:spreadsheet", "1.eml/lamps-Ardenford.csv"),
    (
        "Which list came in March? from:ingrid after:2024-03-01 before:2024-04 type:csv",
        "2.eml/lamps-Brackford.csv",
    ),
    ("What was sent about Brackford? after:2024-03-05 before:2024-03-06 type:mail", "2.eml"),
    ("When is the tide high? from:other@example", "1.mbox/Tides.eml"),
    ("Which keeper is in the Excel sheet for Dunmermouth? type:xlsx", "2.xlsx"),
    ("Who keeps Jarrowmouth, by the slides? type:slides", "2.pptx"),
    ("What does the book say of the lamp of Glentawick? type:book", "1.epub"),
    ("Which code has the lamp of Jarrowness? type:js", "2.js"),
    ("Which code has the lamp in the archive? type:text folder:1.zip", "1.zip/Glentaford.md"),
    ("What did Yusuf Vance write to the Harbour Office?", "1.eml"),
    ("Which message did Sigrid Vance send to the Harbour Office?", "2.msg"),
    ("Which list of lamp codes did Ingrid Vance of Brackford send?", "2.eml/lamps-Brackford.csv"),
    ("What was sent by keeper@Corinford.example?", "1.mbox/2024-03-05 The lamp of Corinford.eml"),
)


@pytest.mark.model
def test_the_right_file_comes_first(read: tuple[Store, list[IngestEvent]], tmp_path: Path) -> None:
    embedder = open_embedder(Settings())
    library = Library(Store(Path(shutil.copy(read[0].path, tmp_path))))
    for _ in embed_library(library, embedder):
        pass
    recall = Recall(library, embedder)
    found: dict[str, tuple[str, str]] = {}
    for asked, right in _QUESTIONS:
        question, written = taken_from(asked)
        hits = recall.search(question, "hybrid", [Scope(filters=filters_of(written))], 1)
        found[asked] = (hits[0].passage.document if hits else "", right)
    wrong = {asked: names for asked, names in found.items() if names[0] != names[1]}
    assert len(_QUESTIONS) - len(wrong) >= _RIGHT, wrong


def test_a_filter_leaves_nothing_else(read: tuple[Store, list[IngestEvent]]) -> None:
    library = Library(read[0])

    def held(**facts: object) -> set[str]:
        within = library.chunk_ids(Scope(filters=Filters(**facts)))  # type: ignore[arg-type]
        return {passage.document for passage in library.passages(within.tolist())}

    assert held(people=("SIGRÍD",)) == {"2.msg", "2.msg/lamps-Fernowford.csv"}
    assert held(kinds=(".rtf",)) == {"1.rtf", "2.rtf"}
    dated = held(after="2024-03-05", before="2024-03-06")
    assert {name for name in dated if "/" not in name} == {"1.eml", "2.eml", "1.msg", "2.msg"}
    assert "1.md" in held(after="2025"), "without a date of its own it has that of its file"
    assert held(folders=("files/1.zip",)) == {"1.zip/Glentaford.md"}
    assert held(folders=("1",)) == set()


@pytest.mark.parametrize("written", ["after:yesterday", "before:2024-13", "after:2024-02-30x", "type:film"])
def test_a_filter_that_cannot_be_is_refused(written: str) -> None:
    with pytest.raises(BadFilter):
        filters_of(taken_from(written)[1])


def test_a_filter_without_a_value_is_refused() -> None:
    with pytest.raises(BadFilter):
        filters_of([("from", " ")])


def test_filters_are_told_from_the_question() -> None:
    asked = 'What does it say: from:"Petra Novak" that type:pdf of 10:30 was from: nobody?'
    assert taken_from(asked) == (
        "What does it say: that of 10:30 was from: nobody?",
        [("from", "Petra Novak"), ("type", "pdf")],
    )


def test_filters_are_shown_as_they_are_written() -> None:
    for shown in (
        'from:"Petra Novak" after:2024-03 before:2025',
        "type:mail",
        "type:spreadsheet",
        "type:xlsx folder:letters",
        "type:pdf type:text",
    ):
        assert as_written(filters_of(taken_from(shown)[1])) == [
            f'{name}:"{value}"' if " " in value else f"{name}:{value}"
            for name, value in taken_from(shown)[1]
        ]
