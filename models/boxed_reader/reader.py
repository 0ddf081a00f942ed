"""The boxed reader: one small encoder that reads a passage for a question or a claim.

`tests.benchmarks.reader` makes the files beside this module. `manifest.json` has the calibration from
scores to probabilities; `README.md` is the model card. It runs on onnxruntime and tokenizers, without
torch.

A passage has the form that `agent.retrieval.passage_text.show` writes: a heading line, then the body.
Answers are searched in the body. A passage that is too long is read in overlapping windows.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from models.boxed_reader.windows import Window, Windows, answered
from models.encoders import REMEMBERED, FolderModel, open_session
from models.library_loading import library_errors, usable_threads
from models.protocols import ModelError, Reader, Reading, Reranker, Span, Support

SHIPPED: Final = Path(__file__).parent
MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
MANIFEST: Final = "manifest.json"
WORTH_CHECKING: Final = 0.2
"""Minimum probability of a span for a second reading."""

_RERANKER_WEIGHT = 0.1
_LEAST = 1e-4  # scores are clipped to this distance from 0 and 1

Scores = npt.NDArray[np.float32]
MOST_SPANS: Final = 3
_LONGEST = 30  # tokens
_CANDIDATES = 400  # examined for ones that do not overlap: the best one's neighbours rank high too
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of logistic regressions on the network's scores, fitted on held-out articles (Platt, 1999).

    Attributes:
        answers: For the classifier's logit and the spans' log-odds against "not here", and the intercept;
            the result is the log-odds that the passage answers.
        span: For the log-odds of a span's share and the former log-odds, and the intercept; the result is
            the log-odds that the span is right.
        support: Factor for the scores of the three verdicts, and the constants then added.
        checked: For the log-odds that a span is right, for those that the passage supports it as the
            question's answer, and the intercept; the result is the log-odds that the checked span is right.
    """

    answers: tuple[float, float, float]
    span: tuple[float, float, float]
    support: tuple[float, tuple[float, float, float]]
    checked: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The sha256 of each file beside the manifest, and the model's calibration."""

    files: dict[str, str]
    calibration: Calibration


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``. Raises `ModelError` if it is missing or invalid."""
    try:
        return TypeAdapter(Manifest).validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelError(
            f"The reader's manifest in {folder} cannot be read: {error}", "Install deepthink-tui again."
        ) from error


@dataclass(frozen=True, slots=True)
class Score:
    """The network's scores for one window."""

    answers: float  # logit of "this passage answers the question"
    start: npt.NDArray[np.float32]  # for each token as the first of the answer; ``end``: as the last
    end: npt.NDArray[np.float32]
    support: npt.NDArray[np.float32]  # for the three verdicts: supported, refuted, neither


@dataclass(frozen=True, slots=True)
class Found:
    """The likeliest spans of one window, best first, and the log-odds of any span against "not here".

    The probability of a span is uncalibrated: its share among all spans of the window and "not here".
    """

    margin: float
    spans: tuple[Span, ...]


def found(window: Window, passage: str, start: Scores, end: Scores) -> Found:
    """The likeliest answers in a window of ``passage``.

    A span's score is the sum of its start and end scores, as in Devlin et al. (2019); "not here" has the
    scores of ``[CLS]``. One softmax covers all spans of at most 30 tokens and "not here".
    """
    count = len(window.offsets)
    not_here = float(start[0] + end[0])
    if not count:
        return Found(-not_here, ())
    first = start[window.body : window.body + count].astype(np.float64)
    last = end[window.body : window.body + count].astype(np.float64)
    sums = np.full((count, min(_LONGEST, count)), -np.inf)
    for length in range(sums.shape[1]):
        sums[: count - length, length] = first[: count - length] + last[length:]
    highest = max(not_here, float(sums.max()))
    weights = np.exp(sums - highest)
    span_mass, not_here_mass = float(weights.sum()), float(np.exp(not_here - highest))
    likeliest = np.argsort(weights, axis=None)[::-1][:_CANDIDATES]
    shares = weights.ravel()[likeliest] / (span_mass + not_here_mass)
    positions = [divmod(int(index), sums.shape[1]) for index in likeliest]
    spans = (
        Span(*_whole_words(passage, window.offsets[at][0], window.offsets[at + extra][1]), float(share))
        for (at, extra), share in zip(positions, shares, strict=True)
        if share > 0
    )
    complete = (span for span in spans if _is_complete(passage[span.start : span.end]))
    epsilon = 1e-12
    return Found(float(np.log(span_mass + epsilon) - np.log(not_here_mass + epsilon)), apart(complete))


