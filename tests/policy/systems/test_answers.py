"""Answers in words on disk: read again, the newest counts, a damaged line is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from policy.systems.answers import Answer, BadAnswers, keep, kept

ANSWER = Answer("toy", "1", "shallow", "m", "Who?", ("Ann",), "It was Ann [1].", ("Ann. She did it.",))


def test_answers_are_read_as_they_were_kept(tmp_path: Path) -> None:
    file = tmp_path / "work" / "answers.jsonl"
    assert kept(file) == []
    later = replace(ANSWER, text="Ann did.")
    other = replace(ANSWER, system="closed-book", gold=(), passages=())
    for answer in (ANSWER, other, later):
        keep(file, answer)
    assert kept(file) == [later, other]


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    keep(file, ANSWER)
    with file.open("a") as out:
        out.write('{"questions": "toy"}\n')
    with pytest.raises(BadAnswers, match=r"Line 2 of answers\.jsonl"):
        kept(file)
