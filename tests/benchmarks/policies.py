"""Trained policies against plain ones, on questions with known answers; and the box made of them.

    python -m tests.benchmarks.policies DATA --own DIR --work DIR [--method forest] [--box policy/box]

Questions of each ``NAME_train.jsonl`` in DATA are run to the end of their plans and answered at every
state by the default models; the methods are trained on that. Policies are walked over questions of each
``NAME_dev.jsonl`` and over people's own documents, which nothing is learned from. Questions that one
look-up answers take no decision, and are left out. What is collected and trained stays in DIR: the same
command continues.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast, get_args

import numpy as np

from agent.state import ACTIONS, Action
from policy.collecting import collect
from policy.decisions import COST, Node, Tree, load_trees
from policy.evaluation.report import Table, machine, markdown_table
from policy.evaluation.systems import Parts
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
from policy.questions import CaseSet, fill, read_set, sets_in
from policy.serving.folder import BOX, CARD, Manifest, Method, open_policy, read, write
from policy.serving.registry import ACTIVE, Registry
from policy.serving.scorers import Scorer
from policy.training.course import TrainingRequest, train
from policy.training.material import gather
from tests.benchmarks.multihop import pool, pooled, read_questions
from traces.store import Store
from tui.assemble import open_parts
from tui.bars import show_progress
from tui.policy.training import show_training
from tui.settings.settings import load

_FIXED = 2
Opened: TypeAlias = Mapping[str, tuple[Scorer, Manifest]]
_ASKED = 30  # questions of each file
_EXPLORED = 0.1
"""Share of REVISE among the train questions where a plan is done or stuck; all of it is tried in tests."""


def main(arguments: Sequence[str]) -> None:
    """Collect, train, evaluate; with ``--box`` copy the policies there."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.policies", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--own", type=Path, help="people's own documents, with questions")
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--method", action="append", choices=get_args(Method))
    parser.add_argument("--box", type=Path)
    given = parser.parse_args(arguments)
    work: Path = given.work
    methods = cast("list[Method]", given.method or ["forest", "reward"])
    names = [file.name.removesuffix("_train.jsonl") for file in sorted(given.data.glob("*_train.jsonl"))]
    training, testing = work / "train.duckdb", [work / "dev.duckdb"]
    models = open_parts(load())
    with closing(models["chat"]):
        for name in names:
            _collect_file(given.data / f"{name}_train.jsonl", training, models, _EXPLORED, comparisons=True)
        for name in names:
            _collect_file(given.data / f"{name}_dev.jsonl", testing[0], models, 1.0)
        if given.own:  # all questions of each set, over its documents
            testing.append(work / "own.duckdb")
            for name in sets_in(str(given.own)):
                store, cases = Store(testing[1]), read_set(name)
                for _ in fill(cases, store, models["embedder"]):
                    pass
                _collect(cases, store, models, 1.0)
    for method in methods:
        trained(method, [training], work)
    command = shlex.join(["python -m tests.benchmarks.policies", given.data.name, *map(str, methods)])
    policies = [work / "policies" / method for method in methods]
    (work / "RESULTS.md").write_text(tables([training], testing, policies, command))
    if given.box:
        pack(work / "policies", given.box, methods)


def _collect_file(
    file: Path, place: Path, models: Mapping[str, Any], epsilon: float, *, comparisons: bool = False
) -> None:
    """The first questions of a file, over a library of all its paragraphs.

    Then twice as many ``comparisons``: of their own documents people ask for those rather than for chains.
    """
    questions, store = read_questions(file), Store(place)
    for _ in pool(questions, store, models["embedder"]):
        pass
    cases = pooled(questions)
    _collect(cases.first(_ASKED), store, models, epsilon)
    compared = {question.id for question in questions.questions if question.compares}
    cases = replace(cases, cases=tuple(case for case in cases.cases if case.id in compared))
    if comparisons and cases.cases:
        _collect(cases.first(2 * _ASKED), store, models, epsilon)


def _collect(cases: CaseSet, store: Store, models: Mapping[str, Any], epsilon: float) -> None:
    parts = Parts(**models, store=store, collections=cases.collections, budget=load().budget)
    events = collect(cases, parts, answers=True, epsilon=epsilon)
    show_progress(events, lambda progress: f"{cases.name}: {progress.doing}")


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
    show_training(partial(train, request, registry=registry))


