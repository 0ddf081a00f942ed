"""The reader that the package ships: one small encoder that reads a passage for a question or a claim.

`tests.benchmarks.reader` makes the files beside this module. `manifest.json` says how scores become
probabilities; `README.md` is the model card. It runs on onnxruntime and tokenizers, without torch.

A passage is given as `agent.retrieval.passage_text.show` writes it: a heading line, then the body. An
answer is looked for in the body. A passage that is too long is read in overlapping windows.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter, ValidationError

from models.boxed_reader.spans import Found, apart, found
from models.boxed_reader.windows import Window, Windows, answered
from models.processor import usable_threads
from models.protocols import ModelError, Reading, Span, Support

NAME: Final = "boxed-reader"
SHIPPED: Final = Path(__file__).parent
MODEL: Final = "model.onnx"
TOKENIZER: Final = "tokenizer.json"
MANIFEST: Final = "manifest.json"
WORTH_CHECKING: Final = 0.2
"""Probability of a span from which it is read a second time."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """Weights of logistic regressions on the network's scores, fitted on held-out articles (Platt, 1999).

    Attributes:
        answers: Of the classifier's logit and of the spans' log-odds against "not here", and the intercept:
            gives the log-odds that the passage answers.
        span: Of the log-odds of a span's share and of those log-odds, and the intercept: gives the log-odds
            that the span is right.
        support: What each of the three verdicts' scores is multiplied by, and what is then added.
        checked: Of the log-odds that a span is right and of those that the passage supports it as the
            question's answer, and the intercept: gives the log-odds that a span so checked is right.
    """

    answers: tuple[float, float, float]
    span: tuple[float, float, float]
    support: tuple[float, tuple[float, float, float]]
    checked: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The sha256 of each file beside the manifest, and the calibration of the model among them."""

    files: dict[str, str]
    calibration: Calibration


def read_manifest(folder: Path) -> Manifest:
    """The manifest in ``folder``.

    Raises:
        ModelError: it is not there, or not what it should be.
    """
    try:
        return TypeAdapter(Manifest).validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise ModelError(
            f"The reader's manifest in {folder} cannot be read: {error}", "Install deepthink-tui again."
        ) from error


@dataclass(frozen=True, slots=True)
class Score:
    """The network's scores for one window.

    Attributes:
        answers: Logit of "this passage answers the question".
        start: Of each token as the answer's first; ``end``: as its last.
        support: Of the three verdicts: supported, refuted, neither.
    """

    answers: float
    start: npt.NDArray[np.float32]
    end: npt.NDArray[np.float32]
    support: npt.NDArray[np.float32]


