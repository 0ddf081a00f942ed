"""Step ``distil``: excerpts keep words as they stand, and what is kept gets a number."""

from __future__ import annotations

import pytest

import agent.events as ev
from agent.state import Candidate
from agent.steps.distil import distil, distil_by_model, distil_by_spans
from agent.steps.rerank import read
from tests.agent.made import candidate, evidence, put, scripted, state, step
from tests.agent.steps.conftest import Events, Make
from tests.scripted import WordReader
from traces.library import Library
from traces.records import Chunk

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


def _read(passage: Candidate, marked: str) -> Candidate:
    (one,) = read(WordReader({_QUESTION: (marked, 0.9)}), _QUESTION, [passage])
    return one


def _distilled(*passages: Candidate) -> list[tuple[Candidate, str]]:
    with scripted() as session:
        return distil_by_spans(session, [], _QUESTION, passages)


def _excerpt(passage: Candidate, *marked: str) -> str:
    """What is left of a passage that stands second, once the reader has marked words in it."""
    spans = [span for words in marked for span in _read(passage, words)["spans"]]
    return _distilled(_FIRST, Candidate({**passage, "spans": spans}))[1][1]


@pytest.mark.parametrize(
    ("marked", "excerpt"),
    [
        (["Tolvang"], "Its plant is in Ohio. It buys ceramic bearings from Tolvang. The weather was fine."),
        (
            ["1998", "Sundays"],
            "The company was founded in 1998. Its plant is in Ohio. … "
            "Lunch is served at noon. The canteen is closed on Sundays.",
        ),
        (["Zanzibar"], "The company was founded in 1998. Its plant is in Ohio."),
    ],
)
def test_marked_sentences_are_kept_with_their_neighbours(marked: list[str], excerpt: str) -> None:
    assert _excerpt(_PROSE, *marked) == excerpt


def test_the_best_passage_is_kept_whole_where_it_is_short() -> None:
    ((_, kept),) = _distilled(_read(_PROSE, "Tolvang"))
    assert kept == _PROSE["text"]
    long = Candidate({**_PROSE, "text": " ".join([_PROSE["text"]] * 8)})
    ((_, kept),) = _distilled(_read(long, "Tolvang"))
    assert len(kept) < len(long["text"])


@pytest.mark.parametrize(("marked", "row"), [("236.4", "Services | 236.4 | 214.9"), ("3.1", _ROWS[2])])
def test_a_table_keeps_its_head_the_heading_row_and_the_row(marked: str, row: str) -> None:
    assert _excerpt(_TABLE, marked).splitlines() == [*_HEAD, "Year ended December:", row]


def test_a_small_table_is_kept_whole_and_one_without_marks_keeps_its_first_rows() -> None:
    small = candidate(3, "\n".join([*_HEAD, *_ROWS[:4]]), kind="table")
    assert _excerpt(small, "2.5") == small["text"]
    lines = _excerpt(_TABLE, "Zanzibar").splitlines()
    assert lines[:2] == _HEAD
    assert len(lines) < len(_TABLE["text"].splitlines())


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        (
            "(A) It buys ceramic bearings from Tolvang.\n(A) Tolvang belongs to Martians.\n(H) No passage.",
            [(1, "It buys ceramic bearings from Tolvang.")],
        ),
        ("None of these help.", [(1, _PROSE["text"])]),  # left to the reader
    ],
)
def test_copied_words_are_kept_and_invented_ones_are_not(written: str, kept: list[tuple[int, str]]) -> None:
    with scripted(written) as session:
        distilled = distil_by_model(session, [], _QUESTION, [_PROSE])
    assert [(passage["passage_id"], excerpt) for passage, excerpt in distilled] == kept


# --- the step ---------------------------------------------------------------------------------------

_BEFORE = {
    "plan": [step(_QUESTION)],
    "position": 0,
    "step": 2,
    "query": _QUESTION,
    "notebook": ["QUESTION"],
}
_BEARINGS = "Tolvang Ceramics supplies ceramic bearings to Orlavane."