def apart(spans: Iterable[Span]) -> tuple[Span, ...]:
    """The first `MOST_SPANS` of ``spans`` that do not overlap an earlier one."""
    selected: list[Span] = []
    for span in spans:
        if all(span.end <= other.start or span.start >= other.end for other in selected):
            selected.append(span)
            if len(selected) == MOST_SPANS:
                break
    return tuple(selected)


def _is_complete(text: str) -> bool:
    """Whether the text has words, on one line, and balanced brackets, as a table cell does."""
    depth = 0
    for character in text:
        depth += (character in "([（") - (character in ")]）")
        if depth < 0 or character == "\n":
            return False
    return not depth and any(map(str.isalnum, text))


def _whole_words(passage: str, start: int, end: int) -> tuple[int, int]:
    """The span extended so that it cuts no word or number."""
    while start > 0 and _is_inside_word(passage, start):
        start -= 1
    while end < len(passage) and _is_inside_word(passage, end):
        end += 1
    line = passage.rfind("\n", 0, start) + 1
    for number in _NUMBER.finditer(passage, line):
        if number.start() >= end:
            break
        if number.start() < start < number.end():
            start = number.start()
        if number.start() < end < number.end():
            end = number.end()
    return start, end


def _is_inside_word(passage: str, position: int) -> bool:
    """Whether the characters on both sides of a position are in one word (scripts without spaces aside)."""
    before, after = passage[position - 1], passage[position]
    return before.isalnum() and after.isalnum() and max(before, after) < "\u2e80"


class BoxedReader(FolderModel):
    """The boxed reader. Thread-safe; reading raises `ModelError`."""

    def __init__(self, folder: Path = SHIPPED) -> None:
        super().__init__(folder, "reader", "boxed-reader")

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """One reading per passage, in the order of ``passages``.

        Likely spans are read again as claims: is this the answer to the question?
        """
        calibration = self._model()[2].calibration
        scored = self.scores([(question, passage) for passage in passages])
        readings = [
            reading(passage, windows, calibration)
            for passage, windows in zip(passages, scored, strict=True)
        ]
        likely = [
            (number, span)
            for number, first in enumerate(readings)
            for span in first.spans
            if span.probability >= WORTH_CHECKING
        ]
        pairs = [(passages[number][span.start : span.end], passages[number]) for number, span in likely]
        judgements = dict(zip(likely, self.judge(question, pairs), strict=True))
        return [
            checked(
                first,
                {span: support for (at, span), support in judgements.items() if at == number},
                calibration,
            )
            for number, first in enumerate(readings)
        ]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """One judgement per ``(claim, passage)`` pair, in their order.

        For a long passage the most decisive window counts.
        """
        calibration = self._model()[2].calibration
        judgements = (
            [judgement(score.support, calibration) for _, score in windows]
            for windows in self.scores(pairs)
        )
        return [min(windows, key=lambda support: support.neither) for windows in judgements]

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return self.support([(answered(question, answer), passage) for answer, passage in pairs])

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[list[tuple[Window, Score]]]:
        """The windows of each pair of a question (or claim) and a passage, with the network's scores."""
        score, windows, _ = self._model()
        per_pair = windows.of(pairs)
        ids = [tuple(window.ids) for pair_windows in per_pair for window in pair_windows]
        seconds = [window.second for pair_windows in per_pair for window in pair_windows]
        if len(ids) == 1:
            scores = iter([score(ids[0], seconds[0])])
        else:
            with ThreadPoolExecutor(usable_threads()) as pool:
                scores = iter(list(pool.map(score, ids, seconds)))
        return [[(window, next(scores)) for window in pair_windows] for pair_windows in per_pair]

    def _load(self) -> tuple[Any, Windows, Manifest]:
        from tokenizers import Tokenizer

        manifest = read_manifest(self._folder)
        for name, sha256 in manifest.files.items():
            _check(self._folder / name, sha256)
        with library_errors(self._folder, self._what, "could not be loaded"):
            session = open_session(self._folder / MODEL, threads=1)
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
        return lru_cache(REMEMBERED)(partial(_run, session)), Windows(tokenizer), manifest


