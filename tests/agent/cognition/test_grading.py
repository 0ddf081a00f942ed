"""Grading: CRAG's three grades, from a calibration and from the model."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.budget import Budget, BudgetExhausted
from agent.cognition.calibration import (
    BY_EMBEDDER,
    UNCALIBRATED_RERANKER,
    WORDS_ALONE,
    Calibration,
)
from agent.cognition.grading import CalibratedGrader, Grade, ModelGrader, features, overall
from agent.events import Event, Warned
from agent.session import Session
from agent.state import Candidate
from models.scripted import Scripted, ScriptedChat
from tests.agent.evidence import candidate

_MINILM = "all-minilm-l6-v2"
_QUESTION = "How many people did Orlavane employ in 2024?"


def _scored(text: str, passage_id: int = 1, *, title: str = "Report", **scores: float) -> Candidate:
    return Candidate({**candidate(passage_id, text, title=title), "scores": scores})


_GOLD = _scored("Orlavane employed 3,940 people at the end of 2024.", vector=0.8, coverage=1.0)
_NEAR = _scored("Orlavane closed a plant in Ohio.", 2, vector=0.4, coverage=0.3)
_OFF = _scored("Lunch is served at noon.", 3, vector=0.02, coverage=0.0)


@pytest.mark.parametrize(
    ("grades", "together"),
    [
        ([], "incorrect"),
        (["incorrect", "incorrect"], "incorrect"),
        (["incorrect", "ambiguous"], "ambiguous"),
        (["incorrect", "ambiguous", "correct"], "correct"),
    ],
)
def test_overall_is_crags_action(grades: list[Grade], together: Grade) -> None:
    assert overall(grades) == together


def test_a_passage_that_says_it_one_that_may_help_and_one_that_does_not(idle_session: Session) -> None:
    graded = CalibratedGrader(_MINILM).grade(idle_session, [], _QUESTION, [_OFF, _GOLD, _NEAR])
    assert [one.grade for one in graded] == ["incorrect", "correct", "ambiguous"]
    assert graded[1].probability > graded[2].probability > graded[0].probability


def test_each_passage_is_graded_for_itself(idle_session: Session) -> None:
    grader = CalibratedGrader(_MINILM)
    (alone,) = grader.grade(idle_session, [], _QUESTION, [_NEAR])
    assert grader.grade(idle_session, [], _QUESTION, [_GOLD, _NEAR])[1] == alone
    assert grader.grade(idle_session, [], _QUESTION, []) == []


def test_without_a_calibration_the_words_decide(idle_session: Session) -> None:
    far = Candidate({**_GOLD, "scores": {"vector": -1.0, "coverage": 1.0}})
    for grader in (CalibratedGrader(), CalibratedGrader("an-embedder-nobody-measured")):
        near, same = grader.grade(idle_session, [], _QUESTION, [_GOLD, far])
        assert near == same
        assert near.grade == "correct"


@pytest.mark.parametrize(
    ("score", "grade"),
    [(0.5, "correct"), (0.49, "ambiguous"), (0.05, "ambiguous"), (0.049, "incorrect"), (0.0, "incorrect")],
)
def test_a_score_nobody_calibrated_goes_before_all_else(
    idle_session: Session, score: float, grade: Grade
) -> None:
    reranked = _scored("whatever", vector=0.9, coverage=1.0, rerank=score)
    (found,) = CalibratedGrader(_MINILM).grade(idle_session, [], _QUESTION, [reranked])
    assert (found.grade, found.probability) == (grade, score)


def test_names_numbers_and_years_are_looked_for_where_a_citation_stands() -> None:
    question = "How many of the 46 heat pumps for Pellacre Foods were built in 2025?"
    here = _scored("Pellacre Foods ordered 46 machines.", title="News of 2025", vector=0.1, coverage=0.2)
    there = _scored("Heat pumps were built.", vector=0.1, coverage=0.2)
    assert features(question, here)["names"] == 1.0
    assert features(question, there)["names"] == 0.0
    assert features("how is it made", there)["names"] == 1.0  # it names nothing


def test_the_best_sentence_counts_with_its_heading() -> None:
    apart = _scored("Utilization was high. The plant stood in 2024.", vector=0.0, coverage=0.0)
    together = _scored("Utilization of the plant in 2024 was 82%.", vector=0.0, coverage=0.0)
    question = "What was the utilization of the Calder Bend plant in 2024?"
    headed = Candidate({**together, "section": "Plants › Calder Bend"})
    assert features(question, apart)["sentence"] == pytest.approx(2 / 5)
    assert features(question, together)["sentence"] == pytest.approx(3 / 5)
    assert features(question, headed)["sentence"] == 1.0
    assert features(question, _scored("", vector=0.0, coverage=0.0))["sentence"] == 0.0


@pytest.mark.parametrize("calibration", [*BY_EMBEDDER.values(), WORDS_ALONE])
def test_calibrations_rise_with_every_feature_and_reach_every_grade(calibration: Calibration) -> None:
    assert all(weight > 0 for weight in calibration.weights.values())
    assert 0 < calibration.thresholds.incorrect < calibration.thresholds.correct < 1
    least = dict.fromkeys(calibration.weights, 0.0)
    most = dict.fromkeys(calibration.weights, 1.0)
    assert calibration.probability(least) < calibration.thresholds.incorrect
    assert calibration.probability(most) > calibration.thresholds.correct
    assert 0 < UNCALIBRATED_RERANKER.incorrect < UNCALIBRATED_RERANKER.correct < 1


@given(st.text(max_size=80), st.text(max_size=200), st.floats(-1, 1), st.floats(0, 1))
def test_any_text_has_a_probability(question: str, text: str, vector: float, coverage: float) -> None:
    passage = _scored(text, vector=vector, coverage=coverage)
    found = features(question, passage)
    for calibration in (*BY_EMBEDDER.values(), WORDS_ALONE):
        assert 0 <= calibration.probability(found) <= 1
    assert 0 <= found["names"] <= 1
    assert 0 <= found["sentence"] <= 1


def test_a_probability_far_out_does_not_overflow() -> None:
    steep = Calibration(0.0, {"vector": 1.0}, UNCALIBRATED_RERANKER)
    assert steep.probability({"vector": 1e6}) == 1.0
    assert steep.probability({"vector": -1e6}) == 0.0


def _asked(
    replies: Sequence[Scripted], candidates: list[Candidate], **chat_options: int
) -> tuple[list[str], list[Event]]:
    events: list[Event] = []
    with ScriptedChat(replies, **chat_options) as chat:
        session = Session(chat, Budget(), events.append)
        graded = ModelGrader().grade(session, ["QUESTION: q"], _QUESTION, candidates)
    assert all(one.probability in {0.0, 0.5, 1.0} for one in graded)
    return [one.grade for one in graded], events


def test_the_model_grades_all_passages_in_one_call() -> None:
    reply = ("(C) Report. Lunch", {"A": "correct", "B": "ambiguous", "C": "incorrect"})
    grades, events = _asked([reply], [_GOLD, _NEAR, _OFF])
    assert grades == ["correct", "ambiguous", "incorrect"]
    assert not any(isinstance(event, Warned) for event in events)


def test_what_the_model_leaves_out_is_asked_for_again() -> None:
    replies: list[Scripted] = [{"A": "correct"}, ("could not be used", {"A": "correct", "B": "incorrect"})]
    assert _asked(replies, [_GOLD, _OFF])[0] == ["correct", "incorrect"]


def test_an_answer_that_cannot_be_read_leaves_everything_ambiguous_and_says_so() -> None:
    grades, events = _asked(["They are all nice.", "Very nice."], [_GOLD, _OFF])
    assert grades == ["ambiguous", "ambiguous"]
    assert any(isinstance(event, Warned) for event in events)


def test_no_passage_no_call() -> None:
    assert _asked([], [])[0] == []


def test_a_passage_without_room_is_ambiguous() -> None:
    long = _scored("word " * 400, 4, vector=0.1, coverage=0.1)
    grades, _ = _asked([{"A": "correct"}], [_GOLD, long, _OFF], context_tokens=700)
    assert grades == ["correct", "ambiguous", "ambiguous"]
    assert _asked([], [long], context_tokens=700)[0] == ["ambiguous"]


def test_the_budget_holds_for_grading_too() -> None:
    with ScriptedChat([]) as chat:
        session = Session(chat, Budget(tokens=10), lambda _event: None)
        with pytest.raises(BudgetExhausted):
            ModelGrader().grade(session, [], _QUESTION, [_GOLD])


def test_graders_have_names() -> None:
    assert CalibratedGrader().name == "calibrated"
    assert ModelGrader().name == "llm"