def test_what_is_kept_gets_a_number_and_what_is_known_keeps_its_own(make: Make, events: Events) -> None:
    known = evidence(1, "Something else.", passage_id=9)
    found = [candidate(3, _BEARINGS, grade="correct")]
    update = distil(state(**_BEFORE, evidence=[known], candidates=found), make())
    assert [(e["number"], e["passage_id"]) for e in update["evidence"]] == [(1, 9), (2, 3)]
    assert (update["fresh"], update["again"], update["barren"]) == ([2], [], 0)
    assert f"[2] {_BEARINGS}" in update["notebook"][-1]
    assert isinstance(events[0], ev.EvidenceKept)
    again = distil(state(**_BEFORE, evidence=update["evidence"], candidates=found), make())
    assert (again["fresh"], again["again"], again["barren"]) == ([], [2], 1)


@pytest.mark.parametrize("kept", ["A fire came.\nIt burned.", "A fire came. It burned. It went out.", "B"])
def test_no_sentence_is_kept_twice_of_a_passage_that_is_found_again(make: Make, kept: str) -> None:
    text = "A fire came.\nIt burned. It went out."
    known = evidence(1, text, passage_id=3) | {"excerpt": kept}
    found = [candidate(3, text, grade="correct")]
    (item,) = distil(state(**_BEFORE, evidence=[known], candidates=found), make())["evidence"]
    assert item["excerpt"] in {text, kept}
    assert "It went out." in item["excerpt"]


@pytest.mark.parametrize(
    ("grades", "kept"),
    [
        (["correct", "incorrect", "ambiguous", "ambiguous"], [3, 5, 6]),
        (["ambiguous", "incorrect", "ambiguous", "incorrect"], [3, 5, 4]),
        (["ambiguous"] * 4, [3, 4, 5, 6]),
        (["incorrect"] * 4, [3, 4, 5]),
    ],
)
def test_what_is_graded_incorrect_is_left_out_but_for_three_where_none_is_correct(
    make: Make, grades: list[str], kept: list[int]
) -> None:
    found = [candidate(number, _BEARINGS, grade=one) for number, one in enumerate(grades, start=3)]
    update = distil(state(**_BEFORE, candidates=found), make())
    assert [e["passage_id"] for e in update["evidence"]] == kept


@pytest.mark.parametrize(("score", "best"), [(0.9, [4]), (0.0, [])])
def test_the_best_passage_of_a_look_up_is_marked_if_it_was_kept_before_too(
    make: Make, score: float, best: list[int]
) -> None:
    known = [evidence(number, _BEARINGS, passage_id=number) for number in (3, 4)]
    found = [candidate(number, _BEARINGS, grade="correct", score=score) for number in (4, 3, 5)]
    update = distil(state(**_BEFORE, evidence=known, candidates=found), make())
    assert [e["passage_id"] for e in update["evidence"] if e.get("best")] == best


@pytest.mark.parametrize(
    ("rest", "likely", "kept"),
    [
        (2, 0.9, ["It buys three things:", "1. Ceramic bearings.", "2. Steel.", "Elsewhere."]),
        (4, 0.9, ["1. Ceramic bearings.", "Elsewhere."]),  # the section is too long to be read whole
        (2, 0.4, ["1. Ceramic bearings.", "Elsewhere."]),
    ],
)
def test_the_short_section_of_the_best_passage_is_kept_whole(
    make: Make, library: Library, rest: int, likely: float, kept: list[str]
) -> None:
    section = [
        "It buys three things:",
        "1. Ceramic bearings.",
        *["2. Steel.", "3. Sand.", "4. Oil."][: rest - 1],
    ]
    chunks = [Chunk(i, "text", ("Purchases",), None, text, ()) for i, text in enumerate(section)]
    chunks.append(Chunk(len(chunks), "text", ("Sales",), None, "Elsewhere.", ()))
    stored = put(library, "a.md", [chunk.text for chunk in chunks], chunks=tuple(chunks))
    passages = library.document_passages(stored)
    best, other = (
        candidate(passage.id, passage.text, document_id=stored, grade="correct", score=score)
        for passage, score in ((passages[1], likely), (passages[-1], 0.3))
    )
    update = distil(state(**_BEFORE, route="single", candidates=[best, other]), make())
    assert [item["excerpt"] for item in update["evidence"]] == kept
    assert [item["excerpt"] for item in update["evidence"] if item.get("best")] == ["1. Ceramic bearings."]


def test_an_empty_retrieval_never_reaches_the_distiller(make: Make, events: Events) -> None:
    nothing = distil(state(**_BEFORE), make(profile_name="seed"))
    assert (nothing["fresh"], nothing["barren"]) == ([], 1)
    assert nothing["notebook"][-1].endswith("(no evidence)")
    assert isinstance(events[0], ev.EvidenceKept)
