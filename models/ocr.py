"""Text recognition (OCR) with the PP-OCR models that RapidOCR's package brings, on ONNX Runtime."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from models.processor import usable_threads
from models.protocols import ModelError, Pixels, RecognisedWord

if TYPE_CHECKING:
    from rapidocr import RapidOCR

_SURE: Final = 0.8  # mean confidence below which a page may be upside down
_WIDE: Final = 5  # times its height a line is at least whose slope is trusted


class RapidOcr:
    """RapidOCR, loaded on first use; one page at a time."""

    seconds_a_page: Final = 4.0

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._opened: RapidOCR | None = None

    def recognise(self, picture: Pixels) -> list[list[RecognisedWord]]:
        """As `TextRecogniser` says; the picture may be skewed by some degrees, or upside down."""
        with self._one_at_a_time:
            try:
                result = self._found(picture)
                if result.txts and mean(result.scores) < _SURE:
                    turned = self._found(picture[::-1, ::-1])
                    result = turned if turned.txts and mean(turned.scores) > mean(result.scores) else result
            except Exception as error:
                raise ModelError(
                    f"The text in a picture could not be recognised ({type(error).__name__}: {error}).",
                    "Turn recognition off with `deepthink config set ocr false`.",
                ) from error
        if not result.txts:
            return []
        straight = _rotation(-_slope(np.asarray(result.boxes)))
        lines = [
            list(_words(text, characters, straight))
            for text, characters in zip(result.txts, result.word_results, strict=True)
        ]
        return sorted((line for line in lines if line), key=lambda line: (line[0].top, line[0].left))

    def _found(self, picture: Pixels) -> Any:
        return self._engine()(np.ascontiguousarray(picture[:, :, ::-1]), return_word_box=True)

    def _engine(self) -> RapidOCR:
        if self._opened is None:
            from rapidocr import RapidOCR

            self._opened = RapidOCR(
                params={
                    "Global.log_level": "critical",
                    "Global.use_cls": False,  # it turns sound lines of Chinese upside down
                    "EngineConfig.onnxruntime.intra_op_num_threads": usable_threads(),
                    # Memory is kept between lines: allocating it anew takes a fifth of the time of a page.
                    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
                    "Rec.rec_batch_num": 2,  # lines; fewer than the default 6, because of that memory
                }
            )
        return self._opened


def _slope(boxes: np.ndarray[Any, Any]) -> float:
    """The angle by which the lines fall to the right, in radians: the median of the long ones."""
    edges = boxes[:, 1] - boxes[:, 0]
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    heights = np.hypot(*(boxes[:, 3] - boxes[:, 0]).T)
    angles = [
        math.atan2(y, x) for (x, y), long in zip(edges, lengths > _WIDE * heights, strict=True) if long
    ]
    return median(angles) if angles else 0.0


def _rotation(angle: float) -> np.ndarray[Any, Any]:
    sine, cosine = math.sin(angle), math.cos(angle)
    return np.array([[cosine, -sine], [sine, cosine]])


def _words(
    text: str, characters: Sequence[tuple[str, float, Any]], straight: np.ndarray[Any, Any]
) -> Iterator[RecognisedWord]:
    """The words of a line: what RapidOCR gives apart (each Chinese character) together up to a space."""
    at = 0
    whole: RecognisedWord | None = None
    for part, confidence, box in characters:
        start = text.find(part, at)
        corners = np.asarray(box, dtype=float) @ straight.T
        (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
        word = RecognisedWord(part, float(confidence), float(left), float(top), float(right), float(bottom))
        apart = start < 0 or bool(text[at:start].strip()) or text[at:start] != text[at:start].strip()
        at = max(at, start) + len(part) * (start >= 0)
        if whole is None:
            whole = word
        elif apart:
            yield whole
            whole = word
        else:
            whole = _joined(whole, word)
    if whole is not None:
        yield whole


def _joined(one: RecognisedWord, two: RecognisedWord) -> RecognisedWord:
    return RecognisedWord(
        one.text + two.text,
        min(one.confidence, two.confidence),
        one.left,
        min(one.top, two.top),
        two.right,
        max(one.bottom, two.bottom),
    )
