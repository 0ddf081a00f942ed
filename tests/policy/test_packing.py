"""The box is made anew, and its first policy decides."""

from __future__ import annotations

from pathlib import Path

import pytest

from policy.folder import BadPolicy
from policy.packing import pack
from policy.registry import Registry
from tests.policy.made import policy


def test_a_box_is_packed_anew(tmp_path: Path) -> None:
    trained, box = tmp_path / "trained", tmp_path / "box"
    for name in ("forest", "other"):
        policy(trained, name)
    policy(box, "boxed-older")

    pack(trained, box, ["other", "forest"])

    listed = Registry(tmp_path / "own", box).listed()
    assert [(one.name, one.active) for one in listed] == [("boxed-forest", False), ("boxed-other", True)]


def test_a_box_stays_as_it_is_where_a_policy_is_not_whole(tmp_path: Path) -> None:
    policy(tmp_path / "box", "boxed-older")
    with pytest.raises(BadPolicy):
        pack(tmp_path / "trained", tmp_path / "box", ["forest"])
    assert [one.name for one in Registry(tmp_path / "own", tmp_path / "box").listed()] == ["boxed-older"]
