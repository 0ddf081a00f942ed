"""Whether a passage says what a question asks."""

from __future__ import annotations

import numpy as np
import pytest

from agent.cognition.answering import AnswerCheck, asked
from agent.state import Evidence
from models.protocols import Vectors
from tests.agent.evidence import evidence

_HAT = evidence(
    1,
    "Haldrecht has announced the Ostra 180, a heat pump. One machine delivers 1.2 megawatts. "
    "It plans to build 80 machines in 2026 and 200 in 2027.",
    title="Haldrecht shows a heat pump",
)
_SUPPLY = evidence(
    2,
    "We were committed to purchases of $164.0 million, of which $54.0 million is due to Tolvang Ceramics. "
    "It does not give us damages for late delivery caused by fire.",
    title="Orlavane annual report 2024",
)
_TABLE = evidence(
    3,
    "Plant | Utilization 2024 | Utilization 2023\nCalder Bend, Ohio | 82% | 79%\nPort Ansel | 86% | 71%",
    title="Orlavane operations review",
    kind="table",
)
_PEOPLE = evidence(4, "We employed 3,940 people.", title="Orlavane annual report, December 31, 2024")
_CHINESE = evidence(5, "投产后,Yunpu工厂的热泵年产能将由1800台提高到3200台。", title="Orlavane Hengluo")


@pytest.mark.parametrize(
    ("question", "answer", "item"),
    [
        ("How many people did Orlavane employ at the end of 2024?", "3,940", _PEOPLE),
        ("What was the utilization of the Calder Bend plant in 2024?", "82%", _TABLE),
        ("How many machines does Haldrecht plan to build in 2026?", "80", _HAT),
        ("Which machine did Haldrecht announce?", "Ostra 180", _HAT),
        ("What annual capacity will the Yunpu plant of Orlavane Hengluo have?", "3200", _CHINESE),
        ("Was the Ostra 180 announced by Haldrecht or by Orlavane?", "Haldrecht", _HAT),
        ("How many of the machines deliver megawatts?", "one", _HAT),
    ],
)
def test_what_answers(question: str, answer: str, item: Evidence) -> None:
    assert AnswerCheck().refusal(question, answer, item) == ""


@pytest.mark.parametrize(
    ("question", "answer", "item", "reason"),
    [
        (
            "What is the list price of Haldrecht's Ostra 180 heat pump?",
            "1.2 megawatts",
            _HAT,
            "[1] gives no price",
        ),
        (
            "How much did Orlavane's insurer pay for the losses caused by the fire at Tolvang Ceramics?",
            "$54.0 million",
            _SUPPLY,
            "[2] says nothing of insurer, pay, losses",
        ),
        ("How many people did Haldrecht employ?", "3,940", _PEOPLE, "[4] does not mention Haldrecht"),
        ("How many people did Orlavane employ in 2019?", "3,940", _PEOPLE, "[4] says nothing of 2019"),
        ("What is the price of the Ostra 140?", "1.2 megawatts", _HAT, "140 does not stand in [1]"),
        ("What was the utilization of Calder Bend in 2024?", "79%", _TABLE, "79 is for 2023 in [3]"),
        (
            "What was the utilization of Calder Bend in 2024?",
            "86%",
            _TABLE,
            "86 does not stand in the row “Calder Bend, Ohio” of [3]",
        ),
        ("How many machines does Haldrecht plan to build in 2026?", "200", _HAT, "200 is for 2027 in [1]"),
        ("How many machines does Haldrecht build?", "a heat pump", evidence(1, "x"), ""),
        ("What was the utilization of the plant?", "Calder Bend", _TABLE, "the answer gives no number"),
        ("Who announced the Ostra 180?", "the Ostra 180", _HAT, "the answer only repeats the question"),
    ],
)
def test_what_does_not(question: str, answer: str, item: Evidence, reason: str) -> None:
    assert reason in AnswerCheck().refusal(question, answer, item)
    assert AnswerCheck().refusal(question, answer, item)


class _Near:
    """Every text is as near to every other as it is told, but for words that are the same."""

    name = "near"
    dimensions = 2

    def __init__(self, cosine: float) -> None:
        self._cosine = cosine

    def embed_passages(self, texts: list[str]) -> Vectors:
        return np.stack([np.array([1.0, 0.0], dtype=np.float32) for _ in texts])

    def embed_query(self, text: str) -> Vectors:
        return np.array([self._cosine, (1 - self._cosine**2) ** 0.5], dtype=np.float32)


@pytest.mark.parametrize(("cosine", "refused"), [(0.9, False), (0.1, True)])
def test_other_words_count_where_they_mean_the_same(cosine: float, refused: bool) -> None:
    check = AnswerCheck(_Near(cosine))  # type: ignore[arg-type]
    assert bool(
        check.refusal("Who directs the company's finances?", "Ann Lee", evidence(1, "Ann Lee is CFO."))
    ) is (refused)
    assert bool(check.refusal("How large was the headcount?", "3,940", _PEOPLE)) is refused
    assert bool(check.refusal("Who heads Haldrecht?", "Ann Lee", evidence(1, "Ann Lee is CFO."))) is refused


def test_asked_leaves_out_names_numbers_and_words_that_ask() -> None:
    assert asked("How much did Orlavane pay in total for 46 heat pumps in 2024?") == {"pay", "heat", "pump"}
    assert asked("What?") == set()
