"""`deepthink policy` as a person uses it, and what they see of a policy that decides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from policy.serving import folder as folders
from policy.serving.folder import GAIN, Gate
from policy.serving.registry import Registry, policies_dir
from tests.policy import made
from tests.policy.made import Preferring, policy
from tests.tui.conftest import QUESTION, Answer, Run
from tui.terminal import moment

A, B, C = (f"forest-20261121-{hour}0000" for hour in (10, 11, 12))
SHIPPED = "forest-20261101-000000"
FAILED = Gate(passed=False, reason="It is slow.", rule="Better.", measures={GAIN: [0.03, 0.01, 0.05]})
NO_GAIN = FAILED.model_copy(
    update={"reason": "27 questions are few.", "measures": {GAIN: [0.0, -0.1, 0.1]}}
)


@pytest.fixture(autouse=True)
def method_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Policies are loaded by the stand-in."""
    monkeypatch.setattr(folders, "read_scorer", made.load)


@pytest.fixture
def boxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy is in the box, which finishes whenever it may."""
    monkeypatch.setattr("policy.serving.registry._SHIPPED", tmp_path / "box")
    return policy(tmp_path / "box", SHIPPED)


@pytest.fixture
def own() -> Path:
    """A person has two of their own, of which the gate has passed one; their folder."""
    policy(policies_dir(), A)
    policy(policies_dir(), B, gate=FAILED)
    return policies_dir()


def _plain(text: str) -> str:
    return " ".join(text.split())


# --- the commands ----------------------------------------------------------------------------------------


def test_without_any_policy_the_way_to_one_is_told(deepthink: Run) -> None:
    ran = deepthink("policy")
    assert (ran.code, ran.err) == (0, "")
    assert "deepthink train-policy" in ran.out
    assert "deepthink train-policy" in deepthink("policy", "show").out


@pytest.mark.usefixtures("boxed", "own")
def test_the_list_marks_the_active_one_and_tells_the_gates_word(deepthink: Run) -> None:
    policy(policies_dir(), C, gate=NO_GAIN)
    assert "gate not surely better: 27 questions" in _plain(deepthink("policy", "show", C).out)
    lines = [_plain(line) for line in deepthink("policy", "list").out.splitlines()]
    assert lines.pop(3).endswith("not surely better")
    assert lines[2].startswith(f"● {SHIPPED} forest 2026-11-21 ")
    assert lines[2].endswith("500 questions, 3,000 decisions in the box")
    assert lines[3].startswith(f"{B} forest")
    assert lines[3].endswith("not passed")
    assert lines[4].endswith("passed")


@pytest.mark.usefixtures("boxed", "own")
def test_use_and_rollback(deepthink: Run) -> None:
    ran = deepthink("policy", "use", A)
    assert (ran.code, ran.out, ran.err) == (0, f"{A} is active now.\n", "")
    assert Registry().active().name == A
    assert f"{A} your own, active since " in _plain(deepthink("policy", "show").out)
    ran = deepthink("policy", "rollback")
    assert ran.out == "The policy in the box is active now.\n"
    ran = deepthink("policy", "rollback")
    assert (ran.code, ran.out) == (2, "")
    assert "No policy was active before box." in ran.err
    shown = _plain(deepthink("policy", "show").out)
    assert "rolled back to box" in shown
    assert f"chosen {A}" in shown
    assert f"made {moment('2026-11-21T20:30:00+00:00')}" in shown


@pytest.mark.usefixtures("boxed")
def test_a_spoiled_folder_is_told_and_leaves_the_active_one(deepthink: Run, own: Path) -> None:
    (own / A / "model.pkl").write_bytes(b"")
    said = "could run a stranger's code"
    for command in (("use", A, "--force"), ("show", A)):
        ran = deepthink("policy", *command)
        assert (ran.code, ran.out) == (4, "")
        assert said in ran.err
    assert Registry().active().name == "box"
    assert said in _plain(deepthink("policy", "list").out)


@pytest.mark.usefixtures("boxed", "own")
def test_only_ones_own_can_be_removed_and_only_with_a_yes(deepthink: Run) -> None:
    ran = deepthink("policy", "remove", A)
    assert ran.code == 2
    assert "--yes" in ran.err
    for stays in (SHIPPED, "box"):
        ran = deepthink("policy", "remove", stays)
        assert (ran.code, "stays" in ran.err, "--yes" in ran.err) == (2, True, False)
    assert deepthink("policy", "remove", A, "--yes").out == f"Deleted the policy {A}.\n"
    assert not (policies_dir() / A).exists()
    for name in (SHIPPED, "box"):
        ran = deepthink("policy", "remove", name, "-y")
        assert (ran.code, "stays" in ran.err) == (2, True)


# --- a run ------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("boxed", "own", "library")
def test_a_promoted_policy_drives_the_next_question(deepthink: Run, model: Answer) -> None:
    policy(policies_dir(), "late-1", save=Preferring("CONTINUE", 0.2).save)
    for name, steps in (("late-1", 2), (A, 1)):
        assert deepthink("policy", "use", name).code == 0
        model()
        answer = json.loads(deepthink("ask", QUESTION, "--json").out)
        assert (answer["decider"], len(answer["steps"])) == (f"learned:{name}", steps)
        assert {d["source"] for d in answer["decisions"]} == {"learned"}
