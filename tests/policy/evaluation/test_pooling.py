"""A question set's paragraphs become a library, which follows the file."""

from __future__ import annotations

from pathlib import Path

from policy.collecting.questions import Paragraph, QuestionSet
from policy.evaluation.libraries import RememberingEmbedder, pool
from tests.scripted import HashEmbedder
from traces.library import Library
from traces.store import Store


def _pooled(store: Store, *titles: str) -> tuple[list[tuple[int, int]], dict[str, str]]:
    """What was told, and the library's titles by their positions."""
    paragraphs = tuple(Paragraph(title, f"{title} lies on a river.") for title in titles)
    told = list(pool(QuestionSet("some_dev", paragraphs, ()), store, RememberingEmbedder(HashEmbedder())))
    return told, {document.name: document.title for document in Library(store).documents("some_dev")}


def test_paragraphs_are_read_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "deepthink.duckdb")
    assert _pooled(store, "Avelin", "Kestrel") == ([(2, 2)], {"0": "Avelin", "1": "Kestrel"})
    assert _pooled(store, "Avelin", "Kestrel")[0] == []
    longer = {"0": "Avelin", "1": "Kestrel", "2": "Marrow"}
    assert _pooled(store, "Avelin", "Kestrel", "Marrow") == ([(3, 3)], longer)


def test_what_another_file_of_that_name_left_is_not_searched(tmp_path: Path) -> None:
    store = Store(tmp_path / "deepthink.duckdb")
    _pooled(store, "Avelin", "Kestrel", "Marrow")
    assert _pooled(store, "Avelin", "Oder") == ([(2, 2)], {"0": "Avelin", "1": "Oder"})