def tables(
    training: Sequence[Path], testing: Sequence[Path], policies: Sequence[Path], command: str
) -> str:
    """The tables in Markdown: all sets together, and each."""
    known = {" ".join(tree.text.split()).casefold() for tree in _trees(training)}
    test = [tree for tree in _trees(testing) if " ".join(tree.text.split()).casefold() not in known]
    opened = {one.name: open_policy(one) for one in policies}
    public = {tree.dataset for tree in _trees([testing[0]])}
    sets = {tree.dataset: [one for one in test if one.dataset == tree.dataset] for tree in test}
    own = [tree for tree in test if tree.dataset not in public]
    made = [_table("all", test, opened)]
    made += [_table(name, trees, opened) for name, trees in sorted(sets.items()) if name in public]
    made += [_table("own documents", own, opened)] if own else []
    notes = [
        f"Brackets are 95 % percentile intervals of a paired bootstrap over questions ({RESAMPLES} "
        f"resamples, seed {SEED}).",
        "Thresholds were frozen on held-out train questions; the questions here are walked once.",
        "Quality is the F1 of the answer, or 1 where it states the gold answer; of a person's own "
        "documents 1 if it is right, 0.25 if it is refused or wrong and marked, else 0.",
        "The oracle knows what each answer is worth. Unknown: the policy revised where nobody tried that.",
        f"`{command}` on {datetime.now(UTC):%Y-%m-%d}; {machine()}.",
    ]
    lines = ["# Policies on published question sets", ""]
    for table in made:
        lines += markdown_table(table)
    return "\n".join([*lines, *(f"- {note}" for note in notes), ""])


def pack(policies: Path, box: Path, methods: Sequence[str]) -> None:
    """Make ``box`` anew of ``methods``, each called ``boxed-METHOD``.

    The first is active by default if the gate passed it; otherwise none is, and the rules decide.
    """
    fresh = box.with_name(f".{box.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    packed = []
    for method in methods:
        manifest = read(policies / method)

        def save(
            place: Path, files: Iterable[str] = manifest.files, source: Path = policies / method
        ) -> None:
            for file in set(files) - {CARD}:
                shutil.copyfile(source / file, place / file)

        renamed = manifest.model_copy(update={"name": f"boxed-{method}", "files": {}})
        packed.append(write(fresh, renamed, save).name)
    gate = read(fresh / packed[0]).gate
    active = packed[0] if gate and gate.passed else BOX
    (fresh / ACTIVE).write_text(json.dumps({"active": active}) + "\n", encoding="utf-8")
    shutil.rmtree(box, ignore_errors=True)
    fresh.rename(box)


def _table(title: str, test: Sequence[Tree], opened: Opened) -> Table:
    plain = {f"fixed {k}": _fixed(k) for k in range(1, _FIXED + 1)}
    plain["rules"] = default_schedule
    walked: dict[str, tuple[Outcomes, list[str]]] = {
        name: (follow(test, decide), ["", ""]) for name, decide in plain.items()
    }
    for name, (scorer, manifest) in opened.items():
        scored = score(test, scorer)
        milliseconds = processor_ms(scorer, test)
        notes = [f"{_ece(scored):.3f}", f"{milliseconds:.1f}"]
        walked[name] = follow(test, scored.decide(manifest.rule)), notes
    walked["oracle"] = Outcomes([_best(tree) for tree in test]), ["", ""]
    rows = [
        [name, *_measures(outcomes, walked["rules"][0]), *notes]
        for name, (outcomes, notes) in walked.items()
    ]
    head = ["policy", "unknown", "quality", "steps", f"utility at {COST:g}"]
    return Table(f"{title}: {len(test)} questions", [*head, "over rules", "ECE", "ms"], rows)


def _measures(outcomes: Outcomes, rules: Outcomes) -> list[str]:
    found = means({"quality": outcomes.quality, "steps": outcomes.steps, "utility": outcomes.utility(COST)})
    quality = found["quality"]
    return [
        str(outcomes.unknown),
        f"{quality.estimate:.3f} [{quality.low:.3f}, {quality.high:.3f}]",
        f"{found['steps'].estimate:.2f}",
        f"{found['utility'].estimate:.3f}",
        # paired, over the questions of which both outcomes are known
        str(mean(outcomes.utility(COST) - rules.utility(COST))),
    ]


def _best(tree: Tree) -> Node | None:
    """Where somebody who knew what each answer is worth would finish."""
    ends = [node for node in tree.nodes.values() if node.quality is not None and "FINISH" in node.valid]
    return max(ends, key=lambda node: (node.quality or 0.0) - COST * node.steps, default=None)


def _fixed(steps: int) -> Decide:
    """At most ``steps`` research steps of the plan."""

    def decide(node: Node) -> Action:
        first: tuple[Action, Action] = (
            ("CONTINUE", "FINISH") if node.steps < steps else ("FINISH", "CONTINUE")
        )
        return next(action for action in (*first, *ACTIONS) if action in node.valid)

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


if __name__ == "__main__":
    main(sys.argv[1:])
