"""The whole protocol on random trees: who should win wins, and the report says it the same way twice."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from policy.evaluation.bars import bars
from policy.evaluation.judges import Judge, Judgement, digest
from policy.evaluation.protocol import (
    POOLED,
    Policies,
    Results,
    Settings,
    evaluate,
    frozen_threshold,
    leave_one_out,
)
from policy.evaluation.report import Circumstances, circumstances, keep, markdown
from policy.evaluation.walking import score
from policy.rule import Rule
from policy.trees import Tree
from tests.policy.evaluation.scorers import Knowing, Noise
from tests.policy.trees import random_trees

SETTINGS = Settings(resamples=200)
CAME = Circumstances("a command", "2026-01-01", "a machine", {"numpy": "2"}, ["a note"])


def trees(seed: int, number: int) -> list[Tree]:
    """Of two data sets."""
    half = number // 2
    found = [*random_trees(seed, half, f"a{seed}"), *random_trees(seed + 1, half, f"b{seed}")]
    return [Tree(t.question, t.dataset[0], t.nodes, t.text) for t in found]


TRAINING, VALIDATION, TEST = trees(1, 80), trees(3, 40), trees(5, 120)


def judge() -> Judge:
    """Says FINISH to nearly all, as a small model does; was asked of the first sixty questions."""
    judged = [
        Judgement(t.question, n.path, digest(n), "small", (0.1, 0.2, 0.7), 2_000.0)
        for t in TEST[:60]
        for n in t.nodes.values()
    ]
    return Judge(judged, "small")


@cache
def results() -> Results:
    """Of one that knows and one that guesses."""
    policies: Policies = {"knows": (Knowing(), Rule(0.05, 1.0)), "guesses": (Noise(), Rule(0.05, 1.0))}
    found = evaluate(TRAINING, VALIDATION, TEST, policies, [judge()], SETTINGS, {"knows": 2.0})

    def fit(training: Sequence[Tree], validation: Sequence[Tree]) -> Policies:
        assert len({t.dataset for t in [*training, *validation]}) == 1
        return {"knows": (Knowing(), Rule(0.05, 1.0))}

    return Results(found.settings, found.scopes, leave_one_out(TRAINING, VALIDATION, TEST, fit, SETTINGS))


def test_every_row_of_the_protocol_is_there() -> None:
    found = results()
    assert [scope.name for scope in found.scopes] == [POOLED, "a", "b"]
    pooled = found.scopes[0]
    assert (pooled.questions, pooled.whole, pooled.trained) == (120, 120, 80)
    assert [row.kind for row in pooled.rows] == [
        *["fixed"] * 5,
        *["schedule"] * 5,
        *["untrained"] * 4,
        *["judge"] * 2,
        *["policy", "threshold"] * 2,
        *["oracle"] * 2,
    ]
    assert (
        pooled.row("fixed 1").measures["steps"].estimate < pooled.row("fixed 4").measures["steps"].estimate
    )
    with pytest.raises(KeyError):
        pooled.row("nobody")


def test_the_one_that_knows_beats_the_schedules_and_the_one_that_guesses_does_not() -> None:
    pooled = results().scopes[0]
    knows, guesses = pooled.row("knows"), pooled.row("guesses")
    assert knows.standing is not None
    assert guesses.standing is not None
    assert knows.standing.schedules.gain.above_zero
    assert not guesses.standing.schedules.gain.above_zero
    assert 0 < knows.standing.headroom.utility.estimate < 1
    assert knows.first_stop == 1.0
    assert knows.calibration is not None
    assert guesses.calibration is not None
    assert knows.calibration.ece < guesses.calibration.ece
    best = pooled.rows[-2].utility[0.05]
    assert all(row.utility[0.05] <= best + 1e-9 for row in pooled.rows if not row.unknown)


def test_against_the_judge_only_the_judged_questions_count_and_never_more_steps() -> None:
    pooled = results().scopes[0]
    assert pooled.row("judge small").questions == 60
    against = pooled.row("knows").judges[0]
    assert against.quality.questions == 60
    assert against.steps.estimate <= 0
    assert against.times_faster == 1000.0
    assert pooled.row("guesses").milliseconds >= 0
    hindsight = pooled.row("judge small, best threshold in hindsight")
    assert hindsight.utility[0.05] >= pooled.row("judge small").utility[0.05] - 1e-9


def test_a_slow_policy_is_asked_of_some_questions_only() -> None:
    slow = Knowing()
    some = {tree.question for tree in [*VALIDATION[:8], *TEST[:30]]}
    policies: Policies = {"slow": (slow, Rule(0.05, 1.0)), "fast": (Knowing(), Rule(0.05, 1.0))}
    timed = {"slow": 1.0, "fast": 1.0}
    found = evaluate(TRAINING, VALIDATION, TEST, policies, [], SETTINGS, timed, {"slow": some}).scopes[0]
    assert slow.asked == sum(len(t.nodes) for t in [*VALIDATION[:8], *TEST[:30]])
    assert (found.row("slow").questions, found.row("slow").unknown) == (30, 90)
    assert found.row("fast").unknown == 0
    standing = found.row("slow").standing
    assert standing is not None
    assert standing.schedules.gain.questions == 30
    with pytest.raises(ValueError, match="was scored"):
        evaluate(TRAINING, VALIDATION, TEST, policies, [], SETTINGS, timed, {"slow": set()})


def test_a_threshold_is_frozen_on_validation() -> None:
    assert frozen_threshold(score(VALIDATION, Knowing())) == 0.95
    unmeasured = random_trees(9, 3, lost=1.0)
    with pytest.raises(ValueError, match="is known"):
        frozen_threshold(score(unmeasured, Knowing()))


def test_a_question_of_two_kinds_and_no_questions_are_refused() -> None:
    policies: Policies = {}
    with pytest.raises(ValueError, match="a training and a test question"):
        evaluate(TRAINING, VALIDATION, TRAINING, policies)
    with pytest.raises(ValueError, match="no validation"):
        evaluate(TRAINING, [], TEST, policies)
    with pytest.raises(ValueError, match="at least two"):
        leave_one_out(TRAINING, VALIDATION, TEST[:10], lambda _t, _v: {})


def test_every_bar_is_told() -> None:
    found = {bar.what: bar for bar in bars(results(), "knows")}
    assert len(found) == 3 + 4 + 3 + 1 + 2
    assert found["at least 200 times faster than judge small"].met
    assert found["better than the best schedules at equal steps, interval above zero"].met
    assert found["not below the best schedules on a, trained without it"].met
    missing = {bar.what: bar for bar in bars(results(), "guesses")}
    assert missing["not below the best schedules on a, trained without it"].met is None
    assert missing["better than the best schedules at equal steps, interval above zero"].met is False
    with pytest.raises(KeyError):
        bars(results(), "nobody")


def test_the_report_is_stable_and_complete(tmp_path: Path) -> None:
    keep(results(), ["knows"], CAME, tmp_path / "RESULTS.md")
    text = (tmp_path / "RESULTS.md").read_text()
    assert text == markdown(results(), ["knows"], CAME)
    for expected in ("## Bars: knows", "## all", "## a, trained without it", "| guesses |", "`a command`"):
        assert expected in text
    assert "nan" not in text
    assert " EM " not in text  # nobody answered
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for line, following in pairwise(rows):
        if following.startswith("| ---"):
            assert line.count("|") == following.count("|")
    kept = json.loads((tmp_path / "RESULTS.json").read_text())
    assert kept["scopes"][0]["rows"][0]["name"] == "fixed 1"
    assert kept["scopes"][0]["rows"][0]["milliseconds"] is None
    assert kept["circumstances"]["command"] == "a command"


def test_circumstances_are_those_of_this_machine() -> None:
    found = circumstances("make it", ["seeds"])
    assert "numpy" in found.versions
    assert "Python" in found.machine
    assert found.notes == ["seeds"]
