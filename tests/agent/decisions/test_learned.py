"""A learned policy in the graph: it decides where it should, and no run fails for want of it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import agent.events as ev
from agent.decisions.decider import Decider, Decision, PolicyState
from agent.profiles import DECIDES, SOURCES, UnknownProfile, check_decider, decides
from agent.state import Action
from agent.steering import Steering
from models.protocols import GenerationCancelled
from tests.agent.conftest import Ask
from tests.agent.made import FIRST, TWO_STEPS, WHOLE, only, warnings
from tests.scripted import Scripted
from traces.errors import DeepthinkError
from traces.runs import Runs
from traces.store import Store

STOPPED: list[Scripted] = [TWO_STEPS, FIRST, "Tolvang Ceramics supplies the bearings [1]."]


class Missing(DeepthinkError):
    title = "Policy"


@dataclass
class Stopping:
    """A policy that finishes whenever it may; ``fails`` and ``unloadable`` are raised instead."""

    name: str = "forest-1"
    warning: str = ""
    action: Action = "FINISH"
    fails: Exception | None = None
    unloadable: Exception | None = None
    threads: list[str] = field(default_factory=list)  # in which it was loaded
    asked: int = 0

    def decider(self) -> Decider:
        self.threads.append(threading.current_thread().name)
        if self.unloadable is not None:
            raise self.unloadable
        return _Source(self)


@dataclass
class _Source:
    policy: Stopping
    name: str = "learned"

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        self.policy.asked += 1
        if self.policy.fails is not None:
            raise self.policy.fails
        shown: dict[Action, float] = {"CONTINUE": 0.2, "REVISE": 0.1, "FINISH": 0.7}
        return Decision(self.policy.action, shown, self.name, 0.3, "enough is known")


def test_lean_leaves_the_decisions_to_a_policy_that_is_handed_in(ask: Ask, store: Store) -> None:
    policy = Stopping()
    events = ask(STOPPED, learned=policy)
    assert only(events, ev.RunStarted)[0].decider == "learned:forest-1"
    (decided,) = only(events, ev.Decided)
    assert (decided.source, decided.action, decided.justification) == (
        "learned",
        "FINISH",
        "enough is known",
    )
    stored = Runs(store).find("last")
    assert stored.decider == "learned:forest-1"
    assert stored.stopped_because == "learned: enough is known"
    (row,) = Runs(store).decisions(stored.id)
    assert (row.source, row.probabilities["FINISH"]) == ("learned", 0.7)
    assert row.text == decided.text != ""
    assert policy.threads == ["deepthink-run"], "loaded in the run's thread, not the caller's"
    assert warnings(events) == []


def test_without_one_the_rules_decide_as_ever(ask: Ask) -> None:
    events = ask(WHOLE)
    assert only(events, ev.RunStarted)[0].decider == "rules"
    assert {d.source for d in only(events, ev.Decided)} == {"rules"}
    assert warnings(events) == []


def test_whoever_is_named_decides(ask: Ask) -> None:
    policy = Stopping()
    events = ask(WHOLE, learned=policy, decider="rules")
    assert only(events, ev.RunStarted)[0].decider == "rules"
    assert policy.threads == [], "it is not even loaded"


def test_the_seed_stays_as_it_was_described() -> None:
    assert (decides("seed", learned=True), decides("lean", learned=True)) == ("llm", "learned")
    assert (decides("seed", learned=False), decides("lean", learned=False)) == ("llm", "rules")
    assert DECIDES == {"lean": "rules", "seed": "llm"}


def test_only_known_sources_may_be_named(ask: Ask) -> None:
    for name in SOURCES:
        check_decider(name)
    wrong: list[dict[str, Any]] = [{"decider": "coin"}, {"shadow": "coin"}]
    for changes in wrong:
        with pytest.raises(UnknownProfile, match="coin"):
            ask([], learned=Stopping(), **changes)


def test_one_that_cannot_be_loaded_leaves_the_decisions_to_the_rules(ask: Ask, store: Store) -> None:
    events = ask(WHOLE, learned=Stopping(unloadable=Missing("The policy forest-1 needs torch.")))
    assert [(d.source, d.action) for d in only(events, ev.Decided)] == [
        ("rules", "CONTINUE"),
        ("rules", "FINISH"),
    ]
    assert warnings(events) == ["The policy forest-1 needs torch. The rules decide instead."]
    stored = Runs(store).events(Runs(store).find("last").id)
    assert [e.payload["message"] for e in stored if e.kind == "Warned"] == warnings(events), "recorded"


@pytest.mark.parametrize(
    "policy",
    [
        Stopping(fails=ZeroDivisionError("by zero")),
        Stopping(fails=MemoryError()),
        Stopping(unloadable=ImportError("No module named torch")),
    ],
)
def test_one_that_fails_at_a_decision_is_told_once(ask: Ask, policy: Stopping) -> None:
    events = ask(WHOLE, learned=policy)
    assert [d.source for d in only(events, ev.Decided)] == ["rules", "rules"]
    (said,) = warnings(events)
    assert said.startswith("The policy forest-1 failed: ")
    assert said.endswith("The rules decide instead.")


def test_one_that_does_what_is_not_possible_is_not_followed(ask: Ask) -> None:
    events = ask(WHOLE, learned=Stopping(action="CONTINUE"))
    assert [(d.source, d.action) for d in only(events, ev.Decided)] == [
        ("learned", "CONTINUE"),
        ("rules", "FINISH"),
    ]
    assert "it chose CONTINUE, which is not possible here" in warnings(events)[0]


def test_a_cancelled_run_stays_cancelled(ask: Ask) -> None:
    with pytest.raises(GenerationCancelled):
        ask(STOPPED[:2], learned=Stopping(fails=GenerationCancelled("The run was cancelled.")))


def test_naming_the_learned_source_without_a_policy_is_told(ask: Ask) -> None:
    events = ask(WHOLE, decider="learned")
    assert warnings(events) == ["There is no learned policy. The rules decide instead."]
    assert {d.source for d in only(events, ev.Decided)} == {"rules"}


def test_what_is_wrong_with_the_choice_is_told_once(ask: Ask) -> None:
    events = ask(WHOLE, learned=Stopping(warning="active.json is damaged.", fails=ValueError("x")))
    assert warnings(events)[0] == "active.json is damaged."
    assert len(warnings(events)) == 2


# --- as a second opinion ----------------------------------------------------------------------------


def test_its_second_opinion_is_recorded_and_not_followed(ask: Ask, store: Store) -> None:
    policy = Stopping()
    events = ask(WHOLE, learned=policy, decider="rules", shadow="learned")
    assert [(d.source, d.action) for d in only(events, ev.Decided)] == [
        ("rules", "CONTINUE"),
        ("rules", "FINISH"),
    ]
    shadows = [d for d in Runs(store).decisions(Runs(store).find("last").id) if d.shadow]
    assert [(d.source, d.action) for d in shadows] == [("learned", "FINISH"), ("learned", "FINISH")]


def test_the_rules_are_the_second_opinion_beside_it(ask: Ask) -> None:
    (decided,) = only(ask(STOPPED, learned=Stopping(), shadow="rules"), ev.Decided)
    assert decided.shadow is not None
    assert (decided.source, decided.shadow["source"], decided.shadow["action"]) == (
        "learned",
        "rules",
        "CONTINUE",
    )


def test_its_own_second_opinion_is_none(ask: Ask) -> None:
    (decided,) = only(ask(STOPPED, learned=Stopping(), shadow="learned"), ev.Decided)
    assert decided.shadow is None


@pytest.mark.parametrize("policy", [None, Stopping(unloadable=Missing("It needs torch."))])
def test_a_second_opinion_that_fails_is_nobodys(ask: Ask, policy: Stopping | None) -> None:
    """The rules do not take its place: they would stand there as if they had been asked."""
    events = ask(WHOLE, learned=policy, decider="rules", shadow="learned")
    assert [d.shadow for d in only(events, ev.Decided)] == [None, None]
    (said,) = warnings(events)
    assert said.startswith("learned could not be asked for comparison: ")


def test_a_persons_override_is_compared_with_it(ask: Ask) -> None:
    steering = Steering()
    steering.override("CONTINUE")
    first = only(ask(WHOLE, steering=steering, learned=Stopping()), ev.Decided)[0]
    assert (first.source, first.label) == ("human", "override")
    assert first.shadow is not None
    assert (first.shadow["source"], first.shadow["action"]) == ("learned", "FINISH")


# --- resuming ---------------------------------------------------------------------------------------


class _Killed(Exception):
    pass


@pytest.mark.parametrize(
    ("before", "after", "said", "sources"),
    [
        (Stopping(), Stopping(), [], {"learned"}),
        (
            Stopping(),
            Stopping(name="value-2"),
            ["The run began with decisions by learned:forest-1; from here on they are by learned:value-2."],
            {"learned"},
        ),
        (
            Stopping(),
            None,
            [
                "There is no learned policy. The rules decide instead.",
            ],
            {"rules"},
        ),
        (None, Stopping(), [], {"learned"}),
    ],
)
def test_a_resumed_run_says_whose_decisions_go_on(
    ask: Ask, before: Stopping | None, after: Stopping | None, said: list[str], sources: set[str]
) -> None:
    def killed(_messages: object) -> Any:
        raise _Killed

    with pytest.raises(_Killed):
        ask([TWO_STEPS, killed], learned=before)
    events = ask(STOPPED[1:] if after else WHOLE[1:], resumed="last", learned=after)
    assert {d.source for d in only(events, ev.Decided)} == sources
    assert warnings(events) == said
