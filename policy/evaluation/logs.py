"""What a policy would have been worth on the runs in a store, each of which took one way.

Only runs count that say with which probability they did what they did. Questions that were collected with
every path are not among them: on those a policy is walked (`policy.evaluation.walking`).
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from agent.decisions import STATE_VERSION
from agent.state import Action
from policy.collecting.with_model import HORIZON
from policy.evaluation.bootstrap import RESAMPLES, SEED
from policy.evaluation.doubly_robust import (
    LoggedDecision,
    OffPolicy,
    action_values,
    estimate,
    logged,
    of_full_run,
    of_run,
)
from policy.returns import COST
from policy.rule import Rule
from policy.scorers import Scorer
from policy.trees import INDEX, Seen
from traces.store import Store

_FORCED = "budget"  # the source of a FINISH that nobody chose
_HUMAN = "human"


@dataclass(frozen=True, slots=True)
class FromLogs:
    """What the logs say.

    Attributes:
        estimate: Of the policy's mean utility on such questions, or why there is none.
        runs: That it is from.
        left_out: Runs that could not be used, by the reason.
    """

    estimate: OffPolicy
    runs: int
    left_out: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class _Taken:
    path: str
    source: str
    seen: Seen
    action: Action
    behaviour: float
    quality: float | None


def from_logs(
    store: Store,
    scorer: Scorer,
    rule: Rule,
    cost: float = COST,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> FromLogs:
    """Estimate a policy's mean utility from the store's runs."""
    left_out: Counter[str] = Counter()
    runs: list[Sequence[LoggedDecision]] = []
    for taken in _runs(store):
        reason = _unusable(taken)
        if reason:
            left_out[reason] += 1
        else:
            runs.append(_decisions(taken, scorer, rule, cost))
    return FromLogs(estimate(logged(runs), resamples, seed), len(runs), dict(left_out))


def _unusable(run: Sequence[_Taken]) -> str:
    """Why a run says nothing of another policy; "" if it does."""
    way = "".join(taken.action[0] for taken in run)
    if [taken.path for taken in run] != [way[:i] for i in range(len(run))]:
        return "has several ways, or gaps"
    if run[-1].action != "FINISH" or run[-1].quality is None:
        return "has no outcome"
    if any(taken.source == _HUMAN for taken in run):
        return "was decided by a person, with no known probability"
    if any(not 0 < taken.behaviour <= 1 for taken in run):
        return "has impossible probabilities"
    return ""


def _decisions(run: Sequence[_Taken], scorer: Scorer, rule: Rule, cost: float) -> list[LoggedDecision]:
    states = [taken.seen for taken in run]
    scores = scorer.score(states)
    target = np.zeros((len(run), len(INDEX)))
    for row, action in enumerate(rule.actions(states, scores)):
        target[row, INDEX[action]] = 1.0
    actions, behaviour = [taken.action for taken in run], [taken.behaviour for taken in run]
    values = action_values(states, scores)
    qualities = [taken.quality for taken in run]
    known = [quality for quality in qualities if quality is not None]
    # Only there was finishing measured whatever was done; elsewhere it is known because it was done.
    if run[0].source == HORIZON and len(known) == len(run):
        return of_full_run(actions, behaviour, target, values, known, cost)
    return of_run(actions, behaviour, target, values, known[-1], cost)


def _runs(store: Store) -> list[list[_Taken]]:
    with store.connect() as db:
        rows = db.execute(_DECISIONS, [STATE_VERSION]).fetchall()
    by_run: dict[str, list[_Taken]] = defaultdict(list)
    for row in rows:
        by_run[row[0]].append(_taken(row[1:]))
    return list(by_run.values())


_DECISIONS = """
    SELECT d.run_id, d.path, d.source, d.text, d.features, d.valid_actions, d.action,
        d.behaviour_probability, f.quality
    FROM decisions d LEFT JOIN finishes f ON f.run_id = d.run_id AND f.path = d.path
    WHERE NOT d.shadow AND d.state_version = ?
    ORDER BY d.run_id, d.seq
"""


def _taken(row: tuple[Any, ...]) -> _Taken:
    path, source, text, features, valid, action, behaviour, quality = row
    chosen = cast(Action, action)
    # What the budget decides it decides for every policy.
    possible = (chosen,) if source == _FORCED else tuple(cast(list[Action], json.loads(valid)))
    certainly = 1.0 if len(possible) == 1 else float(behaviour)
    return _Taken(path, source, Seen(text, json.loads(features), possible), chosen, certainly, quality)
