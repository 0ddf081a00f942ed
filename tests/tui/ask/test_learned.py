"""A learned policy that decides in the app: who decides is told before, in the meters and in the strip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from policy.serving import folder as folders
from policy.serving.registry import Registry, policies_dir
from tests.policy import made
from tests.policy.made import Preferring, policy
from tests.tui.ask.test_screen import asked
from tests.tui.conftest import Answering, MakeApp
from tests.tui.decisions.test_screen import behind, opened, rows
from tests.tui.waiting import until
from traces.runs import Runs

SHIPPED = "forest-20261101-000000"


@pytest.fixture(autouse=True)
def boxed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A policy is in the box, which finishes whenever it may."""
    monkeypatch.setattr(folders, "read_scorer", made.load)
    monkeypatch.setattr("policy.serving.registry._SHIPPED", tmp_path / "box")
    policy(tmp_path / "box", SHIPPED)


async def test_the_policy_in_the_box_decides_until_another_is_chosen(
    make_app: MakeApp, filled: Path
) -> None:
    app = make_app(Answering())
    async with app.run_test(size=(120, 40)) as driver:
        pilot: Pilot[Any] = driver
        await asked(pilot)
        decisions = await opened(pilot)
        await until(pilot, lambda: "learned" in rows(decisions))
        assert "FINISH" in rows(decisions)
        await until(
            pilot, lambda: "one of two sub-questions answered" in " ".join(behind(decisions).split())
        )
        policy(policies_dir(), "late-1", save=Preferring("CONTINUE", 0.2).save)
        Registry().use("late-1")
        await pilot.press("f2")
        await until(pilot, lambda: app.current_mode == "ask")
        await asked(pilot)
    runs = Runs(app.engine.store)
    latest, before = runs.recent(2)
    assert (before.decider, latest.decider) == (f"learned:{SHIPPED}", "learned:late-1")
    assert [len(runs.decisions(run.id)) for run in (before, latest)] == [1, 2]
