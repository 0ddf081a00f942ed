"""Text recognition (OCR) with the PP-OCR models of the RapidOCR package, on ONNX Runtime."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from statistics import mean, median
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from models.library_loading import usable_threads
from models.protocols import ModelError, Pixels, RecognisedWord

if TYPE_CHECKING:
    from rapidocr import RapidOCR

_SURE: Final = 0.8  # mean confidence below which a page may be upside down
_WIDE: Final = 5  # minimum ratio of width to height for the slope of a line to be trusted


class RapidOcr:
    """RapidOCR, loaded on first use; one page at a time."""

    seconds_a_page: Final = 4.0

    def __init__(self) -> None:
        self._one_at_a_time = threading.Lock()
        self._loaded_engine: RapidOCR | None = None

    def recognise(self, picture: Pixels) -> list[list[RecognisedWord]]:
        """Recognise text as `TextRecogniser` does; the picture may be slightly skewed, or upside down."""
        with self._one_at_a_time:
            try:
                result = self._detect(picture)
                if result.txts and mean(result.scores) < _SURE:
                    rotated = self._detect(picture[::-1, ::-1])
                    if rotated.txts and mean(rotated.scores) > mean(result.scores):
                        result = rotated
            except Exception as error:
                raise ModelError(
                    f"The text in a picture could not be recognised ({type(error).__name__}: {error}).",
                    "Turn recognition off with `deepthink config set ocr false`.",
                ) from error
        if not result.txts:
            return []
        angle = -_slope(np.asarray(result.boxes))
        sine, cosine = math.sin(angle), math.cos(angle)
        rotation = np.array([[cosine, -sine], [sine, cosine]])
        lines = [
            _words(text, characters, rotation)
            for text, characters in zip(result.txts, result.word_results, strict=True)
        ]
        return sorted((line for line in lines if line), key=lambda line: (line[0].top, line[0].left))

    def _detect(self, picture: Pixels) -> Any:
        return self._engine()(np.ascontiguousarray(picture[:, :, ::-1]), return_word_box=True)

    def _engine(self) -> RapidOCR:
        if self._loaded_engine is None:
            from rapidocr import RapidOCR

            self._loaded_engine = RapidOCR(
                params={
                    "Global.log_level": "critical",
                    "Global.use_cls": False,  # it rotates upright lines of Chinese
                    "EngineConfig.onnxruntime.intra_op_num_threads": usable_threads(),
                    # Keeps memory between lines: reallocating it takes a fifth of the time of a page.
                    "EngineConfig.onnxruntime.enable_cpu_mem_arena": True,
                    "Rec.rec_batch_num": 2,  # lines; fewer than the default 6, because of that memory
                }
            )
        return self._loaded_engine


def _slope(boxes: np.ndarray[Any, Any]) -> float:
    """The angle by which lines fall to the right, in radians: the median of the long lines."""
    edges = boxes[:, 1] - boxes[:, 0]
    lengths = np.hypot(edges[:, 0], edges[:, 1])
    heights = np.hypot(*(boxes[:, 3] - boxes[:, 0]).T)
    angles = [
        math.atan2(y, x)
        for (x, y), is_long in zip(edges, lengths > _WIDE * heights, strict=True)
        if is_long
    ]
    return median(angles) if angles else 0.0


def _words(
    text: str, characters: Sequence[tuple[str, float, Any]], rotation: np.ndarray[Any, Any]
) -> list[RecognisedWord]:
    """The words of a line; RapidOCR's parts (each Chinese character) are joined up to a space."""
    words: list[RecognisedWord] = []
    end = 0
    for part, confidence, box in characters:
        start = text.find(part, end)
        corners = np.asarray(box, dtype=float) @ rotation.T
        (left, top), (right, bottom) = corners.min(axis=0), corners.max(axis=0)
        word = RecognisedWord(part, float(confidence), float(left), float(top), float(right), float(bottom))
        if words and start == end:
            words[-1] = _join(words[-1], word)
        else:
            words.append(word)
        if start >= 0:
            end = start + len(part)
    return words


def _join(first: RecognisedWord, second: RecognisedWord) -> RecognisedWord:
    return RecognisedWord(
        first.text + second.text,
        min(first.confidence, second.confidence),
        first.left,
        min(first.top, second.top),
        second.right,
        max(first.bottom, second.bottom),
    )
