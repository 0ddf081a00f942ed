"""The sources of decisions: the rules, the judge, and a learned policy, for want of which no run fails."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.decisions.decider import Decision, PolicyState, policy_state, valid_actions
from agent.decisions.sources import LearnedOrRules, Rules, UnknownSource
from agent.session import Session
from agent.state import RUNGS, TRIES, Action, Recalled
from models.protocols import GenerationCancelled
from tests.agent.conftest import Ask
from tests.agent.made import (
    FIRST,
    TWO_STEPS,
    WHOLE,
    candidate,
    evidence,
    note,
    observed,
    only,
    state,
    step,
    warnings,
)
from tests.scripted import Scripted, ScriptedChat
from traces.errors import DeepthinkError
from traces.runs import Runs
from traces.store import Store

_LOST = [{"question": "Who?", "answer": "", "found": False}]
_TRIABLE: dict[str, Any] = {"retryable": True, "unread": True, "unasked": True}
STOPPED: list[Scripted] = [TWO_STEPS, FIRST, "Tolvang Ceramics supplies the bearings [1]."]


@pytest.mark.parametrize(
    ("changes", "action"),
    [
        ({}, "CONTINUE"),
        ({"open_questions": []}, "FINISH"),
        ({"findings": _LOST}, "CONTINUE"),
        ({"findings": _LOST, "missing": ["Who?"], "open_questions": []}, "FINISH"),
        ({"steps_left": 0}, "FINISH"),
        ({"evidence": []}, "CONTINUE"),
    ],
)
def test_rules(changes: dict[str, Any], action: Action) -> None:
    given = observed(**changes)
    decision = Rules().decide(given, valid_actions(given))
    assert decision.action == action
    assert decision.probabilities[action] == 1.0
    assert decision.justification


@pytest.mark.parametrize(
    ("ends", "said"),  # of the steps: found, not found, skipped
    [
        ("+--", "2 of its 3 steps found nothing certain"),
        ("+s-", "1 of its 3 steps found nothing certain, and you skipped 1 of its 3 steps"),
        ("+s", "you skipped 1 of its 2 steps"),
        ("s", "you skipped its only step"),
    ],
)
def test_the_rules_tell_a_skipped_step_from_one_without_a_finding(ends: str, said: str) -> None:
    notes = [
        note("", *[1] * (end == "+"), question=f"{number}?", skipped=end == "s")
        for number, end in enumerate(ends)
    ]
    steps, count = [step(one["question"]) for one in notes], len(notes)
    run = state(plan=steps, position=count - 1, step=count, notes=notes, evidence=[evidence(1, "x")])
    decision = Rules().decide(policy_state(run, Budget(), 50), ("FINISH",))
    assert decision.justification == f"the plan is done, but {said}"


@pytest.mark.parametrize(
    ("changes", "valid"),
    [
        ({}, ("CONTINUE", "REVISE", "FINISH")),
        ({"open_questions": []}, ("REVISE", "FINISH")),
        ({"evidence": []}, ("CONTINUE",)),  # nothing held: neither an answer nor a revision can help
        ({"evidence": [], "open_questions": []}, ("FINISH",)),
        ({"steps_left": 0}, ("FINISH",)),
        ({"steps_left": 0, "evidence": []}, ("FINISH",)),
        ({"revisions_left": 0}, ("CONTINUE", "FINISH")),
        (_TRIABLE, ("CONTINUE", "REVISE", "FINISH", "MORE", "WORDS", "ASK")),
        ({**_TRIABLE, "retryable": False}, ("CONTINUE", "REVISE", "FINISH")),
        ({**_TRIABLE, "unread": False, "corrections": 4}, ("CONTINUE", "REVISE", "FINISH", "ASK")),
        ({**_TRIABLE, "tried": ["ASK", "MORE"]}, ("CONTINUE", "REVISE", "FINISH", "WORDS")),
        ({**_TRIABLE, "steps_left": 0}, ("FINISH", "MORE", "WORDS", "ASK")),
    ],
)
def test_the_valid_actions(changes: dict[str, Any], valid: tuple[Action, ...]) -> None:
    assert valid_actions(observed(**changes)) == valid
    assert Rules().decide(observed(**changes), valid).action not in TRIES


@pytest.mark.parametrize(
    ("changes", "tries"),
    [
        ({}, ("WORDS", "ASK")),
        ({"recalled": [Recalled(query="a", candidates=[candidate(101, "x"), candidate(102, "y")])]}, TRIES),
        ({"recalled": [Recalled(query="a", candidates=[candidate(101, "x")], further=True)]}, TRIES),
        ({"rungs": [*RUNGS]}, ("ASK",)),
        ({"unasked": False}, ("WORDS",)),
        ({"notes": [note("A", 1)]}, ()),
        ({"notes": [note("", skipped=True)]}, ()),
        ({"query": ""}, ()),  # a revision that brought no step
        ({"step": 2}, ()),  # ended before anything was noted
    ],
)
def test_a_fruitless_step_can_be_tried_further(changes: dict[str, Any], tries: tuple[Action, ...]) -> None:
    found = candidate(101, "x")
    run = {
        "plan": [step("a"), step("b")],
        "position": 0,
        "step": 1,
        "query": "a",
        "recalled": [Recalled(query="a", candidates=[found])],
        "candidates": [found],
        "notes": [note("")],
        "unasked": True,
    }
    seen = policy_state(state(**{**run, **changes}), Budget(), 50)
    assert tuple(one for one in valid_actions(seen) if one in TRIES) == tries


def test_the_state_is_made_from_the_run_alone() -> None:
    run = state(
        plan=[step("a"), step("b")],
        position=0,
        step=1,
        candidates=[candidate(101, "x"), candidate(102, "y")],
        evidence=[evidence(1, "x"), evidence(2, "old")],
        fresh=[1],
        again=[2],
        notes=[note("A", 1, question="a")],
    )
    seen = policy_state(run, Budget(steps=3, revisions=1, tokens=100), 50)
    assert (seen.step, seen.steps_left, seen.revisions_left, seen.tokens_left) == (1, 2, 1, 0.5)
    assert (seen.fresh, seen.again, seen.open_questions) == (1, 1, ["b"])
    finding = {"question": "a", "answer": "A", "found": True, "relevance": 0.0, "span": 0.0, "answers": 0.0}
    assert seen.findings == [finding]
    assert "notebook" not in seen.to_json()


# --- a learned policy -------------------------------------------------------------------------------


class Missing(DeepthinkError):
    title = "Policy"


@dataclass
class Stopping:
    """A policy that finishes whenever it may; ``fails`` is raised instead."""

    name: str = "forest-1"
    warning: str = ""
    action: Action = "FINISH"
    fails: Exception | None = None
    threads: list[str] = field(default_factory=list)  # in which it decided

    def decide(self, state: PolicyState, valid: Sequence[Action]) -> Decision:
        self.threads.append(threading.current_thread().name)
        if self.fails is not None:
            raise self.fails
        shown: dict[Action, float] = {"CONTINUE": 0.2, "REVISE": 0.1, "FINISH": 0.7}
        return Decision(self.action, shown, "learned", 0.3, "enough is known")


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        (None, "There is no learned policy."),
        (Stopping(fails=Missing("It needs torch.")), "It needs torch."),
        (Stopping(fails=ImportError("No torch")), "The policy forest-1 failed: ImportError: No torch."),
        (Stopping(warning="active.json is damaged.", fails=MemoryError("full")), "MemoryError: full."),
        (Stopping(action="REVISE"), "ValueError: it chose REVISE, which is not possible here."),
    ],
)
def test_if_a_policy_fails_the_rules_decide_and_say_so(policy: Stopping | None, why: str) -> None:
    events: list[ev.Event] = []
    with ScriptedChat([]) as chat:
        learned = LearnedOrRules(policy, Session(chat, Budget(), events.append).warn_once)
        for _ in range(2):
            decision = learned.decide(observed(), ("CONTINUE", "FINISH"))
            assert (decision.source, decision.action) == ("rules", "CONTINUE")
    *before, failed = warnings(events)
    assert before == ([policy.warning] if policy and policy.warning else [])
    assert failed.endswith(f"{why} The rules decide instead.")


def test_lean_leaves_the_decisions_to_a_policy_that_is_handed_in(ask: Ask, store: Store) -> None:
    policy = Stopping()
    events = ask(STOPPED, learned=policy, shadow="learned")
    assert only(events, ev.RunStarted)[0].decider == "learned:forest-1"
    (decided,) = only(events, ev.Decided)
    taken = (decided.source, decided.action, decided.justification)
    assert taken == ("learned", "FINISH", "enough is known")
    assert decided.shadow is None, "its own second opinion is none"
    stored = Runs(store).find("last")
    assert stored.decider == "learned:forest-1"
    assert stored.stopped_because == "learned: enough is known"
    (row,) = Runs(store).decisions(stored.id)
    assert (row.source, row.probabilities["FINISH"]) == ("learned", 0.7)
    assert row.text == decided.text != ""
    assert set(policy.threads) == {"deepthink-run"}, "loaded in the run's thread, not the caller's"
    assert warnings(events) == []


@pytest.mark.parametrize("named", ["decider", "shadow"])
def test_only_known_sources_may_be_named(ask: Ask, named: str) -> None:
    with pytest.raises(UnknownSource, match="coin"):
        ask([], learned=Stopping(), **{named: "coin"})


def test_a_cancelled_run_stays_cancelled(ask: Ask) -> None:
    with pytest.raises(GenerationCancelled):
        ask(STOPPED[:2], learned=Stopping(fails=GenerationCancelled("The run was cancelled.")))


# --- resuming ---------------------------------------------------------------------------------------


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
        (Stopping(), None, ["There is no learned policy. The rules decide instead."], {"rules"}),
        (None, Stopping(), [], {"learned"}),
    ],
)
def test_a_resumed_run_says_whose_decisions_go_on(
    ask: Ask, before: Stopping | None, after: Stopping | None, said: list[str], sources: set[str]
) -> None:
    with pytest.raises(RuntimeError, match="killed"):
        ask([TWO_STEPS, RuntimeError("killed")], learned=before)
    events = ask(STOPPED[1:] if after else WHOLE[1:], resumed="last", learned=after)
    assert {d.source for d in only(events, ev.Decided)} == sources
    assert warnings(events) == said