def _check(path: Path, sha256: str) -> None:
    try:
        with path.open("rb") as stream:
            matches = hashlib.file_digest(stream, "sha256").hexdigest() == sha256
    except OSError:
        matches = False
    if not matches:
        raise ModelError(f"{path} is not what the reader's manifest names.", "Install deepthink-tui again.")


def _run(session: Any, token_ids: tuple[int, ...], second: int) -> Score:
    """The scores of one window, whose second segment begins at ``second``.

    One at a time: the weights are 8-bit, and the scale of the activations is computed over the whole input.
    In a batch, a passage's score would depend on its neighbours.
    """
    ids = np.array([token_ids], dtype=np.int64)
    types = (np.arange(len(token_ids), dtype=np.int64) >= second).astype(np.int64)[None]
    answers, start, end, support = session.run(
        ["answers", "start", "end", "support"],
        {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types},
    )
    return Score(float(answers[0]), start[0], end[0], support[0])


def reading(passage: str, windows: Sequence[tuple[Window, Score]], calibration: Calibration) -> Reading:
    logit, margin, intercept = calibration.answers
    share_weight, reading_weight, span_intercept = calibration.span
    likeliest = 0.0
    spans: list[tuple[float, Span]] = []
    for window, score in windows:
        match = found(window, passage, score.start, score.end)
        odds = logit * score.answers + margin * match.margin + intercept
        likeliest = max(likeliest, probability(odds))
        spans += [
            (share_weight * log_odds(span.probability) + reading_weight * odds + span_intercept, span)
            for span in match.spans
        ]
    spans.sort(key=lambda pair: -pair[0])
    return Reading(likeliest, apart(replace(span, probability=probability(odds)) for odds, span in spans))


def checked(read: Reading, judged: Mapping[Span, Support], calibration: Calibration) -> Reading:
    """The reading with updated probabilities for the spans that were ``judged`` in a second reading."""
    span_weight, support_weight, intercept = calibration.checked
    spans = []
    for span in read.spans:
        odds = log_odds(span.probability)
        if span in judged:
            odds = span_weight * odds + support_weight * log_odds(judged[span].supported) + intercept
        spans.append(replace(span, probability=probability(odds)))
    return Reading(read.probability, tuple(sorted(spans, key=lambda span: -span.probability)))


def judgement(support: npt.NDArray[np.float32], calibration: Calibration) -> Support:
    """Three scores as probabilities."""
    slope, constants = calibration.support
    scores = slope * support.astype(np.float64) + np.array(constants)
    shares = np.exp(scores - scores.max())
    supported, refuted, neither = (shares / shares.sum()).tolist()
    return Support(supported, refuted, neither)


def log_odds(share: float, least: float = 1e-6) -> float:
    """The log-odds of a probability, which is clipped to at least ``least`` away from 0 and 1."""
    clipped = min(max(share, least), 1 - least)
    return math.log(clipped / (1 - clipped))


def probability(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, log_odds))))


class RankedReader:
    """A `Reader` whose passage probabilities include a reranker's score, weighted in log-odds.

    A reranker confuses the topic with the answer, and misses answers in other words, so its weight is a
    tenth. On questions about written passages kept out of training, the right passage came first for 73 %
    with the reader alone, for 78 % with this weight, and for 79 % with an equal one. But with an equal
    weight the best passage's probability no longer separated answerable questions from others (AUROC 0.49;
    with this weight 0.85). Spans keep the reader's probability.
    """

    def __init__(self, reader: Reader, reranker: Reranker) -> None:
        self.name = f"{reader.name} with {reranker.name}"
        self._reader = reader
        self._reranker = reranker

    def warm_up(self) -> None:
        self.read("warm up", ["warm up\nwarm up"])

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """The reader's spans, with the combined probabilities."""
        scores = self._reranker.score(question, passages)
        readings = self._reader.read(question, passages)
        return [_combine(reading, score) for reading, score in zip(readings, scores, strict=True)]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return self._reader.support(pairs)

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        return self._reader.judge(question, pairs)


def _combine(reading: Reading, score: float) -> Reading:
    odds = _RERANKER_WEIGHT * log_odds(score, _LEAST) + (1 - _RERANKER_WEIGHT) * log_odds(
        reading.probability, _LEAST
    )
    return Reading(probability(odds), reading.spans)
