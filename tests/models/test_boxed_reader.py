"""The shipped reader: what its network is given, what is made of its scores, and its files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.boxed_reader import reader as module
from models.boxed_reader.reader import (
    MANIFEST,
    MODEL,
    SHIPPED,
    TOKENIZER,
    BoxedReader,
    Calibration,
    RankedReader,
    Score,
    checked,
    found,
    judgement,
    read_manifest,
    reading,
)
from models.boxed_reader.windows import TOKENS, Window, Windows
from models.protocols import ModelError, Reader, Reading, Span, Support
from tests.scripted import WordReader

PLAIN = Calibration((1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, (0.0, 0.0, 0.0)), (1.0, 0.0, 0.0))
PASSAGE = "Fees › Late payment (2024-01-01)\nUp to 14 days the surcharge is KSh 2,500.75, then 6,000."


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(SHIPPED / TOKENIZER))


@pytest.fixture
def window(tokenizer: Any) -> Window:
    """The only one of `PASSAGE`."""
    [[only]] = Windows(tokenizer).of([("How much?", PASSAGE)])
    return only


def scored(window: Window, passage: str, words: str, height: float = 9.0) -> tuple[Any, Any]:
    """Scores of tokens that stand out where ``words`` are."""
    start, end = np.zeros((2, len(window.ids)), dtype=np.float32)
    first = passage.index(words)
    inside = [n for n, (a, b) in enumerate(window.offsets) if a < first + len(words) and b > first]
    start[window.body + inside[0]] = end[window.body + inside[-1]] = height
    return start, end


def test_an_answer_is_looked_for_below_the_heading(window: Window) -> None:
    first, last = window.offsets[0], window.offsets[-1]
    assert PASSAGE[first[0] : last[1]] == PASSAGE.partition("\n")[2]
    assert len(window.ids) == window.body + len(window.offsets) + 1
    assert window.second < window.body


def test_a_long_passage_is_read_in_windows_that_overlap(tokenizer: Any) -> None:
    passage = "Fees\n" + " ".join(f"word{number}" for number in range(400))
    [windows] = Windows(tokenizer).of([("what", passage)])
    assert len(windows) > 1
    assert all(len(window.ids) <= TOKENS for window in windows)
    heading = windows[0].ids[: windows[0].body]
    for before, after in pairwise(windows):
        assert after.ids[: after.body] == heading
        assert after.offsets[0][0] < before.offsets[-1][1]
    assert windows[-1].offsets[-1][1] == len(passage)


def test_a_passage_without_words_is_read_too(tokenizer: Any) -> None:
    [[window]] = Windows(tokenizer).of([("what", "\n")])
    zeros = np.zeros(len(window.ids), dtype=np.float32)
    assert not found(window, "\n", zeros, zeros).spans


def test_a_number_is_never_cut_and_candidates_do_not_overlap(window: Window) -> None:
    candidates = found(window, PASSAGE, *scored(window, PASSAGE, "500")).spans
    assert PASSAGE[candidates[0].start : candidates[0].end] == "2,500.75"
    assert len(candidates) > 1
    assert sum(one.probability for one in candidates) <= 1
    for one in candidates:
        assert all(one is other or one.end <= other.start or one.start >= other.end for other in candidates)


def test_an_answer_is_not_cut_from_two_cells(tokenizer: Any) -> None:
    passage = "Rents\nBakery: 81 (Area), 17,000 (Rent)\nOptician: 59 (Area), 20,100 (Rent)"
    [[window]] = Windows(tokenizer).of([("What does the optician pay?", passage)])
    start, _ = scored(window, passage, "17,000")
    _, end = scored(window, passage, "20,100")
    told = [passage[one.start : one.end] for one in found(window, passage, start, end).spans]
    assert told
    for words in told:
        assert "\n" not in words
        assert words.count("(") == words.count(")")


def test_not_here_wins_where_cls_is_highest(window: Window) -> None:
    start, end = scored(window, PASSAGE, "6,000", height=1.0)
    start[0] = end[0] = 9.0
    here = found(window, PASSAGE, start, end)
    assert here.margin < 0
    assert here.spans[0].probability < 0.5


def test_of_several_windows_the_surest_counts(window: Window) -> None:
    support = np.zeros(3, dtype=np.float32)
    start, end = scored(window, PASSAGE, "6,000")
    nothing = np.zeros_like(start)
    told = reading(
        PASSAGE,
        [(window, Score(-3.0, nothing, nothing, support)), (window, Score(2.0, start, end, support))],
        PLAIN,
    )
    assert told.probability == pytest.approx(1 / (1 + np.exp(-2.0)))
    assert PASSAGE[told.spans[0].start : told.spans[0].end] == "6,000"
    assert [one.probability for one in told.spans] == sorted(
        (one.probability for one in told.spans), reverse=True
    )


def test_a_second_look_changes_how_likely_a_span_is() -> None:
    first, second, third = Span(0, 3, 0.6), Span(4, 7, 0.5), Span(8, 9, 0.1)
    read = Reading(0.8, (first, second, third))
    judged = {first: Support(0.2, 0.4, 0.4), second: Support(0.9, 0.05, 0.05)}
    again = checked(read, judged, replace(PLAIN, checked=(1.0, 1.0, 0.0)))
    assert [one.start for one in again.spans] == [4, 0, 8]
    # The last one is too unlikely for a second look.
    assert [one.probability for one in again.spans] == pytest.approx([0.9, 0.6 / (0.6 + 4 * 0.4), 0.1])
    assert again.probability == 0.8


def test_verdicts_sum_to_one_and_are_calibrated() -> None:
    scores = np.array([2.0, 1.0, 0.0], dtype=np.float32)
    plain = judgement(scores, PLAIN)
    assert plain.supported + plain.refuted + plain.neither == pytest.approx(1.0)
    assert plain.supported > plain.refuted > plain.neither
    moved = judgement(scores, replace(PLAIN, support=(1.0, (0.0, 3.0, 0.0))))
    assert moved.refuted > moved.supported


def test_files_that_are_not_those_of_the_manifest_are_refused(tmp_path: Path) -> None:
    (tmp_path / MODEL).write_bytes(b"something else")
    (tmp_path / TOKENIZER).write_bytes((SHIPPED / TOKENIZER).read_bytes())
    (tmp_path / MANIFEST).write_text((SHIPPED / MANIFEST).read_text("utf-8"), "utf-8")
    with pytest.raises(ModelError, match="manifest"):
        BoxedReader(tmp_path).read("what", ["\nthe river"])


@pytest.mark.parametrize("text", ["", "{}", '{"files": {}, "calibration": {"support": 1}}'])
def test_a_broken_manifest_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text, "utf-8")
    with pytest.raises(ModelError):
        read_manifest(tmp_path)


def test_the_shipped_reader_reads() -> None:
    reader: Reader = BoxedReader()
    passages = [
        "Staff handbook › Travel\nFlights above 500 euros are approved by the office manager.",
        "Staff handbook › Holidays\nEveryone has 30 days of holiday a year.",
    ]
    readings = reader.read("Who approves flights above 500 euros?", passages)
    assert readings[0].probability > 0.5 > readings[1].probability
    best = readings[0].spans[0]
    assert "office manager" in passages[0][best.start : best.end]
    [right, wrong] = reader.support(
        [
            ("The office manager approves flights above 500 euros.", passages[0]),
            ("Everyone has 40 days of holiday a year.", passages[1]),
        ]
    )
    assert right.supported > wrong.supported
    assert reader.read("Who approves flights above 500 euros?", passages[:1]) == readings[:1]
    assert reader.read("what", []) == []


def test_a_passage_is_read_once_for_a_question(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[int, ...]] = []

    def counted(session: Any, token_ids: tuple[int, ...], second: int) -> Score:
        read.append(token_ids)
        return run(session, token_ids, second)

    run = module._run
    monkeypatch.setattr(module, "_run", counted)
    passages = ["Staff › Travel\nJo approves flights.", "Staff › Rooms\nMo has the key."]
    reader = BoxedReader()
    first = reader.read("Who has the key?", passages)
    assert read
    read.clear()
    assert reader.read("Who has the key?", passages) == first
    assert not read


# --- a reader and a reranker that judge together


_QUESTION = "Who supplies them?"


class _Shortest:
    """The shorter the passage, the better."""

    name = "shortest"

    def score(self, query: str, passages: Sequence[str]) -> list[float]:
        return [1 / (1 + len(passage)) for passage in passages]


def test_both_judge_a_passage_and_the_reader_marks_it() -> None:
    ranked = RankedReader(WordReader({_QUESTION: ("Tolvang", 0.9)}), _Shortest())
    marked, without = ranked.read(_QUESTION, ["Tolvang supplies them.", "Why?"])
    odds = math.pow(9, 0.9) * math.pow(1 / 22, 0.1)  # of the reader's 0.9 and the reranker's 1/23
    assert marked.probability == pytest.approx(odds / (1 + odds))
    (span,) = marked.spans
    assert (span.start, span.end) == (0, 7)
    assert span.probability == 0.9, "it stays the reader's"
    assert without.spans == ()
    assert ranked.read(_QUESTION, []) == []
    assert ranked.name == "words with shortest"


@pytest.mark.parametrize("score", [0.0, 1.0])
def test_a_reranker_that_is_certain_is_not_alone(score: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Shortest, "score", lambda _self, _query, passages: [score] * len(passages))
    reader = WordReader({_QUESTION: ("Tolvang", 0.9)})
    (reading,) = RankedReader(reader, _Shortest()).read(_QUESTION, ["Tolvang supplies them."])
    assert 0 < reading.probability < 1
