"""The training data: trees from stores and files, checked, split by question, with a data sheet."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from agent.decisions.decider import STATE_VERSION
from policy.decisions.reading import Read, distinct, load_trees, open_source
from policy.decisions.returns import Examples
from policy.decisions.trees import INDEX, Tree, default_action, split
from policy.training.errors import CannotTrain
from traces.paths import store_file
from traces.store import Store

FEWEST_QUESTIONS: Final = 40
FEWEST_DECISIONS: Final = 200
"""Below these a policy memorises the questions, and the held-out fifth is too small to judge it."""


@dataclass(frozen=True, slots=True)
class Material:
    """Trees to learn from.

    Attributes:
        validation: Trees for freezing the thresholds and judging the policy.
        sources: States by the source of their quality.
        sha256: Of all the data.
        warnings: What the user should know about the data.
    """

    training: list[Tree]
    validation: list[Tree]
    sources: dict[str, int]
    sha256: str
    warnings: tuple[str, ...]

    @property
    def trees(self) -> list[Tree]:
        """All of them."""
        return [*self.training, *self.validation]

    @property
    def datasets(self) -> dict[str, int]:
        """Questions by data set."""
        return dict(sorted(Counter(tree.dataset for tree in self.trees).items()))


def gather(sources: Sequence[Path], work: Path) -> Material:
    """The trees of stores, or of exported traces, which are read into a store in the folder ``work``.

    Raises:
        NoSuchSource: a file does not exist.
        CannotTrain: there are too few decisions, or they cannot be learned from.
        BadTraces, StoreError: a file is neither an export of traces nor a store, or cannot be read.
    """
    stores = [open_source(source, work) for source in sources] or [Store(store_file())]
    parts = [load_trees(store) for store in stores]
    all_trees = [tree for part in parts for tree in part.trees]
    trees = distinct(all_trees)
    measured_nodes = (node for tree in trees for node in tree.nodes.values() if node.quality is not None)
    read = Read(
        trees,
        sum(part.other_versions for part in parts),
        sum(part.unmeasured for part in parts),
        dict(Counter(node.source for node in measured_nodes)),
    )
    return material(read, len(all_trees) - len(trees))


def material(read: Read, duplicates: int = 0) -> Material:
    """Check and split the trees; ``duplicates``: runs that were given more than once.

    Raises:
        CannotTrain: as `gather`.
    """
    _check_enough(read)
    _check_numbers(read.trees)
    training, validation = split(read.trees)
    training, leaked = _exclude(training, {_question_key(tree) for tree in validation})
    warnings: list[str] = []
    if duplicates:
        warnings.append(
            f"{duplicates:,} runs were given more than once; each counts once, as the first source has it."
        )
    if leaked:
        warnings.append(
            f"{leaked} questions are among the held-out ones in the same words; they are not learned from."
        )
    if read.other_versions:
        warnings.append(
            f"{read.other_versions} decisions have a state of another version than {STATE_VERSION}; they "
            "are left out."
        )
    if read.unmeasured:
        warnings.append(
            f"{read.unmeasured} runs are left out: nobody knows how good their answers are. Rate them, or "
            "label decisions: “deepthink traces label”."
        )
    return Material(training, validation, read.sources, _digest(read.trees), tuple(warnings))


def _check_enough(read: Read) -> None:
    decisions = sum(len(tree.nodes) for tree in read.trees)
    if read.other_versions and not read.trees:
        raise CannotTrain(
            f"All {read.other_versions:,} decisions have a state of another version than {STATE_VERSION}.",
            "Collect anew: “deepthink collect --help”.",
        )
    questions = len({tree.question for tree in read.trees})
    if questions >= FEWEST_QUESTIONS and decisions >= FEWEST_DECISIONS:
        return
    missing = []
    if questions < FEWEST_QUESTIONS:
        missing.append(f"{FEWEST_QUESTIONS - questions} questions")
    if decisions < FEWEST_DECISIONS:
        missing.append(f"{FEWEST_DECISIONS - decisions} decisions")
    raise CannotTrain(
        f"There are {decisions} decisions of {questions} questions to learn from; at least "
        f"{' and '.join(missing)} more are needed.",
        "Get them with “deepthink collect --questions FILE”, or rate the answers of "
        "your own runs: “deepthink runs”.",
    )


def _check_numbers(trees: Sequence[Tree]) -> None:
    for tree in trees:
        for node in tree.nodes.values():
            wrong = [name for name, value in node.seen.features.items() if not math.isfinite(value)]
            if wrong or not node.seen.features:
                raise CannotTrain(
                    f"A decision of “{tree.text or tree.question}” has no number for "
                    f"{wrong[0] if wrong else 'anything'}.",
                    "These traces are damaged; collect or import them anew.",
                )
            if node.quality is not None and not 0.0 <= node.quality <= 1.0:
                raise CannotTrain(
                    f"Finishing “{tree.text or tree.question}” has the quality {node.quality}; it has "
                    "to lie between 0 and 1.",
                    "These traces are damaged; collect or import them anew.",
                )


def _exclude(trees: Sequence[Tree], questions: set[str]) -> tuple[list[Tree], int]:
    """The trees whose question is not among ``questions``, and the number of excluded ones."""
    remaining = [tree for tree in trees if not _question_key(tree) or _question_key(tree) not in questions]
    return remaining, len(trees) - len(remaining)


def _question_key(tree: Tree) -> str:
    return " ".join(tree.text.split()).casefold()


def _digest(trees: Sequence[Tree]) -> str:
    """sha256 of all training data, independent of the order it is stored in."""
    digest = hashlib.sha256()
    for line in sorted(line for tree in trees for line in _lines(tree)):
        digest.update(line.encode())
    return digest.hexdigest()


def _lines(tree: Tree) -> Iterator[str]:
    for node in tree.nodes.values():
        state: list[object] = [node.seen.text, dict(node.seen.features), node.valid]
        fields = [tree.question, tree.dataset, node.path, *state, node.quality, node.source]
        fields += [dict(node.detail), node.label]
        yield json.dumps(fields, sort_keys=True, ensure_ascii=False) + "\n"


def sheet(
    training: Examples, validation: Examples, sources: Mapping[str, int], cost: float
) -> dict[str, str]:
    """The training data as names and figures to print, in order."""
    rows: dict[str, str] = {}
    for dataset in sorted(set(training.datasets) | set(validation.datasets)):
        learned, held_out = _count_questions(training, dataset), _count_questions(validation, dataset)
        rows[f"questions, {dataset}"] = f"{learned:,} to learn from, {held_out:,} held out"
    rows["decisions"] = f"{len(training):,} to learn from, {len(validation):,} held out"
    rows["quality from"] = ", ".join(f"{name} {count:,}" for name, count in sources.items()) or "nothing"
    rows["cost of a step"] = f"{cost:g}"
    rows["evidence complete"] = f"{np.nanmean(training.sufficient):.0%} of the decisions"
    for action in INDEX:
        better, known = _count_better(training, INDEX[action])
        if known:
            rows[f"{action} is better than the default"] = (
                f"in {better:,} of {known:,} decisions where that is known ({better / known:.0%})"
            )
    words = [len(state.text.split()) for state in training.states]
    rows["words of a state"] = f"{np.median(words):.0f} in the middle, {max(words)} at most"
    rows["numbers of a state"] = str(len(training.states[0].features))
    return rows


def _count_questions(examples: Examples, dataset: str) -> int:
    return len(
        {
            question
            for question, name in zip(examples.questions, examples.datasets, strict=True)
            if name == dataset
        }
    )


def _count_better(examples: Examples, column: int) -> tuple[int, int]:
    """In how many states an action beats the default, and in how many that is known."""
    is_default = np.array([INDEX[default_action(state.valid)] == column for state in examples.states])
    gains = examples.advantages[~is_default, column]
    gains = gains[~np.isnan(gains)]
    return int((gains > 0).sum()), int(gains.size)
