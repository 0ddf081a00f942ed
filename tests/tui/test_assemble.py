"""What is opened: the reranker that is named or none, and no wrong model file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from models.encoders import CrossEncoderReranker, OnnxReranker
from models.fetch.files import ChecksumMismatch
from models.protocols import Loadable, ModelMissing
from tests.models.encoders.tiny_onnx import write_reranker
from tests.models.fetch.carriers import CONTENT, tiny_entry
from tests.tui.conftest import Run
from tui.assemble import NO_RERANKER, chat_file, open_reader, open_reranker
from tui.settings.settings import Settings, load


def test_the_reranker_that_is_named_is_opened_and_not_loaded(tmp_path: Path) -> None:
    torch = tmp_path / "torch"
    torch.mkdir()
    (torch / "config.json").write_text(json.dumps({"architectures": ["BertForSequenceClassification"]}))
    write_reranker(tmp_path / "onnx")
    for folder, kind in ((torch, CrossEncoderReranker), (tmp_path / "onnx", OnnxReranker)):
        reranker = open_reranker(Settings(reranker=str(folder)))
        assert isinstance(reranker, kind)
        assert reranker.name == folder.name
        assert isinstance(reranker, Loadable)
    assert open_reranker(Settings(reranker=NO_RERANKER)) is None


def test_one_that_is_missing_is_told_with_how_to_fetch_it(no_models: None, deepthink: Run) -> None:
    with pytest.raises(ModelMissing) as caught:
        open_reader(Settings(reranker="ms-marco-minilm-l12"))
    assert "`deepthink models pull ms-marco-minilm-l12`" in caught.value.way_out


def test_none_can_be_chosen_and_a_folder_of_unknown_kind(tmp_path: Path, deepthink: Run) -> None:
    assert deepthink("models", "use", NO_RERANKER, "--as", "reranker").out == "reranker = none\n"
    write_reranker(tmp_path)
    assert "Add --as embedder or --as reranker" in deepthink("models", "use", str(tmp_path)).err
    assert deepthink("models", "use", str(tmp_path), "--as", "reranker").code == 0
    assert load().reranker == str(tmp_path)


def test_a_catalogue_model_is_opened_only_if_its_file_is_the_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "models" / "tiny-0.1" / "tiny.gguf"
    place.parent.mkdir(parents=True)
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path / "models"))
    monkeypatch.setattr("tui.assemble.entry", lambda *_named: tiny_entry())
    place.write_bytes(bytes(len(CONTENT)))
    with pytest.raises(ChecksumMismatch):
        chat_file("tiny-0.1")
    place.write_bytes(CONTENT)
    assert chat_file("tiny-0.1") == (place, "tiny-0.1")
