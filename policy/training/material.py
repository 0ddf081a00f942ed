"""The training data: trees from stores and files, checked, split by question, with a data sheet."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from agent.decisions.decider import OLDEST_VERSION
from policy.decisions import (
    INDEX,
    Read,
    Tree,
    default_columns,
    examples,
    load_trees,
    open_source,
    split,
)
from policy.training.progress import CannotTrain
from traces.paths import store_file
from traces.store import Store

FEWEST_QUESTIONS: Final = 40
FEWEST_DECISIONS: Final = 200
"""Below these a policy memorises the questions, and the held-out fifth is too small to judge it."""


@dataclass(frozen=True, slots=True)
class Material:
    """Trees to learn from."""

    training: list[Tree]
    validation: list[Tree]  # for freezing the thresholds and judging the policy
    sha256: str  # of all the data
    warnings: tuple[str, ...]  # what the user should know about the data

    @property
    def trees(self) -> list[Tree]:
        """All of them."""
        return [*self.training, *self.validation]

    @property
    def datasets(self) -> dict[str, int]:
        """Questions by data set."""
        return dict(sorted(Counter(tree.dataset for tree in self.trees).items()))

    @property
    def sources(self) -> dict[str, int]:
        """States by the source of their quality."""
        nodes = (node for tree in self.trees for node in tree.nodes.values())
        return dict(sorted(Counter(node.source for node in nodes if node.quality is not None).items()))


FEWEST_TAUGHT: Final = 20
"""Decisions that can correct a forest which has learned from others."""
NEEDED: Final[Mapping[str, int]] = {"forest": FEWEST_TAUGHT, "encoder": 3_000}
"""Decisions that each kind of policy needs; an encoder learns from nothing else.

The smallest figure from which a learned controller is reported to gain is 1,000 questions (DynaKRAG,
arXiv 2607.06507: a forest on cheap features, +4.0 to +5.8 F1 over choosing at random), and a run takes
about three decisions.
"""


def gather(sources: Sequence[Path], work: Path, *, correcting: bool = False) -> Material:
    """The trees of stores, or of exported traces, which are read into a store in the folder ``work``.

    If they are only to correct a policy, `FEWEST_TAUGHT` decisions are enough.

    Raises:
        NoSuchSource: a file does not exist.
        CannotTrain: there are too few decisions, or they cannot be learned from.
        BadTraces, StoreError: a file is neither an export of traces nor a store, or cannot be read.
    """
    stores = [open_source(source, work) for source in sources] or [Store(store_file())]
    return material(load_trees(*stores), correcting=correcting)


def material(read: Read, *, correcting: bool = False) -> Material:
    """Check and split the trees. Raises `CannotTrain` as `gather`."""
    _check_enough(read, *((1, FEWEST_TAUGHT) if correcting else (FEWEST_QUESTIONS, FEWEST_DECISIONS)))
    _check_numbers(read.trees)
    training, validation = split(read.trees)
    held_out = {_words(tree) for tree in validation} - {""}
    leaked = [tree for tree in training if _words(tree) in held_out]
    training = [tree for tree in training if _words(tree) not in held_out]
    if not training or not validation:
        raise CannotTrain(
            "None of these questions can be held out to judge the policy.", "Ask, and rate, a few more."
        )
    warnings = (
        (read.duplicates, "runs were given more than once; each counts once, as the first source has it."),
        (
            len(leaked),
            "questions are among the held-out ones in the same words; they are not learned from.",
        ),
        (
            read.other_versions,
            f"decisions have a state of an older version than {OLDEST_VERSION}; they are left out.",
        ),
        (
            read.unmeasured,
            "runs are left out: nobody knows how good their answers are. Rate them, or label decisions: "
            "“deepthink traces label”.",
        ),
    )
    given = tuple(f"{count:,} {warning}" for count, warning in warnings if count)
    return Material(training, validation, _digest(read.trees), given)


def _check_enough(read: Read, fewest_questions: int, fewest_decisions: int) -> None:
    decisions = sum(len(tree.nodes) for tree in read.trees)
    if read.other_versions and not read.trees:
        raise CannotTrain(
            f"All {read.other_versions:,} decisions have a state older than version {OLDEST_VERSION}.",
            "Collect anew: “deepthink collect --help”.",
        )
    questions = len({tree.question for tree in read.trees})
    missing = []
    if questions < fewest_questions:
        missing.append(f"{fewest_questions - questions} questions")
    if decisions < fewest_decisions:
        missing.append(f"{fewest_decisions - decisions} decisions")
    if missing:
        raise CannotTrain(
            f"There are {decisions} decisions of {questions} questions to learn from; at least "
            f"{' and '.join(missing)} more are needed.",
            "Get them with “deepthink collect --questions FILE”, or rate the answers of your own runs: "
            f"“deepthink runs”. {FEWEST_TAUGHT} decisions are enough to correct the policy that came with "
            "deepthink: “deepthink train-policy --method forest”.",
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


def _words(tree: Tree) -> str:
    return " ".join(tree.text.split()).casefold()


def _digest(trees: Sequence[Tree]) -> str:
    """sha256 of all training data, independent of the order it is stored in."""
    lines: list[str] = []
    for tree in trees:
        for node in tree.nodes.values():
            state: list[object] = [node.seen.text, dict(node.seen.features), node.valid]
            fields = [tree.question, tree.dataset, node.path, *state, node.quality, node.source, node.label]
            lines.append(json.dumps(fields, sort_keys=True, ensure_ascii=False) + "\n")
    return hashlib.sha256("".join(sorted(lines)).encode()).hexdigest()


def sheet(material: Material, cost: float) -> dict[str, str]:
    """The training data as names and figures to print, in order."""
    training, validation = examples(material.training, cost), examples(material.validation, cost)

    def line(learned: int, held_out: int) -> str:
        return f"{learned:,} to learn from, {held_out:,} held out"

    questions = [
        Counter(dataset for dataset, _ in set(zip(some.datasets, some.questions, strict=True)))
        for some in (training, validation)
    ]
    rows = {
        f"questions, {dataset}": line(questions[0][dataset], questions[1][dataset])
        for dataset in sorted(set().union(*questions))
    }
    rows["decisions"] = line(len(training), len(validation))
    rows["quality from"] = (
        ", ".join(f"{name} {count:,}" for name, count in material.sources.items()) or "nothing"
    )
    rows["cost of a step"] = f"{cost:g}"
    rows["quality of finishing"] = f"{np.nanmean(training.sufficient):.2f} on average"
    gains = training.advantages
    gains[np.arange(len(gains)), default_columns(training.states)] = np.nan
    for action, column in INDEX.items():
        known = int(np.isfinite(gains[:, column]).sum())
        better = int((gains[:, column] > 0).sum())
        if known:
            rows[f"{action} is better than the default"] = (
                f"in {better:,} of {known:,} decisions where that is known ({better / known:.0%})"
            )
    words = [len(state.text.split()) for state in training.states]
    rows["words of a state"] = f"{np.median(words):.0f} in the middle, {max(words)} at most"
    rows["numbers of a state"] = str(len(training.states[0].features))
    return rows
