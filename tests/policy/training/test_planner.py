"""The planner learns from corrected plans, with a tiny model: what is kept, judged and used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent.plans import FEWEST, correct
from agent.steps.plan_text import Plan, PlanRequest, look_up
from models.boxed_planner.planner import BoxedPlanner, own_adapter
from policy.serving.folder import Gate
from policy.training import planner
from policy.training.adapters import Base, export
from policy.training.plan_fitting import fit, written
from policy.training.planner import PlannerRequest, gather, train
from policy.training.progress import CannotTrain, Finished, Trained, TrainingEvent
from tests.scripted import ScriptedCompleter
from traces.runs import NewRun, Ratings, RunEnd, Runs, StoredEvent
from traces.store import Store

pytestmark = pytest.mark.filterwarnings(  # PEFT asks transformers by the old name
    "ignore:`is_gradient_checkpointing` is deprecated:FutureWarning"
)


TWO = Plan("search", "rent and fee", [look_up("rent"), look_up("fee")])


def _ran(store: Store, number: int, *, source: str = "planner") -> str:
    question = f"rent {number} and fee {number}"
    steps = [dict(look_up(question))]
    events = [
        StoredEvent(0, 0.1, "Routed", {"source": source}),
        StoredEvent(1, 0.2, "Planned", {"steps": steps, "revision": 0, "origin": source}),
    ]
    runs = Runs(store)
    run_id = runs.begin(NewRun(question, "lean", "chat", "embedder", "", "rules", ("a",)))
    runs.record(run_id, events, end=RunEnd("answered", "", "50 [1].", 1, 1, 0, 1, ""))
    return run_id


def _correct(store: Store, count: int) -> None:
    for number in range(count):
        correct(store, Runs(store).find(_ran(store, number)), [f"rent {number}", f"fee {number}"])


@pytest.fixture
def tiny(base: Base, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Base:
    """A tiny model in place of the planner's base, with an adapter of its own."""
    lesson = (PlanRequest("rent and fee"), TWO)
    shipped = tmp_path / "shipped.gguf"
    export(fit([lesson] * 12, base, tmp_path / "work"), base.gguf, shipped)
    monkeypatch.setattr(planner, "SHIPPED", shipped)
    monkeypatch.setattr(planner, "checked", lambda _model: base.gguf)
    monkeypatch.setattr(planner, "open_base", lambda _gguf: base)
    monkeypatch.setattr(planner, "written", lambda: written()[:4])
    return base


def test_too_few_corrected_plans_teach_nothing(store: Store) -> None:
    _correct(store, FEWEST - 1)
    with pytest.raises(CannotTrain, match=str(FEWEST - 1)):
        train(PlannerRequest(), lambda _event: None, store=store)


def test_the_taught_planners_other_plans_are_kept_unless_their_answers_are_wrong(store: Store) -> None:
    _correct(store, 1)
    good, wrong, _ = _ran(store, 90), _ran(store, 91), _ran(store, 92, source="person")
    Ratings(store).rate(wrong, "wrong")
    lessons = gather(store)
    assert [[step["question"] for step in plan.steps] for _, plan in lessons.corrected] == [
        ["rent 0", "fee 0"]
    ]
    assert [request.question for request, _ in lessons.kept] == [Runs(store).find(good).question]


def test_a_forced_planner_plans_until_it_is_dropped(store: Store, tiny: Base, tmp_path: Path) -> None:
    shipped = tmp_path / "shipped.gguf"
    _correct(store, FEWEST)
    events: list[TrainingEvent] = []
    train(PlannerRequest(force=True), events.append, store=store)
    assert [event.step for event in events if isinstance(event, Trained)]
    assert sum(isinstance(event, Gate) for event in events) == 1
    assert events[-1] == Finished(planner.NAME, own_adapter().parent, True)
    used = BoxedPlanner(tiny.gguf, shipped, own_adapter())
    mine, boxed = (BoxedPlanner(tiny.gguf, file) for file in (own_adapter(), shipped))
    text = "Question: rent 1 and fee 1\nPlan:"
    assert used.complete(text, 8).text == mine.complete(text, 8).text
    assert planner.drop()
    assert used.complete(text, 8).text == boxed.complete(text, 8).text
    assert not planner.drop()


@pytest.mark.parametrize("splits", [True, False])
def test_the_gate_passes_what_plans_more_as_wanted(splits: bool) -> None:
    request = PlanRequest("rent and fee")
    one = replace(TWO, steps=[look_up(request.question)])
    held_out = planner.Lessons([(request, TWO)] * 2, [(request, one)])
    split, whole = ScriptedCompleter(["=\nrent\nfee"] * 3), ScriptedCompleter(["=\n="] * 3)
    verdict = planner.judge(*((whole, split) if splits else (split, whole)), held_out)
    assert verdict.passed == splits
    assert verdict.measures["corrected plans as wanted, of 2 held out"] == ("0 → 2" if splits else "2 → 0")
