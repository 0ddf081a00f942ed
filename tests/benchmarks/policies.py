"""Trained policies against the default schedule, on published question sets; and the box made of them.

    python -m tests.benchmarks.policies DATA --work DIR [--method forest] [--box policy/box]

Collects every path of each ``NAME_train.jsonl`` and ``NAME_dev.jsonl`` in DATA without a language model,
trains the methods on the train questions, and walks them over the dev questions. What is collected and
trained stays in DIR: the same command continues.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast, get_args

import numpy as np

from agent.state import Action
from policy.decisions import COST, Node, Tree, load_trees
from policy.evaluation.report import Table, machine, markdown_table
from policy.judging import (
    RESAMPLES,
    SEED,
    Decide,
    Outcomes,
    Scored,
    calibration_error,
    default_schedule,
    follow,
    mean,
    means,
    processor_ms,
    score,
)
from policy.serving.folder import CARD, Manifest, Method, open_policy, read, write
from policy.serving.registry import ACTIVE, Registry
from policy.serving.scorers import Scorer
from policy.training.course import TrainingRequest, train
from policy.training.material import gather
from tests.benchmarks.collecting import collect
from traces.store import Store
from tui.assemble import open_embedder, open_reader
from tui.policy.collecting import watch_collecting
from tui.policy.training import show_training
from tui.settings.settings import load

_FIXED = 4


def main(arguments: Sequence[str]) -> None:
    """Collect, train, evaluate; with ``--box`` copy the policies there, the first of them active."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.policies", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--method", action="append", choices=get_args(Method))
    parser.add_argument("--box", type=Path)
    given = parser.parse_args(arguments)
    work: Path = given.work
    methods = cast("list[Method]", given.method or ["forest", "reward"])
    train_files = [file for file in sorted(given.data.glob("*_train.jsonl")) if _dev(file).is_file()]
    if not train_files:
        parser.error(f"{given.data} has no NAME_train.jsonl with a NAME_dev.jsonl beside it")
    training = [collected(file, work) for file in train_files]
    testing = [collected(_dev(file), work) for file in train_files]
    for method in methods:
        trained(method, training, work)
    command = shlex.join(["python -m tests.benchmarks.policies", given.data.name, *map(str, methods)])
    policies = [work / "policies" / method for method in methods]
    (work / "RESULTS.md").write_text(tables(training, testing, policies, command))
    if given.box:
        pack(work / "policies", given.box, methods)


def collected(file: Path, work: Path) -> Path:
    """The store of a file's questions; those that are in it already are not collected again."""
    place = work / "collected" / f"{file.stem}.duckdb"
    settings = load()
    events = collect(file, Store(place), open_embedder(settings), open_reader(settings))
    watch_collecting(file.stem, events)
    return place


def trained(method: Method, sources: Sequence[Path], work: Path) -> None:
    """Train a policy called after its method, unless it is there, on these questions."""
    registry = Registry(work / "policies")
    held = next((one for one in registry.listed() if one.name == method and not one.boxed), None)
    if held is not None:
        known = held.manifest
        if known and known.data.sha256 == gather(sources, work).sha256 and known.settings["cost"] == COST:
            print(f"{method} is trained already.")  # noqa: T201
            return
        registry.remove(method)
    request = TrainingRequest(method, tuple(sources), name=method, activation="never")
    show_training(train(request, registry=registry))


def tables(
    training: Sequence[Path], testing: Sequence[Path], policies: Sequence[Path], command: str
) -> str:
    """The tables in Markdown: all sets together, and each."""
    known = {" ".join(tree.text.split()).casefold() for tree in _trees(training)}
    test = [tree for tree in _trees(testing) if " ".join(tree.text.split()).casefold() not in known]
    opened = {one.name: open_policy(one) for one in policies}
    names = sorted({tree.dataset for tree in test})
    made = [_table("all", test, opened)]
    for name in names if len(names) > 1 else []:
        made.append(_table(name, [tree for tree in test if tree.dataset == name], opened))
    notes = [
        f"Brackets are 95 % percentile intervals of a paired bootstrap over questions ({RESAMPLES} "
        f"resamples, seed {SEED}).",
        "Thresholds were frozen on held-out train questions; the dev questions are walked once.",
        f"`{command}` on {datetime.now(UTC):%Y-%m-%d}; {machine()}.",
    ]
    lines = ["# Policies on published question sets", ""]
    for table in made:
        lines += markdown_table(table)
    return "\n".join([*lines, *(f"- {note}" for note in notes), ""])


