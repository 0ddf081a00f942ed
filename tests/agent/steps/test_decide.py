"""Step ``decide``: the decider, the budget, a shadow, and the person, who may be asked each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

import agent.events as ev
from agent.budget import Budget
from agent.decisions.decider import Decision, PolicyState, certain
from agent.decisions.sources import source
from agent.deps import Deps
from agent.session import SHADOW
from agent.state import Action, RunState
from agent.steering import Steering
from agent.steps.decide import decide
from models.protocols import GenerationCancelled
from tests.agent.made import evidence, note, only, state, step
from tests.agent.steps.conftest import Events, Make

UNSURE: dict[str, Any] = {"A": 0.2, "B": 0.1, "C": 0.7}  # the judge would FINISH


def _open(**changes: Any) -> RunState:
    plan, held = [step("Who?"), step("Where?")], [evidence(1, "Tolvang.")]
    return state(**{"plan": plan, "position": 0, "step": 1, "evidence": held, **changes})


def _nothing_found() -> RunState:
    """The plan's only step has passages, in which the reader alone saw no answer."""
    return _open(plan=[step("Who?")], query="Who?", notes=[note("")], unasked=True)


def _done(**changes: Any) -> RunState:
    return _open(plan=[step("Who?")], **changes)


def _decided(events: Events) -> ev.Decided:
    (decided,) = only(events, ev.Decided)
    return decided


def _shadow(decided: ev.Decided) -> tuple[str, str]:
    assert decided.shadow is not None
    return decided.shadow["source"], decided.shadow["action"]


def test_the_budget_ends_it_and_says_so(make: Make, events: Events) -> None:
    update = decide(_open(barren=2), _shadowed(make()))
    assert update == {"action": "FINISH", "stopped_because": "no new evidence in 2 steps"}
    assert (_decided(events).source, _decided(events).valid) == ("budget", ["FINISH"])


@pytest.mark.parametrize(
    ("profile", "shadow"),
    [("lean", ("rules", "CONTINUE")), ("seed", None)],  # no model call is spent on what it would do
)
def test_a_persons_decision_goes_first_and_the_rules_are_recorded_beside_it(
    make: Make, events: Events, profile: str, shadow: tuple[str, str] | None
) -> None:
    deps = make(profile_name=profile)
    deps.steering.override("FINISH")
    assert decide(_open(), deps)["action"] == "FINISH"
    decided = _decided(events)
    assert (decided.source, decided.label) == ("human", "override")
    assert (_shadow(decided) if decided.shadow else None) == shadow


def test_a_cancelled_shadow_cancels_the_run(make: Make) -> None:
    deps = make()
    deps.steering.cancel()
    with pytest.raises(GenerationCancelled):
        decide(_open(), _shadowed(deps))


def test_a_decision_that_is_not_possible_is_not_taken(make: Make, events: Events) -> None:
    deps = make(budget=Budget(revisions=0))
    deps.steering.override("REVISE")
    assert decide(_open(), deps)["action"] == "CONTINUE"
    assert only(events, ev.Warned)


# --- steps that a person added ----------------------------------------------------------------------


class _Finisher:
    """A decider that finishes where it may."""

    name = "learned"

    def decide(self, _state: PolicyState, valid: Sequence[Action]) -> Decision:
        action = "FINISH" if "FINISH" in valid else valid[0]
        return Decision(action, certain(action), self.name, 0.0)


def test_a_decider_cannot_finish_while_an_added_step_is_open(make: Make, events: Events) -> None:
    deps = make(decider=_Finisher())
    deps.steering.add("  And   when? ")
    update = decide(_open(), deps)
    assert [one["question"] for one in update["plan"]] == ["Who?", "Where?", "And when?"]
    assert [event.origin for event in only(events, ev.Planned)] == ["person"]
    assert (update["action"], _decided(events).valid) == ("CONTINUE", ["CONTINUE"])
    # The plan's own step is taken first; then it is still open.
    taken = [decide(_open(plan=update["plan"], position=n, step=n + 1), deps)["action"] for n in (1, 2)]
    assert taken == ["CONTINUE", "FINISH"]


@pytest.mark.parametrize("wished", ["FINISH", "REVISE"])
def test_who_added_a_step_may_decide_otherwise(make: Make, events: Events, wished: Action) -> None:
    deps = make(decider=_Finisher())
    deps.steering.add("And when?")
    deps.steering.override(wished)
    assert decide(_open(), deps)["action"] == wished
    assert wished in _decided(events).valid


# --- a shadow ---------------------------------------------------------------------------------------


def _shadowed(deps: Deps) -> Deps:
    return replace(deps, shadow=source("llm", deps.session))


def test_a_shadow_is_asked_recorded_and_not_followed(make: Make, events: Events) -> None:
    deps = _shadowed(make([UNSURE]))
    before = deps.session.ledger.tokens_left
    assert decide(_open(), deps)["action"] == "CONTINUE"
    decided = _decided(events)
    assert (decided.source, decided.action, decided.label) == ("rules", "CONTINUE", "")
    assert _shadow(decided) == ("llm", "FINISH")
    assert [call.purpose for call in only(events, ev.ModelCalled)] == [SHADOW]
    assert deps.session.ledger.tokens_left == before, "it costs the run nothing"
    assert deps.session.ledger.usage.evaluated > 0, "though it is counted"


