"""Replaying: what every stopping rule would have made of a question, read off its one trajectory.

A rule is walked until it finishes, and told in each state what it would be told in a run; only the judge is
shown the state's text in place of the notebook. The row is that of the prefix that the rule finishes in. A
walk that leaves what is known of a question gives no row, and is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from agent.state import Action
from policy.evaluation.judges import Judge, Judgement, digest
from policy.evaluation.oracle import complete_stop
from policy.evaluation.schedules import fixed, plan_done
from policy.evaluation.walking import Decide, last_state, score
from policy.rule import Rule
from policy.scorers import Scorer
from policy.systems.anatomy import lost
from policy.systems.kept import Prefix, Trajectory, tree
from policy.systems.metrics import Measures
from policy.systems.rows import Row
from policy.systems.summary import FIXED, JUDGE, LEARNED, ORACLE, PLAN_DONE, RULES
from policy.trees import Node, Tree

_MILLISECONDS: Final = 1000.0
_Judgements: TypeAlias = Mapping[tuple[str, str, str], Judgement]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What was replayed.

    Attributes:
        rows: System by system, each in the order of the trajectories.
        prefixes: For each row, what was finished with.
        left: By system: questions whose walk left what is known of them. They have no row.
    """

    rows: Sequence[Row]
    prefixes: Sequence[Prefix]
    left: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _End:
    """Where a rule finishes; ``asked`` are the judgements that it took."""

    trajectory: Trajectory
    path: str
    source: str
    asked: Sequence[Judgement] = ()


def replayed(
    trajectories: Sequence[Trajectory],
    judgements: Sequence[Judgement] = (),
    learned: tuple[Scorer, Rule] | None = None,
) -> Replayed:
    """Walk every trajectory with every stopping rule.

    Always ``lean 1 step`` to ``lean 4 steps``, ``lean plan done``, ``lean rules`` and ``oracle``, which
    finishes as soon as all gold evidence is held, and at once where it never is.

    Args:
        trajectories: Of any sets and models.
        judgements: For ``lean judge``: what `policy.evaluation.judges.Judgements` were asked on the trees
            of the trajectories. Each model judges its own questions, as far as it was asked. Its decisions
            are added to the calls and their time to the seconds; their tokens are not known, and not added.
        learned: For ``lean learned``: what `policy.folder.open_policy` gives. All states are scored in one
            call, of which no time is added.
    """
    trees = [tree(trajectory) for trajectory in trajectories]
    rows: list[Row] = []
    prefixes: list[Prefix] = []
    left: Counter[str] = Counter()
    for name, ends in _systems(trajectories, trees, judgements, learned):
        for end in ends:
            if end is None:
                left[name] += 1
            else:
                rows.append(_row(name, end))
                prefixes.append(end.trajectory.prefixes[end.path])
    return Replayed(rows, prefixes, dict(left))


_Ends: TypeAlias = Iterator[_End | None]


def _systems(
    trajectories: Sequence[Trajectory],
    trees: Sequence[Tree],
    judgements: Sequence[Judgement],
    learned: tuple[Scorer, Rule] | None,
) -> Iterator[tuple[str, _Ends]]:
    def walked(source: str, deciders: Sequence[Decide]) -> _Ends:
        for trajectory, walked_on, decide in zip(trajectories, trees, deciders, strict=True):
            node, finished = last_state(walked_on, decide)
            yield _End(trajectory, node.path, source) if finished else None

    for steps, name in enumerate(FIXED, start=1):
        yield name, walked("fixed", [fixed(steps)] * len(trees))
    yield PLAN_DONE, walked("plan done", [plan_done] * len(trees))
    yield RULES, walked("rules", [_rules(trajectory) for trajectory in trajectories])
    yield JUDGE, _judged(trajectories, trees, judgements)
    if learned is not None:
        scorer, rule = learned
        yield LEARNED, walked("learned", score(trees, scorer).deciders(rule))
    yield ORACLE, _complete(trajectories, trees)


def _rules(trajectory: Trajectory) -> Decide:
    return lambda node: trajectory.prefixes[node.path].rules


def _judged(
    trajectories: Sequence[Trajectory], trees: Sequence[Tree], judgements: Sequence[Judgement]
) -> _Ends:
    models = {judgement.model for judgement in judgements}
    for trajectory, judged in zip(trajectories, trees, strict=True):
        own = {
            (j.question, j.path, j.state): j
            for j in judgements
            if (j.model, j.question) == (trajectory.model, judged.question)
        }
        # Where there is nothing to choose, a model was not asked, and it is known what it would do.
        forced = all(len(node.valid) == 1 for node in judged.nodes.values())
        if own or (forced and trajectory.model in models):
            decide = _only if forced else Judge(own.values(), trajectory.model).decide(judged)
            node, finished = last_state(judged, decide)
            asked = _asked(judged, node, own)
            yield _End(trajectory, node.path, "llm", asked) if finished else None


def _only(node: Node) -> Action:
    return node.valid[0]


def _asked(judged: Tree, end: Node, own: _Judgements) -> list[Judgement]:
    """The judgements on the way to ``end``: where there is one thing to do only, nobody is asked."""
    passed = [judged.nodes[end.path[:length]] for length in range(len(end.path) + 1)]
    at = ((judged.question, node.path, digest(node)) for node in passed if len(node.valid) > 1)
    return [own[key] for key in at if key in own]


def _complete(trajectories: Sequence[Trajectory], trees: Sequence[Tree]) -> _Ends:
    for trajectory, known in zip(trajectories, trees, strict=True):
        end = complete_stop(known)
        yield None if end is None else _End(trajectory, end.path, "oracle")


def _row(system: str, end: _End) -> Row:
    prefixes = end.trajectory.prefixes
    at = prefixes[end.path]
    measures = _measures(at.measures, end.asked)
    stops = [prefix for prefix in prefixes.values() if "FINISH" in prefix.valid and prefix is not at]
    earlier = [stop.measures for stop in stops if end.path.startswith(stop.path)]
    later = [stop.measures for stop in stops if stop.path.startswith(end.path)]
    return Row(
        questions=end.trajectory.questions,
        question=end.trajectory.question,
        system=system,
        model=end.trajectory.model,
        short=at.short,
        stopped=at.stopped or end.source,
        lost=lost(measures, earlier, later),
        measures=measures,
    )


def _measures(measures: Measures, asked: Sequence[Judgement]) -> dict[str, float]:
    if not asked:
        return dict(measures)
    seconds = sum(judgement.milliseconds for judgement in asked) / _MILLISECONDS
    more = {"calls": float(len(asked)), "seconds": seconds}
    return {**measures, **{name: measures[name] + value for name, value in more.items()}}
