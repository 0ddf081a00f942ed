"""Judging answers by RAGAS's metrics: every score is a line on disk, and what is there is not judged again.

A score that the judge failed to give is a line as well: how often it fails is part of what is reported.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal, TypeAlias

from models.protocols import GenerationCancelled
from policy.lines import append, whole_lines
from policy.systems.answers import Answer
from policy.systems.ragas_judge import METRICS, Metric, NotGiven, applies
from traces.errors import DeepthinkError

FILE: Final = "ragas.jsonl"
"""Its name in a work folder."""

_Key: TypeAlias = tuple[str, str, str, str, str, str]


class BadScores(DeepthinkError):
    """Raised when a file of scores holds something else."""

    title = "Not a file of scores"
    kind: ClassVar[Literal["input"]] = "input"


@dataclass(frozen=True, slots=True)
class Score:
    """What a judge made of one answer by one metric.

    Attributes:
        questions: Name of the set.
        question: Its id there.
        system: As tables call it.
        model: That answered.
        judge: The model that judged.
        metric: Of `policy.systems.ragas_judge.METRICS`.
        value: At most 1, the more the better; None where the judge gave none.
        why: Why it gave none.
        answer: Digest of what was judged.
        package: Version of ``ragas``.
    """

    questions: str
    question: str
    system: str
    model: str
    judge: str
    metric: str
    value: float | None
    why: str = ""
    answer: str = ""
    package: str = ""

    @property
    def key(self) -> _Key:
        """What there is one score of."""
        return self.questions, self.question, self.system, self.model, self.judge, self.metric


class Scores:
    """The scores in a file, which grows with each that is added.

    Args:
        file: Need not exist.

    Raises:
        BadScores: a line is none. A last line without its end, as a killed run leaves one, is cut off.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._scores: dict[_Key, Score] = {}
        for number, line in whole_lines(file):
            score = _read(line, number, file)
            self._scores[score.key] = score

    def all(self) -> list[Score]:
        """Every score, the newest of each key, in the order in which they came."""
        return list(self._scores.values())

    def lacks(self, answer: Answer, judge: str, metric: str) -> bool:
        """Whether this answer, in these words, has not been judged."""
        found = self._scores.get((*answer.key, judge, metric))
        return found is None or found.answer != digest(answer)

    def add(self, score: Score) -> None:
        """Keep ``score``, on disk at once."""
        append(self._file, asdict(score))
        self._scores[score.key] = score


@dataclass(frozen=True, slots=True)
class Judged:
    """How far the judging is.

    Attributes:
        doing: The metric under way; "" before the first.
        done: Scores that are there, earlier ones and those not given included.
        total: Scores that there will be.
        seconds_left: Estimate from the scores of this go; None before there is one.
    """

    doing: str
    done: int
    total: int
    seconds_left: float | None = None


def chosen(answers: Iterable[Answer], systems: Sequence[str], limit: int | None) -> list[Answer]:
    """The answers of ``systems``, of all if none is named, to the first ``limit`` questions of each set.

    Questions are in the order in which they were answered, which is that of the evaluation.
    """
    asked: dict[str, dict[str, None]] = {}
    found = []
    for answer in answers:
        questions = asked.setdefault(answer.questions, {})
        if limit is None or answer.question in questions or len(questions) < limit:
            questions[answer.question] = None
            if not systems or answer.system in systems:
                found.append(answer)
    return found


def judge(
    answers: Sequence[Answer],
    metrics: Mapping[str, Metric],
    name: str,
    package: str,
    scores: Scores,
    cancel: threading.Event | None = None,
) -> Iterator[Judged]:
    """Have the answers judged; each score is kept at once.

    A question's answers are judged metric by metric, so that a judge reads a metric's instructions once for
    all of them. A metric that says nothing of an answer is left out.

    Args:
        answers: In any order.
        metrics: By name: `policy.systems.ragas_judge.ragas_metrics`.
        name: The judge's.
        package: Version of ``ragas``.
        scores: Where they are kept.
        cancel: Set to stop; the score under way is given up.

    Raises:
        ModelError: it fails.
    """
    order = dict.fromkeys((one.questions, one.question) for one in answers)
    place = {question: number for number, question in enumerate(order)}
    pairs = [(one, metric) for one in answers for metric in METRICS if applies(metric, one)]
    pairs.sort(key=lambda pair: (place[pair[0].questions, pair[0].question], METRICS.index(pair[1])))
    open_ = [(one, metric) for one, metric in pairs if scores.lacks(one, name, metric)]
    done, began = len(pairs) - len(open_), time.monotonic()
    yield Judged("", done, len(pairs))
    for number, (one, metric) in enumerate(open_):
        left = (time.monotonic() - began) / number * (len(open_) - number) if number else None
        yield Judged(metric, done + number, len(pairs), left)
        if cancel is not None and cancel.is_set():
            return
        value, why = None, ""
        try:
            value = metrics[metric](one)
        except NotGiven as failed:
            why = str(failed)
        except GenerationCancelled:
            return
        scores.add(Score(*one.key, name, metric, value, why, digest(one), package))
    yield Judged("", len(pairs), len(pairs), 0.0)


def digest(answer: Answer) -> str:
    """A short digest of all that is judged of an answer."""
    judged = [answer.asked, answer.gold, answer.text, answer.passages]
    return hashlib.sha256(json.dumps(judged).encode()).hexdigest()[:16]


def _read(line: bytes, number: int, file: Path) -> Score:
    try:
        told = json.loads(line)
        value = told.pop("value")
        return Score(**told, value=None if value is None else float(value))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadScores(
            f"Line {number} of {file.name} is no score: {error}.",
            "Remove the line; its answer will be judged again.",
        ) from error