def copied(folder: Path, root: Path, name: str) -> Path:
    """A copy of a policy under another name; returns its folder."""
    manifest = read(folder)

    def save(place: Path) -> None:
        for path in manifest.files:
            if path != CARD:
                shutil.copyfile(folder / path, place / path)

    return write(root, manifest.model_copy(update={"name": name, "files": {}}), save)


def pack(policies: Path, box: Path, methods: Sequence[str]) -> None:
    """Make ``box`` anew of ``methods``, each called ``boxed-METHOD``; the first is active by default."""
    fresh = box.with_name(f".{box.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    packed = [copied(policies / method, fresh, f"boxed-{method}").name for method in methods]
    (fresh / ACTIVE).write_text(json.dumps({"active": packed[0]}) + "\n", encoding="utf-8")
    shutil.rmtree(box, ignore_errors=True)
    fresh.rename(box)


def _table(title: str, test: Sequence[Tree], policies: dict[str, tuple[Scorer, Manifest]]) -> Table:
    default = follow(test, default_schedule)

    def row(name: str, outcomes: Outcomes) -> list[str]:
        utility = outcomes.utility(COST)
        columns = {"quality": outcomes.quality, "complete": outcomes.detail("complete")}
        found = means({**columns, "steps": outcomes.steps, "utility": utility})
        quality, complete = found["quality"], found["complete"].estimate
        return [
            name,
            f"{quality.estimate:.3f} [{quality.low:.3f}, {quality.high:.3f}]",
            "" if math.isnan(complete) else f"{complete:.3f}",
            f"{found['steps'].estimate:.2f}",
            f"{found['utility'].estimate:.3f}",
            str(mean(utility - default.utility(COST))),
        ]

    rows = [[*row(f"fixed {k}", follow(test, _fixed(k))), "", ""] for k in range(1, _FIXED + 1)]
    rows.append([*row("plan done", default), "", ""])
    for name, (scorer, manifest) in policies.items():
        scored = score(test, scorer)
        outcomes = follow(test, scored.decide(manifest.rule))
        milliseconds = processor_ms(scorer, test)
        rows.append([*row(name, outcomes), f"{_ece(scored):.3f}", f"{milliseconds:.1f}"])
    head = ["policy", "quality", "complete", "steps", f"utility at {COST:g}", "over plan done", "ECE", "ms"]
    return Table(f"{title}: {len(test)} questions", head, rows)


def _fixed(steps: int) -> Decide:
    """Always ``steps`` research steps: CONTINUE, REVISE where the plan is done, then FINISH."""

    def decide(node: Node) -> Action:
        wanted: tuple[Action, ...] = ("CONTINUE", "REVISE", "FINISH")
        if node.steps >= steps:
            wanted = ("FINISH", "CONTINUE", "REVISE")
        return next(action for action in wanted if action in node.valid)

    return decide


def _ece(scored: Scored) -> float:
    """Of the sufficiency, over all states that can be finished in."""
    pairs = [
        (sufficiency, node.sufficient)
        for sufficiency, node in zip(scored.scores.sufficiency, scored.nodes, strict=True)
        if "FINISH" in node.valid
    ]
    return calibration_error(*np.array(pairs, dtype=np.float64).reshape(-1, 2).T)


def _trees(stores: Sequence[Path]) -> list[Tree]:
    trees = load_trees(*(Store(store, named=True) for store in stores)).trees
    return [tree for tree in trees if any(node.quality is not None for node in tree.nodes.values())]


def _dev(file: Path) -> Path:
    return file.with_name(file.name.replace("_train", "_dev"))


if __name__ == "__main__":
    main(sys.argv[1:])