def test_no_shadow_and_no_judge_is_asked_about_further_tries(make: Make, events: Events) -> None:
    """Where the plan leaves no choice no call is spent; where it does, the judge has its three letters."""
    deps = make([UNSURE], budget=Budget(steps=1))
    assert decide(_nothing_found(), _shadowed(deps))["action"] == "FINISH"
    assert (_decided(events).valid, _decided(events).shadow) == (["FINISH", "WORDS", "ASK"], None)
    events.clear()
    assert (
        decide(_nothing_found(), replace(deps, decider=source("llm", deps.session)))["action"] == "FINISH"
    )


def test_a_shadow_that_fails_is_told_of_once(make: Make, events: Events) -> None:
    deps = _shadowed(make([RuntimeError("engine"), RuntimeError("engine")]))
    for _ in range(2):
        assert decide(_open(), deps)["action"] == "CONTINUE"
    assert [one.shadow for one in only(events, ev.Decided)] == [None, None]
    (warned,) = only(events, ev.Warned)
    assert "engine" in warned.message


# --- teach mode -------------------------------------------------------------------------------------


def _taught(deps: Deps, *acts: Callable[[Steering], None], state: RunState | None = None) -> dict[str, Any]:
    """What is decided in teach mode by the rules, which would CONTINUE: one act each time it asks."""
    emit, left = deps.session.emit, list(acts)
    deps.steering.teach(True)

    def emitting(event: ev.Event) -> None:
        emit(event)
        if isinstance(event, ev.Asked):
            left.pop(0)(deps.steering)

    deps.session.emit = emitting
    update = decide(state or _open(), deps)
    assert not left
    return update


def _reply(text: str) -> Callable[[Steering], None]:
    return lambda steering: steering.reply(text)


@pytest.mark.parametrize(("reply", "action"), [("FINISH", "FINISH"), (" continue ", "CONTINUE")])
def test_the_person_is_asked_with_a_suggestion_and_followed(
    make: Make, events: Events, reply: str, action: str
) -> None:
    assert _taught(make(interactive=True), _reply(reply))["action"] == action
    (asked,) = only(events, ev.Asked)
    assert (asked.about, asked.options) == ("decide", ["CONTINUE", "REVISE", "FINISH"])
    assert (asked.suggested, asked.probabilities["CONTINUE"]) == ("CONTINUE", 1.0)
    decided = _decided(events)
    assert (decided.source, decided.action, decided.label) == ("human", action, "teach")
    assert _shadow(decided) == ("rules", "CONTINUE")
    assert [(one.reply, one.by) for one in only(events, ev.Replied)] == [(action, "person")]


def test_the_person_may_take_a_further_try(make: Make, events: Events) -> None:
    deps = make(interactive=True, budget=Budget(steps=1))
    update = _taught(deps, _reply("ask"), state=_nothing_found())
    assert (update["action"], update["tried"]) == ("ASK", ["ASK"])
    assert only(events, ev.Asked)[0].options == ["FINISH", "WORDS", "ASK"]


def test_what_is_no_action_is_asked_again_and_an_old_reply_is_not_taken(make: Make) -> None:
    deps = make(interactive=True)
    deps.steering.reply("FINISH")
    assert _taught(deps, _reply("perhaps"), _reply("REVISE"))["action"] == "REVISE"


@pytest.mark.parametrize(
    ("act", "ended"),
    [
        (Steering.finish, ("FINISH", "human", "")),
        (lambda steering: steering.override("FINISH"), ("FINISH", "human", "override")),
        (lambda steering: steering.teach(False), ("CONTINUE", "rules", "")),
    ],
)
def test_other_wishes_end_the_wait(
    make: Make, events: Events, act: Callable[[Steering], None], ended: tuple[str, str, str]
) -> None:
    _taught(make(interactive=True), act)
    decided = _decided(events)
    assert (decided.action, decided.source, decided.label) == ended
    assert not only(events, ev.Replied)


def test_waiting_is_not_the_runs_time(make: Make, events: Events, monkeypatch: pytest.MonkeyPatch) -> None:
    deps, clock = make(interactive=True), [0.0]
    monkeypatch.setattr("agent.steps.decide.time", SimpleNamespace(monotonic=lambda: clock[0]))

    def later(steering: Steering) -> None:
        clock[0] = 40.0
        steering.reply("FINISH")

    _taught(deps, later)
    assert deps.session.given_back == 40.0
    assert (_decided(events).latency_ms, _decided(events).waited) == (40_000, 40.0)


@pytest.mark.parametrize("interactive", [True, False])
def test_nobody_is_asked_where_nobody_is_or_nothing_is_open(
    make: Make, events: Events, interactive: bool
) -> None:
    deps = make(interactive=interactive)
    deps.steering.teach(True)
    decide(_done(step=6) if interactive else _open(), deps)
    assert not only(events, ev.Asked)
    assert _decided(events).source == "rules"
