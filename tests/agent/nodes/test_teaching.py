"""Node ``decide`` with more than one opinion: a shadow, and a person who is asked at each decision."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any

import pytest
from agent.nodes.decide import decide

import agent.events as ev
from agent.budget import ANSWER_NOW, Budget
from agent.deps import Deps
from agent.profiles import decider
from agent.session import SHADOW
from agent.state import RunState
from agent.steering import Steering
from models.protocols import GenerationCancelled
from tests.agent.nodes.conftest import Make, evidence, state, step

UNSURE: dict[str, Any] = {"A": 0.2, "B": 0.1, "C": 0.7}  # the judge would FINISH


def _open(**changes: Any) -> RunState:
    return state(
        plan=[step("Who?"), step("Where?")],
        position=0,
        step=1,
        evidence=[evidence(1, "Tolvang.")],
        **changes,
    )


def _done() -> RunState:
    """Nothing but FINISH is possible."""
    return state(plan=[step("Who?")], position=0, step=6, evidence=[evidence(1, "Tolvang.")])


def _only(events: list[ev.Event], kind: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def _shadowed(deps: Deps) -> Deps:
    return replace(deps, shadow=decider("llm")(deps.session))


# --- a shadow ---------------------------------------------------------------------------------------


def test_a_shadow_is_asked_recorded_and_not_followed(make: Make, events: list[ev.Event]) -> None:
    assert decide(_open(), _shadowed(make([UNSURE])))["action"] == "CONTINUE"
    (decided,) = _only(events, ev.Decided)
    assert (decided.source, decided.action, decided.label) == ("rules", "CONTINUE", "")
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["action"]) == ("llm", "FINISH")
    assert decided.shadow["probabilities"]["FINISH"] == pytest.approx(0.7)
    assert decided.shadow["latency_ms"] >= 0
    assert [call.purpose for call in _only(events, ev.ModelCalled)] == [SHADOW]


def test_a_shadow_costs_the_run_neither_tokens_nor_time(make: Make, events: list[ev.Event]) -> None:
    deps = _shadowed(make([UNSURE]))
    ledger = deps.session.ledger
    before = ledger.tokens_left
    decide(_open(), deps)
    assert ledger.tokens_left == before
    assert ledger.calls == 1
    assert ledger.usage.evaluated > 0


def test_a_shadow_that_fails_is_told_of_once(make: Make, events: list[ev.Event]) -> None:
    deps = _shadowed(make([RuntimeError("engine"), RuntimeError("engine")]))
    for _ in range(2):
        assert decide(_open(), deps)["action"] == "CONTINUE"
    assert [d.shadow for d in _only(events, ev.Decided)] == [None, None]
    (warned,) = _only(events, ev.Warned)
    assert "llm could not be asked for comparison: engine" in warned.message


def test_a_shadow_without_room_is_told_of_and_the_run_goes_on(make: Make, events: list[ev.Event]) -> None:
    deps = _shadowed(make(budget=Budget(tokens=10)))
    assert decide(_open(), deps) == {"action": "CONTINUE"}
    assert _only(events, ev.Decided)[0].shadow is None
    assert "token budget" in _only(events, ev.Warned)[0].message


def test_a_cancelled_shadow_cancels_the_run(make: Make) -> None:
    deps = make()
    deps.steering.cancel()
    with pytest.raises(GenerationCancelled):
        decide(_open(), _shadowed(deps))


def test_where_there_is_nothing_to_decide_no_shadow_is_asked(make: Make, events: list[ev.Event]) -> None:
    decide(_done(), _shadowed(make()))
    decide(_open(barren=2), _shadowed(make()))
    assert [d.shadow for d in _only(events, ev.Decided)] == [None, None]
    assert [d.source for d in _only(events, ev.Decided)] == ["rules", "budget"]


def test_what_the_rules_would_have_done_is_recorded_with_an_override(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make()
    deps.steering.override("FINISH")
    decide(_open(), deps)
    (decided,) = _only(events, ev.Decided)
    assert (decided.action, decided.source, decided.label) == ("FINISH", "human", "override")
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["action"]) == ("rules", "CONTINUE")


def test_no_model_call_is_spent_on_what_the_judge_would_have_done(
    make: Make, events: list[ev.Event]
) -> None:
    deps = make(profile_name="seed")
    deps.steering.override("FINISH")
    decide(_open(), deps)
    assert _only(events, ev.Decided)[0].shadow is None


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
    """One in teach mode, by the rules."""
    deps = make(interactive=True)
    deps.steering.teach(True)
    yield Pupil(deps)
    deps.steering.cancel()


def _reply(text: str) -> Callable[[Steering], None]:
    return lambda steering: steering.reply(text)


def test_the_person_is_asked_with_a_suggestion_and_followed(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(_reply("FINISH"))
    (asked,) = pupil.asked
    assert (asked.about, asked.options) == ("decide", ["CONTINUE", "REVISE", "FINISH"])
    assert (asked.suggested, asked.probabilities["CONTINUE"]) == ("CONTINUE", 1.0)
    assert pupil.update == {"action": "FINISH", "stopped_because": "human: as you decided"}
    (decided,) = _only(events, ev.Decided)
    assert (decided.source, decided.justification, decided.label) == ("human", "as you decided", "teach")
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["action"]) == ("rules", "CONTINUE")
    assert _only(events, ev.Replied) == [ev.Replied("decide", asked.question, "FINISH", "person")]


def test_agreeing_with_the_suggestion_is_a_label_too(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(_reply(" continue "))
    (decided,) = _only(events, ev.Decided)
    assert (decided.action, decided.source, decided.label) == ("CONTINUE", "human", "teach")


def test_what_is_no_action_is_asked_again(pupil: Pupil) -> None:
    pupil.learn(_reply("perhaps"), _reply("REVISE"))
    assert len(pupil.asked) == 2
    assert pupil.update["action"] == "REVISE"


def test_a_reply_from_before_the_question_is_not_taken(pupil: Pupil) -> None:
    pupil.deps.steering.reply("FINISH")
    pupil.learn(_reply("REVISE"))
    assert pupil.update["action"] == "REVISE"


def test_answering_now_ends_the_wait_and_labels_nothing(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(Steering.finish)
    assert pupil.update == {"action": "FINISH", "stopped_because": ANSWER_NOW}
    (decided,) = _only(events, ev.Decided)
    assert (decided.source, decided.label, decided.shadow) == ("human", "", None)


def test_cancelling_ends_the_wait(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(Steering.cancel)
    assert isinstance(pupil.failure, GenerationCancelled)
    assert not _only(events, ev.Decided)


def test_an_override_ends_the_wait(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(lambda steering: steering.override("FINISH"))
    (decided,) = _only(events, ev.Decided)
    assert (decided.action, decided.source, decided.label) == ("FINISH", "human", "override")
    assert [s.what for s in _only(events, ev.Steered)] == ["override"]
    assert not _only(events, ev.Replied)


def test_the_end_of_the_lesson_takes_the_suggestion(pupil: Pupil, events: list[ev.Event]) -> None:
    pupil.learn(lambda steering: steering.teach(False))
    (decided,) = _only(events, ev.Decided)
    assert (decided.action, decided.source, decided.label) == ("CONTINUE", "rules", "")


def test_what_is_waited_is_not_the_runs_time(
    pupil: Pupil, events: list[ev.Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [0.0]
    stop = pupil.deps.session.stop
    given_back: list[float] = []
    monkeypatch.setattr(stop, "extend", given_back.append)
    monkeypatch.setattr("agent.nodes.decide.time", SimpleNamespace(monotonic=lambda: clock[0]))

    def later(steering: Steering) -> None:
        clock[0] = 40.0
        steering.reply("FINISH")

    pupil.learn(later)
    assert given_back == [40.0]
    assert _only(events, ev.Decided)[0].latency_ms == 40_000


@pytest.mark.parametrize("interactive", [True, False])
def test_nobody_is_asked_where_nobody_is_or_nothing_is_open(
    make: Make, events: list[ev.Event], interactive: bool
) -> None:
    deps = make(interactive=interactive)
    deps.steering.teach(True)
    decide(_done() if interactive else _open(), deps)
    assert not _only(events, ev.Asked)
    assert _only(events, ev.Decided)[0].source == "rules"


def test_the_judges_own_decision_is_the_suggestion(make: Make, events: list[ev.Event]) -> None:
    deps = make([UNSURE, "It is known."], profile_name="seed", interactive=True)
    deps.steering.teach(True)
    pupil = Pupil(deps)
    pupil.learn(_reply("CONTINUE"))
    assert pupil.asked[0].suggested == "FINISH"
    (decided,) = _only(events, ev.Decided)
    assert decided.shadow is not None
    assert (decided.shadow["source"], decided.shadow["justification"]) == ("llm", "It is known.")
