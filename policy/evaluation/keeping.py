"""Scores kept on disk, so that an evaluation that was interrupted goes on where it was."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from policy.scorers import Scorer, Scores
from policy.trees import Floats, Seen

_CHUNK = 512
_HEX = 32


class Keeping:
    """A scorer that asks another one only for what it has not scored before.

    Args:
        scorer: The policy.
        file: Where the scores are kept (``.npz``): one file for one trained policy.

    Raises:
        ValueError: the file holds something else.
    """

    def __init__(self, scorer: Scorer, file: Path) -> None:
        self._scorer = scorer
        self._file = file
        self._rows = _load(file)

    @property
    def method(self) -> str:
        """The policy's."""
        return self._scorer.method

    def score(self, states: Sequence[Seen]) -> Scores:
        """Scores of ``states``, in their order; written after every few hundred new ones."""
        keys = [_key(state) for state in states]
        first = {key: i for i, key in reversed(list(enumerate(keys)))}
        new = [i for key, i in first.items() if key not in self._rows]
        for start in range(0, len(new), _CHUNK):
            chunk = new[start : start + _CHUNK]
            scores = self._scorer.score([states[i] for i in chunk])
            for row, i in enumerate(chunk):
                self._rows[keys[i]] = np.append(scores.advantages[row], scores.sufficiency[row])
            self._save()
        table = np.array([self._rows[key] for key in keys]).reshape(len(keys), 4)
        return Scores(table[:, :3], table[:, 3])

    def _save(self) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(".part.npz")
        keys = np.array(list(self._rows), dtype=f"U{_HEX}")
        np.savez(partial, keys=keys, rows=np.array(list(self._rows.values())))
        partial.replace(self._file)


def _key(state: Seen) -> str:
    seen = json.dumps([state.text, sorted(state.features.items()), state.valid])
    return hashlib.sha256(seen.encode()).hexdigest()[:_HEX]


def _load(file: Path) -> dict[str, Floats]:
    if not file.exists():
        return {}
    with np.load(file, allow_pickle=False) as kept:
        return dict(zip(kept["keys"].tolist(), kept["rows"], strict=True))
