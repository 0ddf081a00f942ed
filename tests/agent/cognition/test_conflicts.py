"""Two dated sources disagree: the later one is followed, and other years or parts are no contradiction."""

from __future__ import annotations

import pytest

from agent.cognition.conflicts import find, follow
from agent.state import Evidence, Note
from tests.agent.evidence import evidence


def _dated(number: int, date: str, text: str, *, kind: str = "text", title: str = "Orlavane") -> Evidence:
    held = evidence(number, text, kind=kind, title=title)
    return Evidence({**held, "date": date, "document": f"{number}.txt"})


_EARLY = _dated(
    1,
    "2025-01-30",
    "Net revenue was $1,297.1 million, 10.7% more than in fiscal 2023, and backlog was $729.5 million. "
    "Net revenue in the fourth quarter was $343.1 million.",
    title="Orlavane reports preliminary results for fiscal 2024",
)
_LATE = _dated(
    2,
    "2025-02-27",
    "Net revenue rose 9.6% to $1,284.6 million. The final net revenue of Orlavane for fiscal 2024 is "
    "$1,284.6 million.",
)
_QUESTION = "What was Orlavane's net revenue for fiscal 2024?"


def _note(answer: str, cites: int, question: str = _QUESTION) -> Note:
    return Note(
        step=1, question=question, sentence="S.", answer=answer, cites=[cites], found=True, revision=0
    )


@pytest.mark.parametrize(("answer", "cites"), [("$1,297.1 million", 1), ("$1,284.6 million", 2)])
def test_the_later_source_is_followed_whichever_was_found(answer: str, cites: int) -> None:
    conflict = find(_note(answer, cites), [_EARLY, _LATE])
    assert conflict is not None
    assert (conflict.value, conflict.number, conflict.date) == ("$1,284.6 million", 2, "2025-02-27")
    assert conflict.superseded == "$1,297.1 million"
    assert (conflict.superseded_number, conflict.superseded_date) == (1, "2025-01-30")
    note = follow(_note(answer, cites), conflict)
    assert (note["answer"], note["cites"]) == ("$1,284.6 million", [2])


def test_a_finding_that_is_the_later_one_keeps_its_words() -> None:
    note = _note("$1,284.6 million", 2)
    conflict = find(note, [_EARLY, _LATE])
    assert conflict is not None
    assert follow(note, conflict) is note


def test_a_range_is_one_value() -> None:
    held = [
        _dated(
            1, "2025-02-27", "For fiscal 2025, Orlavane expects net revenue of between $1,360 and $1,400."
        ),
        _dated(
            2,
            "2025-07-24",
            "For fiscal 2025, Orlavane now expects net revenue of between $1,310 and $1,340.",
        ),
    ]
    note = _note("$1,360 and $1,400", 1, "What net revenue does Orlavane expect for 2025?")
    conflict = find(note, held)
    assert conflict is not None
    assert conflict.value == "$1,310 and $1,340"


def test_rows_of_two_tables() -> None:
    held = [
        _dated(
            1,
            "2025-01-30",
            "Segment net revenue (preliminary) | 2024 | 2023\nIndustrial Heat | $421.9 | $355.6",
            kind="table",
        ),
        _dated(
            2,
            "2025-02-27",
            "In millions | 2024 | 2023\nSegment net revenue:\nIndustrial Heat | 409.4 | 355.6\n"
            "Segment operating income:\nIndustrial Heat | 69.6 | 56.9",
            kind="table",
        ),
    ]
    conflict = find(_note("$421.9", 1, "What was the net revenue of Industrial Heat in 2024?"), held)
    assert conflict is not None
    assert (conflict.value, conflict.sentence) == ("409.4", "Industrial Heat | 409.4 | 355.6")
    assert find(_note("$355.6", 1, "What was the net revenue of Industrial Heat in 2023?"), held) is None


@pytest.mark.parametrize(
    "rival",
    [
        "Net revenue for fiscal 2023 was $1,172.2 million.",  # another year
        "Net revenue in the fourth quarter was $330.6 million.",  # a part
        "Net revenue for fiscal 2024 grew by 9.6%.",  # another unit
        "Net revenue for fiscal 2024 was $1,297.1 million.",  # the same
        "Operating income for fiscal 2024 was $144.5 million.",  # something else
        "Net revenue of Haldrecht for fiscal 2024 was $900 million.",  # somebody else
        "Net revenue was good.",
    ],
)
def test_no_contradiction(rival: str) -> None:
    assert find(_note("$1,297.1 million", 1), [_EARLY, _dated(2, "2025-02-27", rival)]) is None


@pytest.mark.parametrize(
    ("question", "whole"),
    [
        ("What was Orlavane's preliminary net revenue for fiscal 2024?", ""),
        (_QUESTION, "How did Orlavane's net revenue change between the two reports?"),
        ("What net revenue for fiscal 2024 does the note Orlavane reports results give?", ""),
        ("What was Orlavane's net revenue for fiscal 2024 as of January 2025?", ""),
    ],
)
def test_a_question_about_one_source_or_both_wants_no_later_one(question: str, whole: str) -> None:
    assert find(_note("$1,297.1 million", 1, question), [_EARLY, _LATE], whole) is None


def test_without_two_dates_nothing_is_later() -> None:
    for date in ("", "2025-01-30"):
        assert find(_note("$1,297.1 million", 1), [_EARLY, Evidence({**_LATE, "date": date})]) is None


def test_what_was_not_found_contradicts_nothing() -> None:
    assert find(Note({**_note("", 1), "found": False, "cites": []}), [_EARLY, _LATE]) is None
    assert find(_note("a fire", 1), [_EARLY, _LATE]) is None
