"""The catalogue is data; these tests keep it free of slips."""

from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import urlsplit

import pytest

from models.catalogue import ALL_MINILM_L6_V2, CATALOGUE, ModelEntry, entry
from models.protocols import ModelMissing


@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.name)
def test_an_entry_is_consistent(known: ModelEntry) -> None:
    assert known.name == known.name.lower()
    assert len({file.sha256 for file in known.files}) == len(known.files)
    for file in known.files:
        assert file.url or file.pieces, "it has a source"
        assert not file.pieces or sum(piece.size for piece in file.pieces) == file.size
        assert len(file.sha256) == 64
        assert set(file.sha256) <= set("0123456789abcdef")
        path, address = PurePosixPath(file.path), urlsplit(file.url)
        assert not path.is_absolute()
        assert ".." not in path.parts
        assert not file.url or (address.scheme, address.netloc) == ("https", "huggingface.co")
        assert not file.url or address.path.endswith(path.suffix)


def test_entries_are_found_by_name_and_an_unknown_name_lists_the_known_ones() -> None:
    assert len({known.name for known in CATALOGUE}) == len(CATALOGUE)
    assert entry(" All-MiniLM-L6-v2 ") is ALL_MINILM_L6_V2
    with pytest.raises(ModelMissing, match="gpt-4") as caught:
        entry("gpt-4")
    assert all(known.name in caught.value.way_out for known in CATALOGUE)
