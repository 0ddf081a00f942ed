"""Cells that a question names by row and column."""

from __future__ import annotations

import pytest
from agent.cognition.answering import asked

from agent.cognition.cells import misread, read
from agent.state import Evidence
from tests.agent.evidence import evidence

_PLANTS = evidence(
    1,
    "Table 1. Capacity by plant, 2024\nPlant (units) | Product | Annual capacity 2024 | Utilization\n"
    "Calder Bend, Ohio | Caldra | 480 | 82%\nPort Ansel | Compressors | 10,400 | 86%",
    kind="table",
)
_SEGMENTS = evidence(
    2,
    "(in millions) | Year ended December 31, 2024 | Year ended December 31, 2023\nSegment net revenue:\n"
    "Services | 236.4 | 214.9\nSegment operating margin:\nServices | 24.0% | 23.5%",
    title="Orlavane annual report",
    kind="table",
)
_REGISTER = evidence(
    3,
    "register_date | supplier | lead_time_weeks | safety_stock_weeks\n"
    "2025-01-31 | Tolvang Ceramics | 14 | 5\n2025-01-31 | Lindrow | 6 | 3",
    title="Supplier register",
    kind="table",
)
_ALL = [_PLANTS, _SEGMENTS, _REGISTER]


@pytest.mark.parametrize(
    ("question", "answer", "sentence"),
    [
        (
            "What was the utilization of the Calder Bend plant in 2024?",
            "82%",
            "Calder Bend, Ohio: 82% (Utilization)",
        ),
        (
            "What was the net revenue of Orlavane's Services segment in 2023?",
            "214.9",
            "Segment net revenue: Services: 214.9 (Year ended December 31, 2023), in millions",
        ),
        (
            "What was the operating margin of Services in 2024?",
            "24.0%",
            "Segment operating margin: Services: 24.0% (Year ended December 31, 2024), in millions",
        ),
        (
            "What was the net revenue of Services in 2024 and 2023?",
            "236.4 (Year ended December 31, 2024), 214.9 (Year ended December 31, 2023)",
            "",
        ),
        (
            "What was the net revenue of Services in 2024 and 2022?",
            "236.4 (Year ended December 31, 2024)",
            "",
        ),
        ("How many weeks of safety stock are listed for Tolvang Ceramics?", "5", ""),
    ],
)
def test_read(question: str, answer: str, sentence: str) -> None:
    found = read(question, asked(question), _ALL)
    assert found is not None
    assert found.answer == answer
    assert sentence in found.sentence


@pytest.mark.parametrize(
    "question",
    [
        "What was the net revenue of Services in 2021?",  # no such column
        "What was the net revenue of Services?",  # a choice of columns
        "What was the headcount of Services in 2024?",  # measures something else
        "What was the utilization of Hollenried in 2024?",  # no such row
        "What was Haldrecht's net revenue of Services in 2024?",  # a name that stands nowhere
    ],
)
def test_what_leaves_a_doubt_is_not_read(question: str) -> None:
    assert read(question, asked(question), _ALL) is None


def test_a_number_of_another_year_is_misread() -> None:
    prose = evidence(
        1, "They plan to build 80 machines in 2026 and 200 in 2027. In 2026, 9 plants will run."
    )
    assert misread("In 2026 they will build 200 machines.", [prose]) == "200 is for 2027 in [1]"
    assert misread("In 2026 they will build 80 machines in 9 plants.", [prose]) == ""
    assert misread("They will build 200 machines.", [prose]) == ""
    assert misread("Services had 236.4 in 2023.", [_SEGMENTS]) == "236.4 is for 2024 in [2]"


def test_a_table_need_not_say_whose_it_is() -> None:
    question = "How many weeks of safety stock of Lindrow does Orlavane hold?"
    others = [
        Evidence({**evidence(4, "Orlavane buys from Lindrow."), "document": "report"}),
        Evidence({**evidence(5, "A fire broke out."), "document": "news"}),
    ]
    found = read(question, asked(question), [_REGISTER, *others])
    assert found is not None
    assert found.answer == "3"
    assert read(question, asked(question), [_REGISTER]) is None
    theirs = Evidence({**_REGISTER, "title": "Suppliers of Haldrecht"})
    rival = Evidence({**others[1], "text": "A machine of Haldrecht ran."})
    assert read(question, asked(question), [theirs, others[0], rival]) is None


def test_a_row_is_named_by_another_cell_where_one_alone_says_it() -> None:
    table = evidence(
        1,
        "supplier | component | safety_stock_weeks\nTolvang | ceramic bearings | 5\n"
        "Kisaragi | inverter modules | 6\nSundrell | inverter modules | 7",
        kind="table",
    )
    for component, answer in (("ceramic bearings", "5"), ("inverter modules", "")):
        question = f"How many weeks of safety stock of {component} are held?"
        found = read(question, asked(question), [table])
        assert (found.answer if found else "") == answer
