"""Distillation keeps words as they stand, and invents nothing."""

from __future__ import annotations

from agent.budget import Budget
from agent.cognition.distilling import ExtractiveDistiller, ModelDistiller
from agent.session import Session
from models.scripted import HashEmbedder, ScriptedChat
from tests.agent.evidence import candidate

_PROSE = candidate(
    1,
    "The company was founded in 1998. It buys ceramic bearings from Tolvang. The weather was fine. "
    "Lunch is served at noon in the canteen.",
)
_TABLE = candidate(
    2,
    "Segment revenue\nIn millions | 2024 | 2023\nYear ended December:\nServices | 236.4 | 214.9\n"
    "Buildings | 700.1 | 650.2\nIndustrial | 348.1 | 340.0",
    kind="table",
)
_EXTRACTIVE = ExtractiveDistiller(HashEmbedder(512), most_rows=1)


def test_the_sentence_that_matters_is_kept_word_for_word() -> None:
    # The best-ranked passage is read more fully, so the one looked at stands second.
    first = candidate(9, "Bearings are parts of machines.")
    _, kept = _EXTRACTIVE.extract("Who makes the ceramic bearings?", [first, _PROSE])
    assert "It buys ceramic bearings from Tolvang." in kept.excerpt
    assert "Lunch" not in kept.excerpt
    for piece in kept.excerpt.split(" … "):
        assert piece in _PROSE["text"]


def test_a_table_keeps_its_head_the_heading_row_and_the_row() -> None:
    (kept,) = _EXTRACTIVE.extract("What was the revenue of Services in 2024?", [_TABLE])
    assert kept.excerpt.splitlines() == [
        "Segment revenue",
        "In millions | 2024 | 2023",
        "Year ended December:",
        "Services | 236.4 | 214.9",
    ]


def test_rows_that_the_question_names_are_kept_without_their_neighbours() -> None:
    distiller = ExtractiveDistiller(HashEmbedder(512))
    (kept,) = distiller.extract("What did Services and Industrial earn in 2024?", [_TABLE])
    assert [line.split(" | ")[0] for line in kept.excerpt.splitlines()[3:]] == ["Services", "Industrial"]


def test_nothing_in_nothing_out() -> None:
    assert _EXTRACTIVE.extract("q", []) == []
    assert _EXTRACTIVE.extract("q", [candidate(1, "  ")]) == []


def test_what_the_model_copies_is_kept_and_what_it_invents_is_not() -> None:
    written = (
        "(A) It buys ceramic bearings from Tolvang.\n(A) Tolvang belongs to Martians.\n(H) No such passage."
    )
    with ScriptedChat([written]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        kept = ModelDistiller(_EXTRACTIVE).distil(session, [], "Who makes the bearings?", [_PROSE, _TABLE])
    assert [(k.candidate["passage_id"], k.excerpt) for k in kept] == [
        (1, "It buys ceramic bearings from Tolvang.")
    ]


def test_a_model_that_copies_nothing_leaves_it_to_the_extractive_one() -> None:
    with ScriptedChat(["None of these help."]) as chat:
        session = Session(chat, Budget(), lambda _event: None)
        kept = ModelDistiller(_EXTRACTIVE).distil(session, [], "Who makes the bearings?", [_PROSE])
    assert kept[0].excerpt