class BoxedReader:
    """The shipped reader, loaded at its first use. Thread-safe; reading raises `ModelError`.

    Args:
        threads: Passages that are read at once, each by one thread; by default one for each core worth it.
    """

    def __init__(self, folder: Path = SHIPPED, threads: int | None = None) -> None:
        self._folder = folder
        self._threads = threads or usable_threads()
        self._lock = threading.Lock()
        self._loaded: tuple[Any, Windows, Manifest] | None = None

    @property
    def name(self) -> str:
        """``boxed-reader``."""
        return NAME

    def ready(self) -> bool:
        """Whether the model is loaded, so that the next call is quick."""
        return self._loaded is not None

    def warm_up(self) -> None:
        """Load the model and run it once; meant for a worker thread. Raises `ModelError`."""
        self.read("warm up", ["warm up\nwarm up"])

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        """One reading per passage, in the order of ``passages``.

        Likely spans are read a second time, as claims: is this the answer to the question?
        """
        calibration = self._opened()[2].calibration
        scored = self.scores([(question, passage) for passage in passages])
        readings = [
            reading(passage, windows, calibration)
            for passage, windows in zip(passages, scored, strict=True)
        ]
        likely = [
            (number, span)
            for number, one in enumerate(readings)
            for span in one.spans
            if span.probability >= WORTH_CHECKING
        ]
        pairs = [(passages[number][span.start : span.end], passages[number]) for number, span in likely]
        judged = dict(zip(likely, self.judge(question, pairs), strict=True))
        return [
            checked(one, {span: found for (n, span), found in judged.items() if n == number}, calibration)
            for number, one in enumerate(readings)
        ]

    def support(self, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """One judgement per ``(claim, passage)`` pair, in their order.

        Of a long passage the window counts that says most about the claim.
        """
        calibration = self._opened()[2].calibration
        judged = (
            [judgement(score.support, calibration) for _, score in windows]
            for windows in self.scores(pairs)
        )
        return [min(windows, key=lambda one: one.neither) for windows in judged]

    def judge(self, question: str, pairs: Sequence[tuple[str, str]]) -> list[Support]:
        """One judgement per ``(answer, passage)`` pair, in order: does the passage give this answer?"""
        return self.support([(answered(question, answer), passage) for answer, passage in pairs])

    def scores(self, pairs: Sequence[tuple[str, str]]) -> list[list[tuple[Window, Score]]]:
        """The windows of each pair of a question (or claim) and a passage, with the network's scores."""
        session, windows, _ = self._opened()
        cut = windows.of(pairs)
        flat = [window for one in cut for window in one]
        if len(flat) == 1:
            scores = iter([_run(session, flat[0])])
        else:
            with ThreadPoolExecutor(self._threads) as pool:
                scores = iter(list(pool.map(partial(_run, session), flat)))
        return [[(window, next(scores)) for window in one] for one in cut]

    def _opened(self) -> tuple[Any, Windows, Manifest]:
        with self._lock:
            if self._loaded is None:
                manifest = read_manifest(self._folder)
                for name, wanted in manifest.files.items():
                    _check(self._folder / name, wanted)
                self._loaded = (*self._opened_files(), manifest)
            return self._loaded

    def _opened_files(self) -> tuple[Any, Windows]:
        import onnxruntime
        from tokenizers import Tokenizer

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        try:
            session = onnxruntime.InferenceSession(
                str(self._folder / MODEL), options, providers=["CPUExecutionProvider"]
            )
            tokenizer = Tokenizer.from_file(str(self._folder / TOKENIZER))
        except Exception as error:  # both libraries raise types of their own, and plain ones
            raise ModelError(
                f"The reader in {self._folder} cannot be loaded: {error}", "Install deepthink-tui again."
            ) from error
        return session, Windows(tokenizer)


def _check(path: Path, wanted: str) -> None:
    try:
        with path.open("rb") as stream:
            same = hashlib.file_digest(stream, "sha256").hexdigest() == wanted
    except OSError:
        same = False
    if not same:
        raise ModelError(f"{path} is not what the reader's manifest names.", "Install deepthink-tui again.")


def _run(session: Any, window: Window) -> Score:
    """The scores of one window.

    One at a time: the weights are 8-bit, and the scale of what flows between the layers is taken from all
    that is computed together. In a batch, a passage's score would change with its neighbours.
    """
    count = len(window.ids)
    ids = np.array([window.ids], dtype=np.int64)
    types = (np.arange(count, dtype=np.int64) >= window.second).astype(np.int64)[None]
    answers, start, end, support = session.run(
        ["answers", "start", "end", "support"],
        {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": types},
    )
    return Score(float(answers[0]), start[0], end[0], support[0])


def reading(passage: str, windows: Sequence[tuple[Window, Score]], calibration: Calibration) -> Reading:
    """What the scores of a passage's windows come to."""
    read: list[tuple[float, Found]] = []
    for window, score in windows:
        here = found(window, passage, score.start, score.end)
        logit, margin, intercept = calibration.answers
        read.append((logit * score.answers + margin * here.margin + intercept, here))
    of_share, of_reading, intercept = calibration.span
    spans = sorted(
        (
            (of_share * log_odds(one.share) + of_reading * odds + intercept, one)
            for odds, here in read
            for one in here.candidates
        ),
        key=lambda pair: -pair[0],
    )
    sure = {one: probability(odds) for odds, one in spans}
    return Reading(
        max(probability(odds) for odds, _ in read),
        tuple(Span(one.start, one.end, sure[one]) for one in apart([one for _, one in spans])),
    )


def checked(read: Reading, judged: Mapping[Span, Support], calibration: Calibration) -> Reading:
    """The reading with the probabilities of those spans changed that were ``judged`` a second time."""
    of_span, of_support, intercept = calibration.checked
    spans = []
    for span in read.spans:
        odds = log_odds(span.probability)
        if span in judged:
            odds = of_span * odds + of_support * log_odds(judged[span].supported) + intercept
        spans.append(replace(span, probability=probability(odds)))
    return Reading(read.probability, tuple(sorted(spans, key=lambda span: -span.probability)))


def judgement(support: npt.NDArray[np.float32], calibration: Calibration) -> Support:
    """Three scores as probabilities."""
    slope, added = calibration.support
    scores = slope * support.astype(np.float64) + np.array(added)
    shares = np.exp(scores - scores.max())
    supported, refuted, neither = (shares / shares.sum()).tolist()
    return Support(supported, refuted, neither)


def log_odds(share: float, least: float = 1e-6) -> float:
    """The log-odds of a probability; one nearer to 0 or 1 than ``least`` counts as that."""
    held = min(max(share, least), 1 - least)
    return math.log(held / (1 - held))


def probability(log_odds: float) -> float:
    """The probability of log-odds."""
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, log_odds))))
