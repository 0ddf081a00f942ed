"""How well a reader reads: the figures of its model card, on texts that it has not seen.

Each fold of the held-out texts is measured with a calibration of the other. A question is refused if no
passage answers it with a probability of one half; its answer is the likeliest words of the likeliest
passage.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, Final

import numpy as np

from models.boxed_reader.reader import BoxedReader, Calibration, checked, found, judgement, reading
from models.boxed_reader.windows import answered
from models.protocols import Reading, Support
from policy.evaluation.measures import f1
from policy.judging import calibration_error
from tests.benchmarks.reader import held_out
from tests.benchmarks.reader.calibration import Scored, ScoredQuestion, calibrated
from tests.benchmarks.reader.held_out import FOLDS, Claim, Question
from tests.benchmarks.table import markdown_table

Figures = dict[str, Any]
_FITTED: Final = {"squad", "written", "written_claims", "answers"}
_WITH_KINDS: Final = {"written", "answers", "support_test"}
_SURE = 0.5
_SOME_SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Scores:
    """What a reader's network makes of all that is held out, by set."""

    questions: dict[str, list[ScoredQuestion]]
    claims: dict[str, list[tuple[Claim, Scored]]]


def scores(reader: BoxedReader, folder: Path, multihop: Path) -> Scores:
    """Let a reader's network read everything that is held out; its calibration is not looked at."""
    questions = {
        "squad": held_out.squad(folder),
        "written": held_out.written_questions(folder),
        "musique_steps": held_out.musique(multihop),
    }
    claims = {
        "written_claims": held_out.written_claims(folder),
        "answers": held_out.answers(folder),
        "support_test": held_out.support_test(folder),
    }
    judged = {
        name: zip(of, reader.scores([(one.text, one.passage) for one in of]), strict=True)
        for name, of in claims.items()
    }
    return Scores(
        {name: _read(reader, of) for name, of in questions.items()},
        {name: list(of) for name, of in judged.items()},
    )


def _read(reader: BoxedReader, questions: Sequence[Question]) -> list[ScoredQuestion]:
    """The scores of the passages, and of the spans that may be worth a second look.

    How likely a span is depends on the calibration, which is not known yet: so all that have some share are
    read.
    """
    scored = iter(reader.scores([(one.text, passage) for one in questions for passage in one.passages]))
    read = [tuple(next(scored) for _ in one.passages) for one in questions]
    spans = [
        {
            (number, one.start, one.end): question.passages[number][one.start : one.end]
            for number, windows in enumerate(passages)
            for window, score in windows
            for one in found(window, question.passages[number], score.start, score.end).spans
            if one.probability >= _SOME_SHARE
        }
        for question, passages in zip(questions, read, strict=True)
    ]
    pairs = [
        (answered(question.text, words), question.passages[number])
        for question, own in zip(questions, spans, strict=True)
        for (number, _, _), words in own.items()
    ]
    judged = iter(reader.scores(pairs))
    return [
        ScoredQuestion(question, passages, {key: next(judged) for key in own})
        for question, passages, own in zip(questions, read, spans, strict=True)
    ]


def calibration_of(scored: Scores, without: int | None = None) -> Calibration:
    """The calibration by the held-out texts, or by those of all folds but one."""
    questions = (one for name, of in scored.questions.items() if name in _FITTED for one in of)
    claims = (one for name, of in scored.claims.items() if name in _FITTED for one in of)
    return calibrated(
        [one for one in questions if one.question.fold != without],
        [one for one in claims if one[0].fold != without],
    )


def measured(scored: Scores) -> Figures:
    """All figures; those of a probability are crossed, so that none is measured where it was fitted."""
    crossed = [calibration_of(scored, fold) for fold in range(FOLDS)]
    whole = calibration_of(scored)
    figures: Figures = {}
    for name, questions in scored.questions.items():
        folds = crossed if name in _FITTED else [whole] * FOLDS
        read = [(one.question, list(_readings(one, folds[one.question.fold]))) for one in questions]
        figures[name] = _questions(read) | _by_kind(name, read, _questions)
    for name, claims in scored.claims.items():
        folds = crossed if name in _FITTED else [whole] * FOLDS
        judged = [(claim, _support(windows, folds[claim.fold])) for claim, windows in claims]
        figures[name] = _claims(judged) | _by_kind(name, judged, _claims)
    return figures


def _support(windows: Scored, calibration: Calibration) -> Support:
    judgements = [judgement(score.support, calibration) for _, score in windows]
    return min(judgements, key=lambda judged: judged.neither)


