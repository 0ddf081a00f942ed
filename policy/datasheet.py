"""The data sheet of a training, and its examples as a Hugging Face data set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from policy.examples import Examples
from policy.trees import INDEX, default_action


def sheet(
    training: Examples, validation: Examples, sources: Mapping[str, int], cost: float
) -> dict[str, str]:
    """What is learned from, in names and figures to print, in order."""
    rows: dict[str, str] = {}
    for dataset in sorted(set(training.datasets) | set(validation.datasets)):
        rows[f"questions, {dataset}"] = (
            f"{_questions(training, dataset):,} to learn from, {_questions(validation, dataset):,} held out"
        )
    rows["decisions"] = f"{len(training):,} to learn from, {len(validation):,} held out"
    rows["quality from"] = ", ".join(f"{name} {count:,}" for name, count in sources.items()) or "nothing"
    rows["cost of a step"] = f"{cost:g}"
    rows["evidence complete"] = f"{np.nanmean(training.sufficient):.0%} of the decisions"
    for action in INDEX:
        better, known = _better(training, INDEX[action])
        if known:
            rows[f"{action} is better than the default"] = (
                f"in {better:,} of {known:,} decisions where that is known ({better / known:.0%})"
            )
    words = [len(state.text.split()) for state in training.states]
    rows["words of a state"] = f"{np.median(words):.0f} in the middle, {max(words)} at most"
    rows["numbers of a state"] = str(len(training.states[0].features))
    return rows


def dataset(training: Examples, validation: Examples) -> Any:
    """A `datasets.DatasetDict` with the splits ``train`` and ``validation``, a row for each state.

    Columns: ``question``, ``dataset``, ``text``, ``features`` (by name), ``valid``, ``values``,
    ``advantages`` (three each, as `policy.trees.INDEX`, NaN where unknown), ``sufficient``, ``weight``.
    """
    from datasets import DatasetDict

    return DatasetDict({"train": _split(training), "validation": _split(validation)})


def _split(examples: Examples) -> Any:
    from datasets import Dataset

    return Dataset.from_dict(
        {
            "question": list(examples.questions),
            "dataset": list(examples.datasets),
            "text": [state.text for state in examples.states],
            "features": [dict(state.features) for state in examples.states],
            "valid": [list(state.valid) for state in examples.states],
            "values": examples.values.tolist(),
            "advantages": examples.advantages.tolist(),
            "sufficient": examples.sufficient.tolist(),
            "weight": examples.weights.tolist(),
        }
    )


def _questions(examples: Examples, dataset: str) -> int:
    return len({q for q, d in zip(examples.questions, examples.datasets, strict=True) if d == dataset})


def _better(examples: Examples, column: int) -> tuple[int, int]:
    """In how many states an action beats the default one, and of how many that is known."""
    is_default = np.array([INDEX[default_action(state.valid)] == column for state in examples.states])
    told = examples.advantages[~is_default, column]
    told = told[~np.isnan(told)]
    return int((told > 0).sum()), int(told.size)
