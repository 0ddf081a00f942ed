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
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import cast, get_args

import numpy as np

from agent.state import Action
from policy.decisions.reading import distinct, load_trees
from policy.decisions.returns import COST
from policy.decisions.trees import Node, Tree, default_action
from policy.evaluation.report import Table, circumstances, markdown_table
from policy.judging.bootstrap import RESAMPLES, SEED, difference, draws, means
from policy.judging.calibration import calibration
from policy.judging.walking import Decide, Outcomes, Scored, follow, follow_each, score
from policy.serving.folder import CARD, open_policy, read, write
from policy.serving.manifest import Method
from policy.serving.registry import ACTIVE, Registry, base_of
from policy.serving.scorers import Rule, Scorer
from policy.training.course import train
from policy.training.material import gather
from policy.training.request import TrainingRequest
from tests.benchmarks.collecting.model_free import ModelFree, collect
from traces.store import Store
from tui.assemble import open_embedder, open_reader
from tui.policy.collecting import watch_collecting
from tui.policy.training import show_training
from tui.settings.settings import load

_FIXED = 4
_TIMED = 50


def main(arguments: Sequence[str]) -> None:
    """Collect, train, evaluate; with ``--box`` copy the policies there, the first of them active."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.policies", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--method", action="append", choices=get_args(Method))
    parser.add_argument("--limit", type=int, help="questions of each file")
    parser.add_argument("--cost", type=float, default=COST, help="of a step, in quality")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--box", type=Path)
    given = parser.parse_args(arguments)
    work: Path = given.work
    methods = cast("list[Method]", given.method or ["forest", "reward"])
    train_files = [file for file in sorted(given.data.glob("*_train.jsonl")) if _dev(file).is_file()]
    if not train_files:
        parser.error(f"{given.data} has no NAME_train.jsonl with a NAME_dev.jsonl beside it")
    training = [collected(file, work, given.limit) for file in train_files]
    testing = [collected(_dev(file), work, given.limit) for file in train_files]
    for method in methods:
        trained(method, training, work, given.cost)
    command = shlex.join(["python -m tests.benchmarks.policies", given.data.name, *map(str, methods)])
    out = given.out or work / "RESULTS.md"
    out.write_text(tables(training, testing, [work / "policies" / m for m in methods], given.cost, command))
    if given.box:
        pack(work / "policies", given.box, methods)


def collected(file: Path, work: Path, limit: int | None) -> Path:
    """The store of a file's questions; those that are in it already are not collected again."""
    place = work / "collected" / f"{file.stem}.duckdb"
    settings = load()
    events = collect(
        ModelFree(file, limit),
        Store(place),
        open_embedder(settings),
        open_reader(settings),
        threading.Event(),
    )
    watch_collecting(file.stem, events)
    return place


def trained(method: Method, sources: Sequence[Path], work: Path, cost: float) -> None:
    """Train a policy called after its method, unless it is there, on these questions and at this cost."""
    registry = Registry(work / "policies")
    held = next((one for one in registry.listed() if one.name == method and not one.boxed), None)
    if held is not None:
        known = held.manifest
        if known and known.data.sha256 == gather(sources, work).sha256 and known.settings["cost"] == cost:
            print(f"{method} is trained already.")  # noqa: T201
            return
        registry.remove(method)
    request = TrainingRequest(method, tuple(sources), cost=cost, name=method, activation="never")
    show_training(train(request, registry=registry))


def tables(
    training: Sequence[Path], testing: Sequence[Path], policies: Sequence[Path], cost: float, command: str
) -> str:
    """The tables in Markdown: all sets together, and each."""
    known = {" ".join(tree.text.split()).casefold() for tree in _trees(training)}
    test = [tree for tree in _trees(testing) if " ".join(tree.text.split()).casefold() not in known]
    opened = {one.name: open_policy(one, base_of(read(one)))[:2] for one in policies}
    names = sorted({tree.dataset for tree in test})
    made = [_table("all", test, opened, cost)]
    for name in names if len(names) > 1 else []:
        made.append(_table(name, [tree for tree in test if tree.dataset == name], opened, cost))
    came = circumstances(command)
    notes = [
        f"Brackets are 95 % percentile intervals of a paired bootstrap over questions ({RESAMPLES} "
        f"resamples, seed {SEED}).",
        "Thresholds were frozen on held-out train questions; the dev questions are walked once.",
        f"`{came.command}` on {came.date}; {came.machine}.",
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
                (place / path).parent.mkdir(parents=True, exist_ok=True)
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


def _table(
    title: str, test: Sequence[Tree], policies: dict[str, tuple[Scorer, Rule]], cost: float
) -> Table:
    drawn = draws(len(test))
    default = follow("plan done", test, lambda node: default_action(node.valid))

    def row(found: Outcomes) -> list[str]:
        columns = {"quality": found.quality, "complete": found.column("complete"), "steps": found.steps}
        told = means({**columns, "utility": found.utility(cost)}, drawn)
        return [
            found.name,
            f"{told['quality'].estimate:.3f} [{told['quality'].low:.3f}, {told['quality'].high:.3f}]",
            "" if math.isnan(told["complete"].estimate) else f"{told['complete'].estimate:.3f}",
            f"{told['steps'].estimate:.2f}",
            f"{told['utility'].estimate:.3f}",
            str(difference(found.utility(cost), default.utility(cost), drawn)),
        ]

    rows = [[*row(follow(f"fixed {k}", test, _fixed(k))), "", ""] for k in range(1, _FIXED + 1)]
    rows.append([*row(default), "", ""])
    for name, (scorer, rule) in policies.items():
        scored = score(test, scorer)
        found = follow_each(name, test, scored.deciders(rule))
        rows.append([*row(found), f"{_ece(scored):.3f}", f"{_milliseconds(scorer, test):.1f}"])
    head = ["policy", "quality", "complete", "steps", f"utility at {cost:g}", "over plan done", "ECE", "ms"]
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
        (float(scored.scores.sufficiency[at[node.path]]), node.sufficient)
        for tree, at in zip(scored.trees, scored.rows, strict=True)
        for node in tree.nodes.values()
        if "FINISH" in node.valid
    ]
    said, so = np.array(pairs, dtype=np.float64).reshape(-1, 2).T
    return calibration(said, so).ece


def _milliseconds(scorer: Scorer, trees: Sequence[Tree]) -> float:
    """Median of scoring one state, as a run does it."""
    states = [node.seen for tree in trees[:_TIMED] for node in tree.nodes.values()][:_TIMED]
    scorer.score(states[:1])  # loads what is loaded at first use
    taken = []
    for state in states:
        began = time.perf_counter()
        scorer.score([state])
        taken.append((time.perf_counter() - began) * 1000)
    return float(np.median(taken))


def _trees(stores: Sequence[Path]) -> list[Tree]:
    found = distinct([tree for store in stores for tree in load_trees(Store(store, named=True)).trees])
    return [tree for tree in found if any(node.quality is not None for node in tree.nodes.values())]


def _dev(file: Path) -> Path:
    return file.with_name(file.name.replace("_train", "_dev"))


if __name__ == "__main__":
    main(sys.argv[1:])