def _readings(one: ScoredQuestion, calibration: Calibration) -> Iterator[Reading]:
    for number, (passage, windows) in enumerate(zip(one.question.passages, one.passages, strict=True)):
        read = reading(passage, windows, calibration)
        yield checked(read, one.judged(number, read, calibration), calibration)


def _questions(read: Sequence[tuple[Question, list[Reading]]]) -> Figures:
    answered = [one for one in read if one[0].answers]
    absent = [one for one in read if not one[0].answers]
    figures: Figures = {"answerable": len(answered), "unanswerable": len(absent)}
    if answered:
        figures["f1"] = fmean(_f1(*one, refuses=True) for one in answered)
        figures["f1_unrefused"] = fmean(_f1(*one, refuses=False) for one in answered)
        figures["passage_first"] = fmean(_first(readings) in one.gold for one, readings in answered)
        figures["wrongly_refused"] = fmean(_refused(readings) for _, readings in answered)
    if absent:
        figures["refused"] = fmean(_refused(readings) for _, readings in absent)
    told = [
        (one.probability, n in asked.gold) for asked, readings in read for n, one in enumerate(readings)
    ]
    figures["calibration_error"] = calibration_error(*np.array(told, dtype=np.float64).T)
    return figures


def _first(readings: Sequence[Reading]) -> int:
    return max(range(len(readings)), key=lambda number: readings[number].probability)


def _refused(readings: Sequence[Reading]) -> bool:
    return max(one.probability for one in readings) < _SURE


def _f1(question: Question, readings: Sequence[Reading], *, refuses: bool) -> float:
    first = _first(readings)
    if not readings[first].spans or (refuses and _refused(readings)):
        return 0.0
    best = readings[first].spans[0]
    return f1(question.passages[first][best.start : best.end], question.answers)


def _claims(judged: Sequence[tuple[Claim, Support]]) -> Figures:
    right = [support for claim, support in judged if claim.verdict == "supported"]
    wrong = [support for claim, support in judged if claim.verdict != "supported"]
    figures: Figures = {"supported": len(right), "not_supported": len(wrong)}
    if right:
        figures["called_supported"] = fmean(one.supported >= _SURE for one in right)
    if wrong:
        figures["not_called_supported"] = fmean(one.supported < _SURE for one in wrong)
    figures["verdict_right"] = fmean(_verdict(support) == claim.verdict for claim, support in judged)
    return figures


def _verdict(support: Support) -> str:
    told = {"supported": support.supported, "refuted": support.refuted, "neither": support.neither}
    return max(told, key=told.__getitem__)


def _by_kind(name: str, judged: Sequence[tuple[Any, Any]], figures: Callable[[Any], Figures]) -> Figures:
    if name not in _WITH_KINDS:
        return {}
    kinds: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
    for one in judged:
        kinds[one[0].kind].append(one)
    return {"kinds": {kind: figures(kinds[kind]) for kind in sorted(kinds)}}


_QUESTIONS: Final = {
    "answerable": "answerable",
    "F1": "f1",
    "F1 unrefused": "f1_unrefused",
    "right passage first": "passage_first",
    "absent": "unanswerable",
    "refused": "refused",
    "ECE": "calibration_error",
}
_CLAIMS: Final = {
    "supported": "supported",
    "called so": "called_supported",
    "refuted or neither": "not_supported",
    "not called supported": "not_called_supported",
    "verdict right": "verdict_right",
}
"""Headings of the tables, and the figures under them."""


def table(figures: Mapping[str, Figures]) -> str:
    titles = {
        "squad": "SQuAD 2.0, articles kept out",
        "musique_steps": "MuSiQue dev steps among 20 paragraphs",
        "written": "written, kept out",
        "written_claims": "written, kept out",
        "answers": "answers to questions",
        "support_test": "support test",
    }
    rows = [(title, figures[name]) for name, title in titles.items()]
    return f"{_table('questions', _QUESTIONS, rows[:3])}\n{_table('claims', _CLAIMS, rows[3:])}"


def _table(what: str, columns: Mapping[str, str], rows: Sequence[tuple[str, Figures]]) -> str:
    """A row of each, followed by those of its kinds."""
    lines: list[list[str]] = []
    for name, row in rows:
        kinds = {f"– {kind.replace('_', ' ')}": one for kind, one in row.get("kinds", {}).items()}
        for title, one in {name: row, **kinds}.items():
            lines.append([title, *(_cell(one.get(figure)) for figure in columns.values())])
    return markdown_table([what, *columns], lines)


def _cell(figure: float | None) -> str:
    if figure is None:
        return "–"
    return str(figure) if isinstance(figure, int) else f"{figure:.2f}"
