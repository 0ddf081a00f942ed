"""What is opened: of rerankers the one named, a better one on disk, or the boxed; no wrong model file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.boxed_reranker import BoxedReranker
from models.cross_encoder import CrossEncoderReranker
from models.fetch_errors import ChecksumMismatch
from models.protocols import ModelMissing
from tests.models.carriers import CONTENT, tiny_entry
from tests.tui.conftest import Run
from tui.assemble import BOXED_RERANKER, NO_RERANKER, chat_file, open_reranker, reranker_in_use
from tui.settings import Settings, load


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A models folder where the base of the boxed reranker seems to be."""
    models = tmp_path / "models"
    models.mkdir()
    monkeypatch.setenv("DEEPTHINK_MODELS", str(models))
    monkeypatch.setattr("models.boxed_reranker.base_on_disk", lambda: models / "base")
    return models


def cross_encoder(models: Path, name: str) -> Path:
    folder = models / name
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    return folder


def test_the_boxed_one_is_there_whenever_its_base_is(base: Path) -> None:
    reranker = open_reranker(Settings())
    assert isinstance(reranker, BoxedReranker)
    assert reranker.name == reranker_in_use(Settings()) == BOXED_RERANKER
    assert not reranker.ready(), "nothing is loaded before it is used"


def test_a_better_one_on_disk_goes_first(base: Path) -> None:
    folder = cross_encoder(base, "ms-marco-MiniLM-L-6-v2")
    reranker = open_reranker(Settings())
    assert isinstance(reranker, CrossEncoderReranker)
    assert reranker.name == folder.name
    assert reranker_in_use(Settings()) == str(folder)
    assert isinstance(open_reranker(Settings(reader=BOXED_RERANKER)), BoxedReranker)


def test_the_one_that_is_named_goes_before_all(base: Path, tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path, "mine")
    named = Settings(reader=str(folder))
    reranker = open_reranker(named)
    assert reranker is not None
    assert (reranker.name, reranker_in_use(named)) == ("mine", str(folder))
    none = Settings(reader=NO_RERANKER)
    assert (open_reranker(none), reranker_in_use(none)) == (None, "")


def test_without_the_base_there_is_none_and_only_a_name_is_an_error(no_models: None) -> None:
    assert open_reranker(Settings()) is None
    assert reranker_in_use(Settings()) == ""
    with pytest.raises(ModelMissing, match="needs the weights of all-minilm-l6-v2"):
        open_reranker(Settings(reader=BOXED_RERANKER))


def test_models_and_doctor_name_it(base: Path, deepthink: Run) -> None:
    assert f"in use as reranker: {BOXED_RERANKER}" in deepthink("models").out
    report = json.loads(deepthink("doctor", "--json").out)
    (row,) = (row for row in report["findings"] if row["name"] == "reranker")
    assert (row["state"], row["detail"]) == ("ok", BOXED_RERANKER)


def test_it_can_be_chosen_by_name(base: Path, deepthink: Run) -> None:
    assert deepthink("models", "use", NO_RERANKER, "--as", "reranker").out == "reranker = none\n"
    assert deepthink("models", "use", BOXED_RERANKER).out == f"reranker = {BOXED_RERANKER}\n"
    assert load().reranker == BOXED_RERANKER


def test_a_catalogue_model_is_opened_only_if_its_file_is_the_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "models" / "tiny-0.1" / "tiny.gguf"
    place.parent.mkdir(parents=True)
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr("tui.assemble.entry", lambda _name: tiny_entry())
    place.write_bytes(bytes(len(CONTENT)))
    with pytest.raises(ChecksumMismatch):
        chat_file("tiny-0.1")
    place.write_bytes(CONTENT)
    assert chat_file("tiny-0.1") == (place, "tiny-0.1")
