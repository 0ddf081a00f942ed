"""The registry: what there is, what is active, how that came to be, and the way back."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from policy.serving import registry as registries
from policy.serving.folder import BOX, BadPolicy, Base, CannotWritePolicy, Gate, read
from policy.serving.registry import NothingBefore, NotPassed, Registry, UnknownPolicy
from tests.policy.made import policy

A, B, C = "forest-20261121-100000", "forest-20261121-110000", "value-20261121-120000"
SHIPPED = "forest-20261101-000000"
FAILED = Gate(passed=False, reason="It is not better than the default.", rule="Better.")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "policies"


@pytest.fixture
def registry(tmp_path: Path, root: Path) -> Registry:
    """Two of a person's own, one in the box."""
    policy(root, A)
    policy(root, B)
    policy(tmp_path / "box", SHIPPED)
    return Registry(root, tmp_path / "box")


def _active(registry: Registry) -> str:
    place = registry.active().folder
    return place.name if place else ""


def test_the_box_is_active_until_another_is_chosen(registry: Registry, root: Path) -> None:
    assert (registry.active().name, _active(registry), registry.active().warning) == (BOX, SHIPPED, "")
    done = registry.use(A)
    assert (done.name, done.how, done.forced, done.reason) == (A, "use", False, "It is better.")
    assert (registry.active().name, _active(registry)) == (A, A)
    assert Registry(root).active().name == A, "it is on disk"


def test_everything_is_listed_the_newest_of_ones_own_first(registry: Registry, root: Path) -> None:
    (root / B / "README.md").write_text("other")
    (root / ".unfinished.x" / C).mkdir(parents=True)
    (root / "notes").mkdir()
    registry.use(A)
    found = registry.listed()
    assert [(p.name, p.boxed, p.active) for p in found] == [
        (SHIPPED, True, False),
        (B, False, False),
        (A, False, True),
    ]
    assert found[0].manifest == read(found[0].folder)
    assert found[1].manifest is None
    assert "tampered with: README.md" in found[1].problem


def test_a_policy_is_found_by_the_beginning_of_its_name(registry: Registry, root: Path) -> None:
    assert registry.find("forest-20261121-10") == root / A
    assert registry.find(BOX).name == SHIPPED
    for wrong, said in (("forest-2026112", "Several"), ("x", "no policy called"), ("", "no policy called")):
        with pytest.raises(UnknownPolicy, match=said):
            registry.find(wrong)
    for outside in ("../policies", "/etc", "."):
        with pytest.raises(UnknownPolicy):
            registry.find(outside)


def test_the_gate_has_to_have_passed_or_it_is_forced_and_recorded(registry: Registry, root: Path) -> None:
    policy(root, C, gate=FAILED)
    with pytest.raises(NotPassed, match="not better than the default") as refused:
        registry.use(C)
    assert "--force" in refused.value.way_out
    assert _active(registry) == SHIPPED
    done = registry.use(C, force=True)
    assert (done.forced, done.reason, _active(registry)) == (True, FAILED.reason, C)
    assert [(a.name, a.forced) for a in registry.history()] == [(C, True)]


def test_what_cannot_be_used_leaves_the_active_one(registry: Registry, root: Path) -> None:
    registry.use(A)
    (root / B / "said.safetensors").unlink()
    with pytest.raises(BadPolicy, match="is missing"):
        registry.use(B, force=True)
    policy(root, C, method="reward", base=Base(name="some-model", sha256="a" * 64))
    with pytest.raises(BadPolicy, match="needs some-model, which is not on this machine"):
        registry.use(C, force=True)
    assert _active(registry) == A
    assert len(registry.history()) == 1


def test_rollback_goes_back_step_by_step_to_the_box(registry: Registry) -> None:
    with pytest.raises(NothingBefore, match="No policy was active before"):
        registry.rollback()
    registry.use(A)
    registry.use(B)
    registry.use(B)
    assert registry.rollback().name == A
    assert _active(registry) == A
    done = registry.rollback()
    assert (done.name, done.how, done.reason) == (BOX, "rollback", f"instead of {A}")
    with pytest.raises(NothingBefore):
        registry.rollback()
    assert [a.name for a in registry.history()] == [BOX, A, B, B, A]


