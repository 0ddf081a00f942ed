"""Step ``decide``: the decider, the budget, a shadow, and the person, who may be asked each time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest

import agent.events as ev
from agent.budget import ANSWER_NOW, Budget
from agent.decisions.decider import Decision, PolicyState, certain
from agent.deps import Deps
from agent.profiles import decider
from agent.session import SHADOW
from agent.state import Action, RunState
from agent.steering import Steering
from agent.steps.decide import decide
from models.protocols import GenerationCancelled
from tests.agent.made import evidence, state, step
from tests.agent.steps.conftest import Make

UNSURE: dict[str, Any] = {"A": 0.2, "B": 0.1, "C": 0.7}  # the judge would FINISH


def _open(**changes: Any) -> RunState:
    """A second step is open."""
    plan, held = [step("Who?"), step("Where?")], [evidence(1, "Tolvang.")]
    return state(**{"plan": plan, "position": 0, "step": 1, "evidence": held, **changes})


def _done(**changes: Any) -> RunState:
    """The plan is worked off."""
    return _open(plan=[step("Who?")], **changes)


def _only(events: list[ev.Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def _decided(events: list[ev.Event]) -> ev.Decided:
    (decided,) = _only(events, ev.Decided)
    assert isinstance(decided, ev.Decided)
    return decided


def test_the_rules_work_the_plan_off(make: Make, events: list[ev.Event]) -> None:
    assert decide(_open(), make()) == {"action": "CONTINUE"}
    decided = _decided(events)
    assert (decided.source, decided.probabilities["CONTINUE"]) == ("rules", 1.0)
    assert decided.state["open_questions"] == ["Where?"]


def test_the_judge_is_asked_in_the_seed(make: Make, events: list[ev.Event]) -> None:
    deps = make([UNSURE, "It is known."], profile_name="seed")
    assert decide(_open(), deps)["action"] == "FINISH"
    assert _decided(events).justification == "It is known."


def test_the_budget_ends_it_and_says_so(make: Make, events: list[ev.Event]) -> None:
    update = decide(_open(barren=2), make())
    assert update == {"action": "FINISH", "stopped_because": "no new evidence in 2 steps"}
    assert (_decided(events).source, _decided(events).valid) == ("budget", ["FINISH"])


def test_answering_now_is_a_persons_decision(make: Make, events: list[ev.Event]) -> None:
    deps = make()
    deps.steering.finish()
    assert decide(_open(), deps) == {"action": "FINISH", "stopped_because": ANSWER_NOW}
    assert _decided(events).source == "human"


def test_a_persons_decision_goes_first_and_the_rules_are_recorded_beside_it(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make()
    deps.steering.override("FINISH")
    assert decide(_open(), deps)["action"] == "FINISH"
    decided = _decided(events)
    assert (decided.source, decided.label) == ("human", "override")
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["action"]) == ("rules", "CONTINUE")


def test_no_model_call_is_spent_on_what_the_judge_would_have_done(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make(profile_name="seed")
    deps.steering.override("FINISH")
    decide(_open(), deps)
    assert _decided(events).shadow is None


def test_a_decision_that_is_not_possible_is_not_taken(make: Make, events: list[ev.Event]) -> None:
    deps = make(budget=Budget(revisions=0))
    deps.steering.override("REVISE")
    assert decide(_open(), deps)["action"] == "CONTINUE"
    assert _only(events, ev.Warned)


# --- steps that a person added ----------------------------------------------------------------------


class _Finisher:
    """A decider that finishes where it may."""

    name = "learned"

    def decide(self, _state: PolicyState, valid: Sequence[Action]) -> Decision:
        """FINISH, or the first that is possible."""
        action = "FINISH" if "FINISH" in valid else valid[0]
        return Decision(action, certain(action), self.name, 0.0)


def test_a_decider_cannot_finish_while_an_added_step_is_open(make: Make, events: list[ev.Event]) -> None:
    deps = make(decider=_Finisher())
    deps.steering.add("  And   when? ")
    update = decide(_open(), deps)
    assert [one["question"] for one in update["plan"]] == ["Who?", "Where?", "And when?"]
    assert [event.origin for event in _only(events, ev.Planned)] == ["person"]
    assert (update["action"], _decided(events).valid) == ("CONTINUE", ["CONTINUE"])
    # The plan's own step is taken first; then it is still open.
    taken = [decide(_open(plan=update["plan"], position=n, step=n + 1), deps)["action"] for n in (1, 2)]
    assert taken == ["CONTINUE", "FINISH"]


@pytest.mark.parametrize("wished", ["FINISH", "REVISE"])
def test_the_person_who_added_a_step_may_decide_otherwise(
    make: Make, events: list[ev.Event], wished: Action
) -> None:
    deps = make(decider=_Finisher())
    deps.steering.add("And when?")
    deps.steering.override(wished)
    assert decide(_open(), deps)["action"] == wished
    assert wished in _decided(events).valid


# --- a shadow ---------------------------------------------------------------------------------------


def _shadowed(deps: Deps) -> Deps:
    return replace(deps, shadow=decider("llm")(deps.session))


def test_a_shadow_is_asked_recorded_and_not_followed(make: Make, events: list[ev.Event]) -> None:
    deps = _shadowed(make([UNSURE]))
    before = deps.session.ledger.tokens_left
    assert decide(_open(), deps)["action"] == "CONTINUE"
    decided = _decided(events)
    assert (decided.source, decided.action, decided.label) == ("rules", "CONTINUE", "")
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["action"]) == ("llm", "FINISH")
    assert decided.shadow["probabilities"]["FINISH"] == pytest.approx(0.7)
    assert [call.purpose for call in _only(events, ev.ModelCalled)] == [SHADOW]
    assert deps.session.ledger.tokens_left == before, "it costs the run nothing"
    assert deps.session.ledger.usage.evaluated > 0, "though it is counted"


def test_a_shadow_that_fails_is_told_of_once(make: Make, events: list[ev.Event]) -> None:
    deps = _shadowed(make([RuntimeError("engine"), RuntimeError("engine")]))
    for _ in range(2):
        assert decide(_open(), deps)["action"] == "CONTINUE"
    assert [one.shadow for one in _only(events, ev.Decided)] == [None, None]
    (warned,) = _only(events, ev.Warned)
    assert "engine" in warned.message


def test_a_shadow_without_room_is_told_of(make: Make, events: list[ev.Event]) -> None:
    assert decide(_open(), _shadowed(make(budget=Budget(tokens=10)))) == {"action": "CONTINUE"}
    assert "token budget" in _only(events, ev.Warned)[0].message


def test_a_cancelled_shadow_cancels_the_run(make: Make) -> None:
    deps = make()
    deps.steering.cancel()
    with pytest.raises(GenerationCancelled):
        decide(_open(), _shadowed(deps))


def test_where_there_is_nothing_to_decide_no_shadow_is_asked(make: Make, events: list[ev.Event]) -> None:
    decide(_done(step=6), _shadowed(make()))
    decide(_open(barren=2), _shadowed(make()))
    assert [one.source for one in _only(events, ev.Decided)] == ["rules", "budget"]


# --- teach mode -------------------------------------------------------------------------------------


@dataclass
class Pupil:
    """Decides in a thread, as a run does, while the test is the teacher."""

    deps: Deps
    asked: list[ev.Asked] = field(default_factory=list)
    update: dict[str, Any] = field(default_factory=dict)
    failure: BaseException | None = None
    waits: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def __post_init__(self) -> None:
        emit = self.deps.session.emit
        self.deps.steering.teach(True)

        def emitting(event: ev.Event) -> None:
            emit(event)
            if isinstance(event, ev.Asked):
                self.asked.append(event)
                self.waits.release()

        self.deps.session.emit = emitting
        self._thread = threading.Thread(target=self._work, daemon=True)

    def _work(self) -> None:
        try:
            self.update = decide(_open(), self.deps)
        except BaseException as failure:  # noqa: BLE001 - looked at by the test
            self.failure = failure

    def learn(self, *teach: Callable[[Steering], None]) -> None:
        """Do one thing each time it asks, and wait for its end."""
        self._thread.start()
        for act in teach:
            assert self.waits.acquire(timeout=60)
            act(self.deps.steering)
        self._thread.join(timeout=60)
        assert not self._thread.is_alive()


@pytest.fixture
def pupil(make: Make) -> Iterator[Pupil]:
    """One in teach mode, by the rules, which would CONTINUE."""
    pupil = Pupil(make(interactive=True))
    yield pupil
    pupil.deps.steering.cancel()


def _reply(text: str) -> Callable[[Steering], None]:
    return lambda steering: steering.reply(text)


@pytest.mark.parametrize(("reply", "action"), [("FINISH", "FINISH"), (" continue ", "CONTINUE")])
def test_the_person_is_asked_with_a_suggestion_and_followed(
    pupil: Pupil, events: list[ev.Event], reply: str, action: str
) -> None:
    pupil.learn(_reply(reply))
    (asked,) = pupil.asked
    assert (asked.about, asked.options) == ("decide", ["CONTINUE", "REVISE", "FINISH"])
    assert (asked.suggested, asked.probabilities["CONTINUE"]) == ("CONTINUE", 1.0)
    assert pupil.update["action"] == action
    decided = _decided(events)
    assert (decided.source, decided.action, decided.label) == ("human", action, "teach")
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["action"]) == ("rules", "CONTINUE")
    assert [(one.reply, one.by) for one in _only(events, ev.Replied)] == [(action, "person")]


def test_what_is_no_action_is_asked_again_and_an_old_reply_is_not_taken(pupil: Pupil) -> None:
    pupil.deps.steering.reply("FINISH")
    pupil.learn(_reply("perhaps"), _reply("REVISE"))
    assert (len(pupil.asked), pupil.update["action"]) == (2, "REVISE")


@pytest.mark.parametrize(
    ("act", "ended"),
    [
        (Steering.finish, ("FINISH", "human", "")),
        (lambda steering: steering.override("FINISH"), ("FINISH", "human", "override")),
        (lambda steering: steering.teach(False), ("CONTINUE", "rules", "")),
    ],
)
def test_other_wishes_end_the_wait(
    pupil: Pupil, events: list[ev.Event], act: Callable[[Steering], None], ended: tuple[str, str, str]
) -> None:
    pupil.learn(act)
    decided = _decided(events)
    assert (decided.action, decided.source, decided.label) == ended
    assert not _only(events, ev.Replied)


def test_cancelling_ends_the_wait(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(Steering.cancel)
    assert isinstance(pupil.failure, GenerationCancelled)
    assert not _only(events, ev.Decided)


def test_what_is_waited_is_not_the_runs_time(
    pupil: Pupil, events: list[ev.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    given_back: list[float] = []
    monkeypatch.setattr(pupil.deps.session.stop, "extend", given_back.append)
    monkeypatch.setattr("agent.steps.decide.time", SimpleNamespace(monotonic=lambda: clock[0]))

    def later(steering: Steering) -> None:
        clock[0] = 40.0
        steering.reply("FINISH")

    pupil.learn(later)
    assert given_back == [40.0]
    assert _decided(events).latency_ms == 40_000


@pytest.mark.parametrize("interactive", [True, False])
def test_nobody_is_asked_where_nobody_is_or_nothing_is_open(
    make: Make, events: list[ev.Event], interactive: bool
) -> None:
    deps = make(interactive=interactive)
    deps.steering.teach(True)
    decide(_done(step=6) if interactive else _open(), deps)
    assert not _only(events, ev.Asked)
    assert _decided(events).source == "rules"


def test_the_judges_own_decision_is_the_suggestion(make: Make, events: list[ev.Event]) -> None:
    pupil = Pupil(make([UNSURE, "It is known."], profile_name="seed", interactive=True))
    pupil.learn(_reply("CONTINUE"))
    assert pupil.asked[0].suggested == "FINISH"
    assert _decided(events).shadow is not None
