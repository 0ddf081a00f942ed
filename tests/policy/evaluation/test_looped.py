"""Systems that run the product: their answers are made of what a run tells."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from agent.budget import Budget
from agent.events import AnswerText, Event, RunFinished, RunStarted
from agent.prompts import NOT_FOUND
from models.protocols import GenerationCancelled, ModelError
from policy.evaluation.answered import Answered, Parts, System
from policy.evaluation.cache import CachedChat
from policy.evaluation.cases import Place
from policy.evaluation.looped import Looped
from tests.agent.conftest import fill
from tests.policy.evaluation.working import CASE, READER, STEPS, WRITTEN, parts, replying
from tests.scripted import HashEmbedder, Scripted, ScriptedChat
from traces.runs import Runs
from traces.store import Store

LEAN = Looped("lean rules, live", "lean", "rules")
NO_REVISION = Budget(revisions=0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store.duckdb")
    fill(store, HashEmbedder())
    return store


def _answered(system: System, script: list[Scripted], store: Store, budget: Budget) -> Answered:
    with ScriptedChat(script) as chat:
        return system.answer(CASE, parts(chat, store, budget))


def test_a_run_of_the_loop_is_an_answer(store: Store) -> None:
    with replying(3) as chat:
        answered = LEAN.answer(CASE, parts(chat, store, NO_REVISION))
    assert LEAN.name == "lean rules, live"
    assert answered.text.startswith(WRITTEN)
    assert not answered.abstained
    assert answered.held[:2] == (Place("annual-report"), Place("fire"))
    assert answered.cited == (Place("annual-report"),)
    assert (answered.sentences, answered.flagged) == (1, 0)
    assert (answered.cost.steps, answered.cost.calls) == (2, 3)
    assert answered.stopped == "rules: the plan is done, and asking again brought no more"
    assert answered.traced == {"recalled": 1.0, "noted": 0.5}
    stored = Runs(store).find("last")
    assert (stored.question, stored.decider) == (CASE.question, "rules")


def test_only_the_given_collections_are_searched(store: Store) -> None:
    script: list[Scripted] = [{"steps": STEPS[:1]}, WRITTEN]
    with ScriptedChat(script) as chat:
        given = Parts(chat, HashEmbedder(), READER, store, ("reports",), NO_REVISION)
        answered = LEAN.answer(CASE, given)
    assert answered.traced["recalled"] == 0.5


def test_nothing_found_is_an_abstention(store: Store) -> None:
    answered = _answered(LEAN, [{"steps": STEPS[:1]}, NOT_FOUND], store, NO_REVISION)
    assert (answered.text, answered.abstained) == (NOT_FOUND, True)
    assert answered.cited == ()
    assert answered.held != ()


def test_what_its_sources_do_not_say_is_flagged(store: Store) -> None:
    script: list[Scripted] = [
        {"steps": STEPS[:1]},
        f"{WRITTEN} A flood in Kasmere ruined nine warehouses of Haldrecht.",
    ]
    answered = _answered(LEAN, script, store, NO_REVISION)
    assert (answered.sentences, answered.flagged) == (2, 1)


def test_the_seed_asks_its_model_everywhere(store: Store) -> None:
    step = {"question": STEPS[0], "reason": "r", "tool": "reports", "keywords": "supplier", "section": ""}
    script: list[Scripted] = [
        {"steps": [step]},
        "ceramic bearings single supplier",
        {"searches": ["supplier of ceramic bearings"]},
        {"justification": "exact names", "strategy": "keyword"},
        {"A": "correct"},
        "(A) Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics.",
        {"source": 1, "answer": "Tolvang Ceramics", "sentence": "Tolvang Ceramics supplies them."},
        {"A": 0.1, "B": 0.1, "C": 0.8},
        "All is known.",
        WRITTEN,
        {"verdicts": ["supported"]},
    ]
    answered = _answered(Looped("seed", "seed"), script, store, Budget())
    assert answered.cost.calls == len(script)
    assert answered.cost.steps == 1
    assert answered.held == (Place("annual-report"),)
    assert answered.stopped == "llm: All is known."


def test_a_run_that_fails_says_so(store: Store) -> None:
    broken = ModelError("The model is gone.", "Start it.")
    with pytest.raises(ModelError, match="gone"):
        _answered(LEAN, [broken], store, NO_REVISION)


def test_whoever_watches_is_told_the_run(store: Store) -> None:
    told: list[Event] = []
    with replying(3) as chat:
        LEAN.answer(CASE, replace(parts(chat, store, NO_REVISION), on_event=told.append))
    assert isinstance(told[0], RunStarted)
    assert isinstance(told[-1], RunFinished)
    assert "".join(event.text for event in told if isinstance(event, AnswerText)) == WRITTEN


def test_a_run_that_is_given_up_can_be_resumed(store: Store) -> None:
    cancel = threading.Event()
    cancel.set()
    with ScriptedChat([]) as chat, pytest.raises(GenerationCancelled):
        LEAN.answer(CASE, replace(parts(chat, store, NO_REVISION), cancel=cancel))
    assert Runs(store).find("last").status == "cancelled"


def test_seconds_from_the_cache_are_charged(store: Store, tmp_path: Path) -> None:
    with replying(3) as chat:
        cached = CachedChat(chat, tmp_path / "replies.jsonl")
        first = LEAN.answer(CASE, parts(cached, store, NO_REVISION))
        again = LEAN.answer(CASE, parts(cached, store, NO_REVISION))
        spared = cached.spared
    assert again.text == first.text
    assert (again.cost.calls, again.cost.evaluated) == (first.cost.calls, first.cost.evaluated)
    assert again.cost.seconds > spared
