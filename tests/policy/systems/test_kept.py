"""Trajectories on disk come back as they were, and a file that holds anything else is told of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from policy.lines import BadLines
from policy.systems.kept import Trajectories
from tests.policy.systems.trajectories import long, short


def test_what_was_added_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "work" / "trajectories.jsonl"
    kept = Trajectories(file)
    assert len(kept) == 0
    kept.add(long())
    kept.add(short())
    again = Trajectories(file)
    assert again.all() == [long(), short()]
    assert again.get(("toy", "long", "small")) is not None
    assert again.get(("toy", "long", "large")) is None
    assert again.all()[0].prefixes["C"].valid == ("CONTINUE", "REVISE", "FINISH")


def test_a_question_that_is_worked_anew_replaces_itself(tmp_path: Path) -> None:
    kept = Trajectories(tmp_path / "t.jsonl")
    kept.add(long())
    newer = replace(long(), text="What now?")
    kept.add(newer)
    assert kept.all() == [newer]
    assert kept.get(newer.key) == newer
    assert Trajectories(tmp_path / "t.jsonl").all() == [newer]


def test_a_last_line_that_was_cut_off_is_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    Trajectories(file).add(long())
    whole = file.read_bytes()
    file.write_bytes(whole + whole[:200])
    kept = Trajectories(file)
    assert kept.all() == [long()]
    kept.add(short())
    assert Trajectories(file).all() == [long(), short()]


@pytest.mark.parametrize(
    "change",
    [
        {"prefixes": []},
        {"prefixes": [{"path": ""}]},
        {"prefixes": 3},
    ],
)
def test_a_damaged_line_is_told_by_its_number(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "t.jsonl"
    Trajectories(file).add(short())
    line = json.loads(file.read_text("utf-8"))
    file.write_text(file.read_text("utf-8") + json.dumps({**line, **change}) + "\n", encoding="utf-8")
    with pytest.raises(BadLines, match=r"Line 2 of t\.jsonl"):
        Trajectories(file)


@pytest.mark.parametrize(
    "change", [{"valid": ["STOP"]}, {"valid": []}, {"rules": ""}, {"measures": {"f1": None}}]
)
def test_a_damaged_prefix_is_told_too(tmp_path: Path, change: dict[str, object]) -> None:
    file = tmp_path / "t.jsonl"
    Trajectories(file).add(short())
    line = json.loads(file.read_text("utf-8"))
    line["prefixes"][0].update(change)
    file.write_text(json.dumps(line) + "\n", encoding="utf-8")
    with pytest.raises(BadLines, match="Line 1"):
        Trajectories(file)


def test_what_is_no_json_is_told(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("nothing\n[]\n", encoding="utf-8")
    with pytest.raises(BadLines):
        Trajectories(file)
