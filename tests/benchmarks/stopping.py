"""Stopping rules on the same research: what each would have made of a question, read off one trajectory.

A rule is walked until it finishes, and told in each state what it would be told in a run. The row is that
of the prefix that the rule finishes in. A walk that leaves what is known of a question gives no row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from policy.decisions.trees import Node, Tree
from policy.evaluation.answered import Parts
from policy.evaluation.cases import Case, CaseSet
from policy.evaluation.metrics import lost
from policy.evaluation.rows import Row, Rows
from policy.judging.walking import Decide, is_stop, last_state, score
from policy.serving.scorers import Rule, Scorer
from tests.benchmarks.frontier import fixed
from tests.benchmarks.trajectories import Trajectories, Trajectory, by_policy, tree, work
from tests.benchmarks.untrained import plan_done

RULES = "lean rules"
FIXED = ("lean 1 step", "lean 2 steps", "lean 3 steps", "lean 4 steps")
PLAN_DONE = "lean plan done"
LEARNED = "lean learned"
ORACLE = "oracle"
STOPPING = (*FIXED, PLAN_DONE, RULES, LEARNED, ORACLE)


@dataclass(frozen=True, slots=True)
class Learned:
    """A policy that decides in ``lean learned``; ``seal`` tells its rows from another one's."""

    scorer: Scorer
    rule: Rule
    seal: str


def stopped(cases: CaseSet, parts: Parts, folder: Path, learned: Learned | None) -> Iterator[Case]:
    """Have every stopping rule answer every question that lacks a row of it; yields the questions done.

    Args:
        cases: Questions; their library is in the parts' store.
        parts: What to work with; ``chat`` is a `policy.evaluation.cache.CachedChat`.
        folder: Of rows and trajectories; the same one goes on.
        learned: Decides in ``lean learned``, which is left out without it.
    """
    rows, trajectories = Rows(folder / "rows.jsonl"), Trajectories(folder / "trajectories.jsonl")
    rules = [name for name in STOPPING if learned or name != LEARNED]
    if learned is not None:
        rows.keep(lambda row: row.system != LEARNED or row.policy == learned.seal)
    for case in cases.cases:
        keys = {name: (cases.name, case.id, name, parts.chat.name) for name in rules}
        have = {name: rows.get(key) for name, key in keys.items()}
        lacking = [name for name, row in have.items() if row is None or row.case != case.digest]
        if lacking:
            trajectory = trajectories.get((cases.name, case.id, parts.chat.name))
            leaving = [by_policy(learned.scorer, learned.rule)] if learned else []
            known = trajectory is not None and trajectory.case == case.digest
            # A policy that is newer than the trajectory may go where nobody went.
            if trajectory is None or not known or any(not _finished(trajectory, one) for one in leaving):
                trajectory = work(case, parts, leaving, questions=cases.name)
                trajectories.add(trajectory)
            for row in replayed([trajectory], (learned.scorer, learned.rule) if learned else None):
                if row.system in lacking:
                    seal = learned.seal if learned and row.system == LEARNED else ""
                    rows.add(replace(row, case=case.digest, policy=seal))
        yield case


def _finished(trajectory: Trajectory, decide: Decide) -> bool:
    return last_state(tree(trajectory), decide)[1]


def replayed(trajectories: Sequence[Trajectory], learned: tuple[Scorer, Rule] | None = None) -> list[Row]:
    """Walk every trajectory with every stopping rule; rows system by system.

    ``oracle`` finishes as soon as all gold evidence is held, and at once where it never is.

    Args:
        trajectories: Of any sets and models.
        learned: For ``lean learned``: what `open_policy` gives. All states are scored in one
            call, of which no time is added.
    """
    trees = [tree(trajectory) for trajectory in trajectories]
    return [
        _row(name, source, trajectory, path)
        for name, source, ends in _systems(trajectories, trees, learned)
        for trajectory, path in zip(trajectories, ends, strict=True)
        if path is not None
    ]


_Ends: TypeAlias = list[str | None]
"""The path at which each question is finished; None where the walk leaves what is known of it."""


def _systems(
    trajectories: Sequence[Trajectory], trees: Sequence[Tree], learned: tuple[Scorer, Rule] | None
) -> Iterator[tuple[str, str, _Ends]]:
    def walked(deciders: Sequence[Decide]) -> _Ends:
        ends = [last_state(*pair) for pair in zip(trees, deciders, strict=True)]
        return [node.path if finished else None for node, finished in ends]

    for steps, name in enumerate(FIXED, start=1):
        yield name, "fixed", walked([fixed(steps)] * len(trees))
    yield PLAN_DONE, "plan done", walked([plan_done] * len(trees))
    yield RULES, "rules", walked([_rules(trajectory) for trajectory in trajectories])
    if learned is not None:
        scorer, rule = learned
        yield LEARNED, "learned", walked(score(trees, scorer).deciders(rule))
    stops = [_complete_stop(one) for one in trees]
    yield ORACLE, "oracle", [None if stop is None else stop.path for stop in stops]


def _complete_stop(known: Tree) -> Node | None:
    """The stop with fewest steps that holds all the evidence; if none does, the first stop there is: one
    who knows that it is hopeless does not search. None where no quality is known.
    """
    stops = sorted(filter(is_stop, known.nodes.values()), key=lambda n: (n.steps, n.path))
    whole = [node for node in stops if node.detail.get("complete", math.floor(node.quality or 0.0)) >= 1]
    return next(iter(whole or stops), None)


def _rules(trajectory: Trajectory) -> Decide:
    return lambda node: trajectory.prefixes[node.path].rules


def _row(system: str, source: str, trajectory: Trajectory, path: str) -> Row:
    at = trajectory.prefixes[path]
    stops = [one for one in trajectory.prefixes.values() if "FINISH" in one.valid and one is not at]
    earlier = [stop.measures for stop in stops if path.startswith(stop.path)]
    later = [stop.measures for stop in stops if stop.path.startswith(path)]
    return Row(
        questions=trajectory.questions,
        question=trajectory.question,
        system=system,
        model=trajectory.model,
        short=at.short,
        stopped=at.stopped or source,
        lost=lost(at.measures, earlier, later),
        measures=dict(at.measures),
    )
