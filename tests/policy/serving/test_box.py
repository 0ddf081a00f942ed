"""The policies in the box: whole, of this version, taught on train files only, and judged by the gate."""

from __future__ import annotations

import pytest

from agent.decisions.decider import STATE_VERSION, valid_actions
from agent.decisions.features import features
from agent.state import PLAN_ACTIONS
from models.catalogue import ALL_MINILM_L6_V2
from models.fetch.pull import installed
from policy.serving.folder import BOX, Manifest
from policy.serving.learned import Served
from policy.serving.registry import Listed, Registry
from tests.policy.made import state

SHIPPED = ("boxed-forest", "boxed-reward")


@pytest.fixture(params=SHIPPED)
def boxed(request: pytest.FixtureRequest) -> Listed:
    return next(one for one in Registry().listed() if one.name == request.param)


@pytest.fixture
def manifest(boxed: Listed) -> Manifest:
    """Its; its base has to be on this machine."""
    if boxed.manifest is None and installed(ALL_MINILM_L6_V2) is None:
        pytest.skip(f"{ALL_MINILM_L6_V2.name} is not here: `deepthink models pull`")
    assert boxed.manifest is not None, boxed.problem
    return boxed.manifest


def test_the_rules_decide_where_nobody_has_chosen_as_the_gate_passed_none() -> None:
    found = Registry().listed()
    assert tuple(one.name for one in found if one.boxed) == SHIPPED
    active = Registry().active()
    assert (active.name, active.warning) == (BOX, "")
    assert active.folder is None
    assert [one.verdict for one in found if one.boxed] == ["not surely better"] * 2


def test_it_reads_todays_states_and_was_taught_on_train_files_and_judged(manifest: Manifest) -> None:
    assert 4 <= manifest.state_version <= STATE_VERSION
    assert tuple(manifest.features) == tuple(features(state()))
    learned_from = [word for word in manifest.command.split() if word.endswith(".duckdb")]
    assert learned_from == ["train.duckdb"]
    assert manifest.gate is not None


@pytest.mark.model
def test_it_decides(boxed: Listed, manifest: Manifest) -> None:
    seen = state(retryable=True, unread=True, unasked=True)
    decision = Served(boxed.folder).decide(seen, valid_actions(seen))
    assert decision.action in PLAN_ACTIONS, "it was trained before there were further tries"
    alone = Served(boxed.folder).decide(seen, PLAN_ACTIONS)
    assert {a: p for a, p in decision.probabilities.items() if p} == alone.probabilities
    assert sum(decision.probabilities.values()) == pytest.approx(1.0)
    assert decision.justification
