"""What was read: upsert, removal, exact search under filters, one embedder per library."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.agent.made import document
from traces.library import Library
from traces.records import Chunk, NewDocument, Scope, UnknownCollection, UnknownDocument
from traces.store import Store


def _document(source: str, texts: list[str], collection: str = "c", section: str = "") -> NewDocument:
    chunks = tuple(
        Chunk(i, "text", (section, f"part {i}") if section else (), None, text, tuple(text.split()))
        for i, text in enumerate(texts)
    )
    return document(source, texts, collection, source=source, notices=("seen",), chunks=chunks)


def _unit(*rows: list[float]) -> npt.NDArray[np.float32]:
    matrix = np.array(rows, dtype=np.float32)
    unit: npt.NDArray[np.float32] = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return unit


@pytest.fixture
def library(store: Store) -> Library:
    return Library(store)


def test_a_failure_while_storing_keeps_the_old_document(library: Library) -> None:
    library.put_document(_document("a", ["one"]), _unit([1, 0]), "e")
    with pytest.raises(Exception, match=r"[Ll]ength|size|shape"):
        library.put_document(_document("a", ["two", "three"]), _unit([1, 0]), "e")
    (stored,) = library.documents()
    assert [p.text for p in library.document_passages(stored.id)] == ["one"]


def test_chunk_ids_by_scope(library: Library) -> None:
    library.put_document(_document("a", ["x", "y"], section="Item 1"), _unit([1, 0], [0.9, 0.1]), "e")
    library.put_document(_document("b", ["z"], "other"), _unit([1, 0.01]), "e")

    def texts(scope: Scope) -> list[str]:
        return [p.text for p in library.passages(library.chunk_ids(scope).tolist())]

    assert texts(Scope()) == ["x", "y", "z"]
    assert texts(Scope(collections=("other",))) == ["z"]
    assert texts(Scope(sections=("Item 1 › part 1",))) == ["y"]
    assert texts(Scope(sections=("Item 1",))) == ["x", "y"]
    assert texts(Scope(sections=("Item",))) == []


def test_a_collection_that_is_made_anew_is_of_another_generation(library: Library) -> None:
    library.put_document(_document("a", ["x"]), _unit([1, 0]), "e")
    before = library.generations(["c"])
    library.remove_collection("c")
    assert library.generations([]) == {}
    library.put_document(_document("a", ["y"]), _unit([0, 1]), "e")
    assert library.generations(["c"])["c"][1] == before["c"][1]
    assert library.generations(["c"]) != before


def test_a_library_goes_over_to_another_embedder_and_mixes_no_vectors(library: Library) -> None:
    library.put_document(_document("a", ["one", "two"], section="Item 1"), _unit([1, 0], [0, 1]), "e")
    before = library.vector_generations([])
    assert library.embedded("e") == (2, 2)
    assert library.embedded("other") == (0, 2)
    assert len(library.collection_vectors("c", "other")[0]) == 0
    library.put_document(_document("b", ["three"]), _unit([1, 0, 0]), "other")
    assert library.embedded("e") == (0, 3)
    assert library.embedded("other") == (1, 3)
    ids, vectors = library.collection_vectors("c", "other")
    assert (len(ids), vectors.shape) == (1, (1, 3))
    assert library.vector_generations([]) != before


def test_stored_passages_are_given_vectors_later(library: Library) -> None:
    library.put_document(_document("a", ["one", "two"], section="Item 1"), _unit([1, 0], [0, 1]), "e")
    (first,) = library.unembedded("other", 1)
    assert (first.text, first.headings) == ("one", ("Item 1", "part 0"))
    generation = library.generations([])
    assert not library.put_vectors([first.id], _unit([1, 0, 0]), "other", first=False)
    assert library.put_vectors([first.id, 999], _unit([1, 0, 0], [0, 0, 1]), "other", first=True)
    assert library.embedded("other") == (1, 2)
    (second,) = library.unembedded("other", 9)
    assert library.put_vectors([first.id, second.id], _unit([0, 1, 0], [0, 0, 1]), "other", first=False)
    ids, vectors = library.collection_vectors("c", "other")
    assert ids.tolist() == [first.id, second.id]
    assert vectors.tolist() == [[1, 0, 0], [0, 0, 1]], "a passage keeps the vector that it has"
    assert library.unembedded("other", 9) == []
    assert library.generations([]) == generation, "the words have not changed"


def test_removing(library: Library) -> None:
    library.put_document(_document("a", ["one"]), _unit([1, 0]), "e")
    library.put_document(_document("b", ["two"]), _unit([0, 1]), "e")
    library.remove_document(library.documents()[0].id)
    assert [d.name for d in library.documents()] == ["b"]
    library.remove_collection("c")
    assert library.collections() == []
    library.describe_collection("empty", "has no documents")
    library.remove_collection("empty")
    library.put_document(_document("a", ["one"], "reports"), _unit([1, 0]), "e")
    with pytest.raises(UnknownCollection, match="reports") as caught:
        library.remove_collection("c")
    assert "--collection" in caught.value.way_out
    with pytest.raises(UnknownDocument):
        library.remove_document(12345)


def test_passages_keep_the_order_asked_for_and_skip_what_is_gone(library: Library) -> None:
    library.put_document(_document("a", ["one", "two"]), _unit([1, 0], [0, 1]), "e")
    document = library.documents()[0]
    first, second = [p.id for p in library.document_passages(document.id)]
    assert (library.document_of(second), library.document_of(99)) == (document, None)
    assert [p.id for p in library.passages([second, 999, first])] == [second, first]


def test_a_collection_without_a_description_is_described_by_its_titles(library: Library) -> None:
    for name in "abcd":
        library.put_document(_document(name, [name]), _unit([1, 0]), "e")
    titles = [document.title for document in library.documents()]
    assert library.collections()[0].contents == f"4 documents: {'; '.join(titles[:3])}"
    library.describe_collection("c", "what it holds")
    library.describe_collection("c", "")
    assert library.collections()[0].contents == "what it holds"