def test_rollback_passes_over_what_is_gone(registry: Registry, root: Path) -> None:
    policy(root, C)
    for name in (A, B, C):
        registry.use(name)
    (root / B / "manifest.json").unlink()
    done = registry.rollback()
    assert done.name == A
    assert f"passed over {B}" in done.reason
    registry.use(C)
    registry.remove(B)
    assert registry.rollback().name == A


def test_an_empty_box_leaves_the_rules(root: Path, tmp_path: Path) -> None:
    registry = Registry(root, tmp_path / "nothing")
    assert registry.active().folder is None
    assert registry.listed() == []
    with pytest.raises(UnknownPolicy):
        registry.find(BOX)
    assert registry.use(BOX).reason == "the rules decide"
    policy(root, A)
    registry.use(A)
    assert registry.rollback().name == BOX


def test_a_box_says_which_of_its_policies_is_active_or_none(registry: Registry, tmp_path: Path) -> None:
    policy(tmp_path / "box", C)
    (tmp_path / "box" / "active.json").write_text(json.dumps({"active": C}))
    assert _active(registry) == C
    (tmp_path / "box" / "active.json").write_text(json.dumps({"active": "box"}))
    assert registry.active().folder is None
    registry.use(SHIPPED, force=True)
    assert (registry.active().name, _active(registry)) == (SHIPPED, SHIPPED)
    assert not registry.use("box").forced
    assert registry.active().folder is None


@pytest.mark.parametrize("text", ["{", '{"active": "../../x"}', '{"format": 2}', "\udcff\x00"])
def test_a_damaged_record_means_the_box_and_is_told(registry: Registry, root: Path, text: str) -> None:
    registry.use(A)
    (root / "active.json").write_bytes(text.encode(errors="surrogateescape"))
    found = registry.active()
    assert (found.name, _active(registry)) == (BOX, SHIPPED)
    assert "active.json cannot be read" in found.warning
    registry.use(B)
    assert (registry.active().name, registry.active().warning) == (B, "")
    assert (root / "active.damaged.json").exists(), "put aside, not thrown away"


def test_only_ones_own_and_only_what_is_not_active_is_removed(registry: Registry, root: Path) -> None:
    registry.use(A)
    for name, said in ((A, "is active"), (SHIPPED, "stays"), (BOX, "stays"), ("forest", "You have no")):
        with pytest.raises(UnknownPolicy, match=said):
            registry.remove(name)
    for name in ("..", "", "../box"):
        with pytest.raises(UnknownPolicy):
            registry.remove(name)
    registry.remove(B)
    assert not (root / B).exists()


def test_another_process_is_not_overrun_and_a_full_disk_leaves_the_record(
    registry: Registry, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    registry.use(A)
    monkeypatch.setattr(registries, "_PATIENCE", 0.05)
    with FileLock(root / ".lock"), pytest.raises(CannotWritePolicy, match="Another process"):
        registry.use(B)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CannotWritePolicy, match="No space left"):
        registry.use(B)
    assert _active(registry) == A


@pytest.mark.parametrize("at", ["save", "fsync"])
def test_a_killed_process_leaves_everything_as_it_was(registry: Registry, root: Path, at: str) -> None:
    registry.use(A)
    script = f"""
import os, signal
from pathlib import Path
from policy.serving.registry import Registry
from tests.policy.made import policy, Preferring
root = Path({str(root)!r})
def die(*_args, **_named):
    os.kill(os.getpid(), signal.SIGKILL)
if {at!r} == "save":
    policy(root, {C!r}, save=die)
os.fsync = die
Registry(root, root / "no-box").use({B!r})
"""
    there = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False, cwd=there)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert _active(registry) == A
    assert [p.name for p in registry.listed() if not p.boxed] == [B, A]
    assert registry.use(B).name == B, "no lock is left"
    policy(root, C)
