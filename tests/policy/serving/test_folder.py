"""Policy folders: written whole or not at all, and refused with a sentence where anything was changed."""

from __future__ import annotations

import json
import math
import os
import pickle
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save_file

from policy.serving.folder import (
    BadPolicy,
    Base,
    CannotWritePolicy,
    Manifest,
    fingerprint,
    open_policy,
    read,
    require_base,
    seal,
)
from tests.policy.made import Preferring, manifest, policy

NAME = "forest-20261121-203000"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return policy(tmp_path)


def _rewritten(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """The manifest as somebody would change it who knows how it is sealed."""
    values = json.loads((folder / "manifest.json").read_text())
    del values["seal"]
    change(values)
    values["seal"] = seal(values)
    (folder / "manifest.json").write_text(json.dumps(values, ensure_ascii=False, indent=2) + "\n")


def test_what_was_written_is_read(folder: Path) -> None:
    found = read(folder)
    assert found.model_copy(update={"files": {}}) == manifest()
    assert "random forest" in (folder / "README.md").read_text()
    assert sorted(p.name for p in folder.iterdir()) == ["README.md", "manifest.json", "said.safetensors"]
    assert [p.name for p in folder.parent.iterdir()] == [NAME], "nothing else is left"


def test_what_is_no_finite_number_is_written_as_nothing(tmp_path: Path) -> None:
    made = policy(
        tmp_path, metrics={"loss": math.nan, "deep": {"most": math.inf, "some": [1.0, -math.inf]}}
    )
    assert read(made).metrics == {"loss": None, "deep": {"most": None, "some": [1.0, None]}}


@pytest.fixture(scope="module")
def to_flip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return policy(tmp_path_factory.mktemp("flipped"))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_one_flipped_bit_anywhere_is_noticed(data: st.DataObject, to_flip: Path) -> None:
    path = data.draw(st.sampled_from(sorted(to_flip.iterdir())))
    whole = path.read_bytes()
    content = bytearray(whole)
    at = data.draw(st.integers(0, len(content) - 1))
    content[at] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        with pytest.raises(BadPolicy):
            read(to_flip)
    finally:
        path.write_bytes(whole)


def test_what_is_pickled_is_never_loaded_under_any_name(tmp_path: Path) -> None:
    def save(folder: Path) -> None:
        (folder / "forest.safetensors").write_bytes(pickle.dumps({"weights": [1.0]}))

    with pytest.raises(BadPolicy, match="cannot be loaded"):
        open_policy(policy(tmp_path, save=save))


def _added(name: str) -> Callable[[Path], None]:
    def add(folder: Path) -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(b"harmless")

    return add


def _linked(folder: Path) -> None:
    (folder / "said.safetensors").rename(folder.parent / "elsewhere.safetensors")
    (folder / "said.safetensors").symlink_to(folder.parent / "elsewhere.safetensors")


def _told(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / "manifest.json").write_text(text)


EXECUTABLE = ("model.pkl", "args.BIN", "deep/x.safetensors", "run.py", "weights")
NO_MANIFEST = ("", "[]", "null", "{", '{"format": 1}', "[" * 100_000, '{"format": NaN}')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (shutil.rmtree, "There is no policy in"),
        *((_added(name), "could run a stranger's code") for name in EXECUTABLE),
        (_added("notes.md"), r"notes\.md in .* is not in its manifest"),
        (_linked, "is a link"),
        *((_told(text), "manifest") for text in NO_MANIFEST),
    ],
)
def test_a_changed_folder_is_refused(folder: Path, change: Callable[[Path], object], said: str) -> None:
    change(folder)
    with pytest.raises(BadPolicy, match=said):
        read(folder)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda m: m.update(state_version=2), "reads states of version 2"),
        (lambda m: m.update(method="magic"), "method"),
        (lambda m: m.update(name="../other"), "name"),
        (lambda m: m.update(name="other"), "is called other"),
        (lambda m: m.update(format=2), "is of format 2"),
        (lambda m: m.update(extra=1), "extra"),
        (lambda m: m.pop("rule"), "rule"),
        (lambda m: m["rule"].update(temperature=0.0), "rule.temperature"),
        (lambda m: m["files"].update({"../../x.safetensors": "a" * 64}), "is missing"),
        (lambda m: m["files"].update({"/etc/passwd": "a" * 64}), "is missing"),
        (lambda m: m["files"].pop("README.md"), "not in its manifest"),
        (lambda m: m.update(files={}), "not in its manifest"),
    ],
)
def test_a_manifest_of_another_kind_is_refused(
    folder: Path, change: Callable[[dict[str, Any]], None], said: str
) -> None:
    _rewritten(folder, change)
    with pytest.raises(BadPolicy, match=said):
        read(folder)


def _base(folder: Path, value: float) -> Path:
    folder.mkdir()
    save_file({"w": np.array([value])}, folder / "model.safetensors")
    return folder


def test_a_base_is_found_and_has_to_be_the_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPTHINK_MODELS", str(tmp_path))
    base, other = _base(tmp_path / "base", 1.0), _base(tmp_path / "other", 2.0)
    (tmp_path / "empty").mkdir()

    def needing(name: str, like: Path = base) -> Manifest:
        return manifest(base=Base(name=name, sha256=fingerprint(like)))

    assert require_base(manifest()) is None
    assert require_base(needing("base")) == require_base(needing(str(base))) == base
    for name in ("all-minilm-l6-v2", "nobodys"):
        with pytest.raises(BadPolicy, match=f"needs {name}, which is not on this machine"):
            require_base(needing(name))
    with pytest.raises(BadPolicy, match="made for another base"):
        require_base(needing("base", other))
    with pytest.raises(BadPolicy, match="cannot be read"):
        require_base(needing("empty"))
    changed = needing("base")
    save_file({"w": np.array([3.0])}, base / "model.safetensors")
    os.utime(base / "model.safetensors", ns=(1, 1))
    with pytest.raises(BadPolicy, match="made for another base"):
        require_base(changed)


def test_a_killed_or_failing_writer_leaves_nothing(tmp_path: Path) -> None:
    def interrupted(folder: Path) -> None:
        Preferring().save(folder)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        policy(tmp_path, save=interrupted)

    def full(folder: Path) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(CannotWritePolicy, match="No space left on device"):
        policy(tmp_path, save=full)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_goes_after_a_day(tmp_path: Path) -> None:
    old, young = tmp_path / ".unfinished.old", tmp_path / ".unfinished.young"
    for left in (old, young):
        (left / NAME).mkdir(parents=True)
    os.utime(old, (time.time() - 90_000,) * 2)
    policy(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == [young.name, NAME]


def test_no_policy_takes_the_place_of_another_or_of_a_file(folder: Path) -> None:
    before = read(folder)
    with pytest.raises(CannotWritePolicy, match="There is a policy called"):
        policy(folder.parent, settings={"seed": 1})
    assert read(folder) == before
    with pytest.raises(CannotWritePolicy, match="cannot be written"):
        policy(folder / "manifest.json")


def test_a_name_is_a_folder(tmp_path: Path) -> None:
    for name in ("", "..", "a/b", "A", ".hidden", "-x", "x" * 65, "a b"):
        with pytest.raises(ValueError, match="name"):
            manifest(name)
