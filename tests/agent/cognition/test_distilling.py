"""Distillation keeps words as they stand, and invents nothing."""

from __future__ import annotations

import pytest
from agent.cognition.distilling import ModelDistiller, SpanDistiller
from agent.nodes.rerank import read

from agent.budget import Budget
from agent.session import Session
from agent.state import Candidate
from models.scripted import ScriptedChat, WordReader
from tests.agent.evidence import candidate

_QUESTION = "Who makes the ceramic bearings?"
_PROSE = candidate(
    1,
    "The company was founded in 1998. Its plant is in Ohio. It buys ceramic bearings from Tolvang. "
    "The weather was fine. Lunch is served at noon. The canteen is closed on Sundays.",
)
_ROWS = [f"Site {n} | {n}.5 | {n}.1" for n in range(1, 9)]
_HEAD = ["Segment revenue", "In millions | 2024 | 2023"]
_TABLE = candidate(
    2, "\n".join([*_HEAD, "Year ended December:", *_ROWS, "Services | 236.4 | 214.9"]), kind="table"
)
_FIRST = candidate(9, "Bearings are parts of machines.")  # the best passage is kept whole where it is short


def _excerpt(passage: Candidate, marked: str) -> str:
    """What is left of a passage that stands second, once the reader has marked words in it."""
    (one,) = read(WordReader({_QUESTION: (marked, 0.9)}), _QUESTION, [passage])
    _, kept = SpanDistiller().extract([_FIRST, one])
    assert kept.candidate["passage_id"] == passage["passage_id"]
    return kept.excerpt


def test_the_marked_sentence_is_kept_with_its_neighbours() -> None:
    assert _excerpt(_PROSE, "Tolvang") == (
        "Its plant is in Ohio. It buys ceramic bearings from Tolvang. The weather was fine."
    )


def test_sentences_that_were_left_out_leave_a_mark() -> None:
    spans = [span for words in ("1998", "Sundays") for span in _read(_PROSE, words)["spans"]]
    _, kept = SpanDistiller().extract([_FIRST, Candidate({**_PROSE, "spans": spans})])
    assert kept.excerpt == (
        "The company was founded in 1998. Its plant is in Ohio. … "
        "Lunch is served at noon. The canteen is closed on Sundays."
    )


def _read(passage: Candidate, marked: str) -> Candidate:
    (one,) = read(WordReader({_QUESTION: (marked, 0.9)}), _QUESTION, [passage])
    return one


def test_where_nothing_is_marked_the_first_sentences_are_kept() -> None:
    assert _excerpt(_PROSE, "Zanzibar") == "The company was founded in 1998. Its plant is in Ohio."


def test_a_short_best_passage_is_kept_whole() -> None:
    (kept,) = SpanDistiller().extract([_read(_PROSE, "Tolvang")])
    assert kept.excerpt == _PROSE["text"]


def test_a_long_best_passage_is_cut_as_well() -> None:
    long = Candidate({**_PROSE, "text": " ".join([_PROSE["text"]] * 8)})
    (kept,) = SpanDistiller().extract([_read(long, "Tolvang")])
    assert len(kept.excerpt) < len(long["text"])


@pytest.mark.parametrize(("marked", "row"), [("236.4", "Services | 236.4 | 214.9"), ("3.1", _ROWS[2])])
def test_a_table_keeps_its_head_the_heading_row_and_the_row(marked: str, row: str) -> None:
    assert _excerpt(_TABLE, marked).splitlines() == [*_HEAD, "Year ended December:", row]


def test_a_small_table_is_kept_whole() -> None:
    small = candidate(3, "\n".join([*_HEAD, *_ROWS[:4]]), kind="table")
    assert _excerpt(small, "2.5") == small["text"]


def test_a_table_in_which_nothing_is_marked_keeps_its_first_rows() -> None:
    lines = _excerpt(_TABLE, "Zanzibar").splitlines()
    assert lines[:2] == _HEAD
    assert len(lines) < len(_TABLE["text"].splitlines())


def test_nothing_in_nothing_out() -> None:
    assert SpanDistiller().extract([]) == []


def test_what_the_model_copies_is_kept_and_what_it_invents_is_not() -> None:
    written = (
        "(A) It buys ceramic bearings from Tolvang.\n(A) Tolvang belongs to Martians.\n(H) No such passage."
    )
    with ScriptedChat([written]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        kept = ModelDistiller(SpanDistiller()).distil(session, [], _QUESTION, [_PROSE, _TABLE])
    assert [(k.candidate["passage_id"], k.excerpt) for k in kept] == [
        (1, "It buys ceramic bearings from Tolvang.")
    ]


def test_a_model_that_copies_nothing_leaves_it_to_the_reader() -> None:
    with ScriptedChat(["None of these help."]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        kept = ModelDistiller(SpanDistiller()).distil(session, [], _QUESTION, [_PROSE])
    assert kept[0].excerpt
