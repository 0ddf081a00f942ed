"""Examples as rows of tokens, kept in a file, and rows as batches."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from models.boxed_reader.windows import Window, Windows
from tests.benchmarks.reader.data import VERDICTS, Example, Group
from tests.benchmarks.reader.passages import Span

Tokens: TypeAlias = npt.NDArray[np.int32]
NOTHING: Final = -1  # no verdict, or no answer, because it was not asked for


@dataclass(frozen=True, slots=True)
class Row:
    ids: Tokens  # of one window
    second: int  # position of the first token of the second segment
    body: int  # position of the first token of the body
    spans: tuple[Span, ...]  # first and last token of each answer; empty if there is none here
    answers: int  # 1 if the passage answers the question, 0 if not, `NOTHING` for a claim
    verdict: int  # position in `VERDICTS`, `NOTHING` for a question


Rows: TypeAlias = list[tuple[Row, ...]]


def encoded(groups: Sequence[Group], windows: Windows) -> Rows:
    """Each group as rows; of a long passage the window with the answer, or the first.

    A claim whose evidence takes more than one window is left out: its verdict may rest on what is cut.
    """
    flat = [one for group in groups for one in group]
    cuts = iter(windows.of([(one.text, one.passage) for one in flat]))
    made: Rows = []
    for group in groups:
        rows = [row for one in group if (row := _row(one, next(cuts))) is not None]
        if rows:
            made.append(tuple(rows))
    return made


def _row(example: Example, cut: Sequence[Window]) -> Row | None:
    window = cut[0]
    spans: tuple[Span, ...] = ()
    if example.verdict is not None and len(cut) > 1:
        return None
    if example.spans:
        held = [(one, found) for one in cut if (found := token_spans(example.spans, one))]
        if not held:
            return None
        window, spans = max(held, key=lambda one: len(one[1]))
    return Row(
        np.array(window.ids, dtype=np.int32),
        window.second,
        window.body,
        spans,
        NOTHING if example.answers is None else int(example.answers),
        NOTHING if example.verdict is None else VERDICTS.index(example.verdict),
    )


def token_spans(spans: Sequence[Span], window: Window) -> tuple[Span, ...]:
    """The spans of characters that lie in the window, as first and last token."""
    found = []
    for start, end in spans:
        inside = [n for n, (first, last) in enumerate(window.offsets) if first < end and last > start]
        if inside and window.offsets[inside[0]][0] <= start and window.offsets[inside[-1]][1] >= end:
            found.append((window.body + inside[0], window.body + inside[-1]))
    return tuple(found)


def save(rows: Rows, path: Path) -> None:
    """Write the rows, all or nothing."""
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        pickle.dump(rows, stream, protocol=pickle.HIGHEST_PROTOCOL)
    part.replace(path)


def load(path: Path) -> Rows:
    with path.open("rb") as stream:
        rows: Rows = pickle.load(stream)  # a file of our own work folder
    return rows


def collate(groups: Sequence[tuple[Row, ...]]) -> dict[str, Any]:
    """A batch: the rows of all groups, padded, with what is to be learned.

    ``input_ids``, ``attention_mask``, ``token_type_ids``, ``allowed`` (where an answer may begin or end),
    ``start`` and ``end`` (their shares) are ``(B, T)``; ``answers``, ``verdict`` and ``group`` ``(B,)``.
    """
    import torch

    rows = [row for group in groups for row in group]
    width = max(len(row.ids) for row in rows)
    shape = (len(rows), width)
    ids = np.zeros(shape, dtype=np.int64)
    mask, types = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    allowed = np.zeros(shape, dtype=bool)
    start, end = np.zeros(shape, dtype=np.float32), np.zeros(shape, dtype=np.float32)
    for number, row in enumerate(rows):
        length = len(row.ids)
        ids[number, :length] = row.ids
        mask[number, :length] = 1
        types[number, row.second : length] = 1
        allowed[number, row.body : length - 1] = True
        allowed[number, 0] = True
        for first, last in row.spans or ((0, 0),):
            start[number, first] += 1 / max(1, len(row.spans))
            end[number, last] += 1 / max(1, len(row.spans))
    return {
        "input_ids": torch.from_numpy(ids),
        "attention_mask": torch.from_numpy(mask),
        "token_type_ids": torch.from_numpy(types),
        "allowed": torch.from_numpy(allowed),
        "start": torch.from_numpy(start),
        "end": torch.from_numpy(end),
        "answers": torch.tensor([row.answers for row in rows]),
        "verdict": torch.tensor([row.verdict for row in rows]),
        "group": torch.tensor([number for number, group in enumerate(groups) for _ in group]),
    }
