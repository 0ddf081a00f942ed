"""Judging: every score a line, resumed, stopped, not given; and what is said of them all."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models.protocols import GenerationCancelled
from policy.systems.answers import Answer
from policy.systems.ragas_judge import FAITHFULNESS, METRICS, PRECISION, RECALL, RELEVANCY, Metric, NotGiven
from policy.systems.ragas_scores import BadScores, Judged, Scores, chosen, judge
from policy.systems.ragas_summary import HEAD, caution, cells, heading, summarise_judged


def answer(question: str, system: str, passages: tuple[str, ...] = ("Ann. She did it.",)) -> Answer:
    return Answer("toy", question, system, "m", f"Who did {question}?", ("Ann",), "Ann did.", passages)


ANSWERS = [
    answer("1", "closed-book", ()),
    answer("1", "shallow"),
    answer("2", "closed-book", ()),
    answer("2", "shallow"),
]


class Recording:
    """Metrics that know what they were asked, and give each its score; faithfulness fails on question 2."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    @property
    def metrics(self) -> dict[str, Metric]:
        return {metric: self._metric(metric) for metric in METRICS}

    def _metric(self, metric: str) -> Metric:
        def score(one: Answer) -> float:
            self.asked.append((metric, one.question, one.system))
            if (metric, one.question) == (FAITHFULNESS, "2"):
                raise NotGiven("the judgement had no end")
            return {"1": 1.0, "2": 0.5}[one.question]

        return score


def judged(file: Path, answers: Sequence[Answer] = ANSWERS) -> tuple[list[Judged], Recording]:
    recording = Recording()
    return list(judge(answers, recording.metrics, "j", "0.4", Scores(file))), recording


def test_answers_are_judged_question_by_question_and_metric_by_metric(tmp_path: Path) -> None:
    told, recording = judged(tmp_path / "ragas.jsonl")
    first = [
        (FAITHFULNESS, "1", "shallow"),
        (RELEVANCY, "1", "closed-book"),
        (RELEVANCY, "1", "shallow"),
        (PRECISION, "1", "shallow"),
        (RECALL, "1", "shallow"),
    ]
    assert recording.asked == [*first, *((metric, "2", system) for metric, _, system in first)]
    assert [(one.done, one.total) for one in (told[0], told[-1])] == [(0, 10), (10, 10)]
    assert [told[0].seconds_left, told[1].seconds_left, told[-1].seconds_left] == [None, None, 0.0]
    assert told[1].doing == FAITHFULNESS
    failed = [score for score in Scores(tmp_path / "ragas.jsonl").all() if score.value is None]
    assert [(score.question, score.why) for score in failed] == [("2", "the judgement had no end")]


def test_what_was_judged_is_not_judged_again_unless_the_answer_is_another(tmp_path: Path) -> None:
    file = tmp_path / "ragas.jsonl"
    judged(file)
    told, recording = judged(file)
    assert recording.asked == []
    assert told[0].done == told[0].total == 10
    with file.open("a") as out:
        out.write('{"questions": "toy", "ques')  # a killed run's
    other = [replace(ANSWERS[0], text="Bob did."), *ANSWERS[1:]]
    _, recording = judged(file, other)
    assert recording.asked == [(RELEVANCY, "1", "closed-book")]
    assert len(Scores(file).all()) == 10


def test_another_judge_judges_anew(tmp_path: Path) -> None:
    file = tmp_path / "ragas.jsonl"
    judged(file)
    recording = Recording()
    list(judge(ANSWERS, recording.metrics, "k", "0.4", Scores(file)))
    assert len(recording.asked) == 10
    assert len(Scores(file).all()) == 20


def test_it_stops_when_asked_to_and_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "ragas.jsonl"
    cancel = threading.Event()
    recording = Recording()
    for told in judge(ANSWERS, recording.metrics, "j", "0.4", Scores(file), cancel):
        if told.done == 3:
            cancel.set()
    assert len(recording.asked) == len(Scores(file).all()) == 3
    _, rest = judged(file)
    assert len(rest.asked) == 7


def test_a_score_that_is_stopped_is_given_up(tmp_path: Path) -> None:
    def stopped(_one: Answer) -> float:
        raise GenerationCancelled("The call was cancelled.")

    told = list(
        judge(ANSWERS, dict.fromkeys(METRICS, stopped), "j", "0.4", Scores(tmp_path / "ragas.jsonl"))
    )
    assert told[-1].done == 0
    assert not (tmp_path / "ragas.jsonl").exists()


def test_the_first_questions_and_some_systems_are_chosen() -> None:
    other = replace(ANSWERS[0], questions="folk", question="9")
    late = answer("1", "crag")
    answers = [*ANSWERS, other, late]
    assert chosen(answers, (), None) == answers
    assert chosen(answers, (), 1) == [*ANSWERS[:2], other, late]
    assert chosen(answers, ("shallow",), 1) == [ANSWERS[1]]


def test_a_damaged_line_is_told(tmp_path: Path) -> None:
    (tmp_path / "ragas.jsonl").write_text('{"questions": "toy"}\n')
    with pytest.raises(BadScores, match=r"Line 1 of ragas\.jsonl"):
        Scores(tmp_path / "ragas.jsonl")


def test_the_table_counts_what_the_judge_did_not_give(tmp_path: Path) -> None:
    judged(tmp_path / "ragas.jsonl")
    (one,) = summarise_judged(Scores(tmp_path / "ragas.jsonl").all(), resamples=100)
    assert (one.name, one.model, one.judge, one.packages) == ("toy", "m", "j", ("0.4",))
    assert heading(one.judge) == "RAGAS, judged by j: a weak judge"
    book, shallow = one.systems
    mean = "75 [50, 100] of 2"
    assert cells(book) == ["closed-book", "2", "", mean, "", "", "0 of 2"]
    assert cells(shallow) == ["shallow", "2", "100 [100, 100] of 1", mean, mean, mean, "1 of 8"]
    assert len(cells(book)) == len(HEAD)
    assert "failed to give 1 of 10 scores (10.0 %)" in caution([one])
    assert "The package is ragas 0.4." in caution([one])


def test_a_judge_that_gives_nothing_is_shown_as_one(tmp_path: Path) -> None:
    def fails(_one: Answer) -> float:
        raise NotGiven("the judgement was not of the wanted shape")

    list(judge(ANSWERS[1:2], dict.fromkeys(METRICS, fails), "j", "0.4", Scores(tmp_path / "ragas.jsonl")))
    (one,) = summarise_judged(Scores(tmp_path / "ragas.jsonl").all())
    assert cells(one.systems[0]) == ["shallow", "1", "", "", "", "", "4 of 4"]
    assert "failed to give 4 of 4 scores (100.0 %)" in caution([one])
