"""A person in the run: clarifying, approving, steering, resuming, and sessions that do not mix."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import agent.events as ev
from agent import checkpoints
from agent.checkpoints import GoingOn
from agent.prompts import NOT_FOUND, WITHHELD
from agent.run import NotResumable, Request, resumable
from agent.steering import Steering
from models.protocols import GenerationCancelled, Message
from tests.agent.conftest import Ask
from tests.agent.made import FIRST, ONE_STEP, QUESTION, TWO_STEPS, answered, end, only
from tests.scripted import Scripted, ScriptedCompleter
from traces.decisions import Labels
from traces.runs import RunEnd, Runs, Sessions
from traces.store import Store

DEEP = Request(QUESTION, route="deep", approve="ask", interactive=True)
ALWAYS = replace(DEEP, approve="always")
TRUE = "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics [1]."
INVENTED = "Zanzibar Copper Holdings supplied 4,711 bearings in 1999 [1]."


class Person:
    """Runs a request and does something at certain events."""

    def __init__(self, ask: Ask, store: Store) -> None:
        self._ask = ask
        self.store = store
        self.steering = Steering()

    def watch(
        self,
        replies: Sequence[Scripted],
        request: Request,
        do: Callable[[ev.Event], None] = lambda _event: None,
        run_id: str = "",
        teaching: bool = False,
        plans: Sequence[str | tuple[str, str]] | None = None,
    ) -> list[ev.Event]:
        """All events; with a ``run_id`` the run is resumed; without ``plans`` the model plans."""
        self.steering = Steering()
        self.steering.teach(teaching)
        texts = [text for plan in plans or () for text in _written(plan, request)]
        with ScriptedCompleter(texts) as planner:
            return self._ask(
                replies,
                request,
                resumed=run_id,
                do=do,
                planner=None if plans is None else planner,
                steering=self.steering,
            )

    def replies(self, *texts: str) -> Callable[[ev.Event], None]:
        left = list(texts)
        return lambda event: self.steering.reply(left.pop(0)) if isinstance(event, ev.Asked) else None

    def at(self, kind: type[ev.Event], act: Callable[[Steering], None]) -> Callable[[ev.Event], None]:
        return lambda event: act(self.steering) if isinstance(event, kind) else None

    def when_asked(self, act: Callable[[Steering], None], reply: Any) -> Callable[[Sequence[Message]], Any]:
        """A model reply during which the person acts: then there is no race."""

        def replying(_messages: Sequence[Message]) -> Any:
            act(self.steering)
            return reply

        return replying


@pytest.fixture
def person(ask: Ask, store: Store) -> Person:
    return Person(ask, store)


def _written(plan: str | tuple[str, str], request: Request) -> list[str | tuple[str, str]]:
    """A plan of one look-up twice, as it is checked; once where a person wants one."""
    text = plan if isinstance(plan, str) else plan[1]
    return [plan, plan] if text.count("\n") == 1 and request.route != "single" else [plan]


# --- approving ------------------------------------------------------------------------------------


_OFFERS = ["accept", "rewrite", "search", "stop"]


@pytest.mark.parametrize(
    ("again", "offers"),
    [
        ({"steps": ["Who sells copper bearings?"]}, _OFFERS),
        (ONE_STEP, ["accept", "rewrite", "stop"]),  # which was looked up: a search brings nothing more
    ],
)
def test_it_is_asked_as_often_as_the_answer_is_not_grounded(
    person: Person, again: dict[str, Any], offers: list[str]
) -> None:
    replies: list[Scripted] = [ONE_STEP, INVENTED, again, INVENTED]
    events = person.watch(replies, DEEP, person.replies("what?", "search", "stop"))
    assert [event.options for event in only(events, ev.Asked)] == [_OFFERS, _OFFERS, offers]
    assert [r.reply for r in only(events, ev.Replied)] == ["search", "stop"]
    assert end(events).status == "rejected"
    assert answered(events).answer == WITHHELD


# --- clarifying, conversing, following up -----------------------------------------------------------


def test_a_vague_question_is_asked_back_and_then_answered(person: Person) -> None:
    request = Request("what about it?", approve="always", interactive=True)
    reply = "Who supplies Orlavane's ceramic bearings?"

    def do(event: ev.Event) -> None:
        if isinstance(event, ev.Asked):
            time.sleep(0.05)
            person.steering.reply(reply)

    plans: list[str | tuple[str, str]] = [
        " ASK What do you mean?",
        (f"Question: what about it? ({reply})", f" {reply}\n="),
    ]
    events = person.watch([TRUE], request, do, plans=plans)
    (asked,) = only(events, ev.Asked)
    assert (asked.about, asked.question) == ("clarify", "What do you mean?")
    assert only(events, ev.Replied)[0].waited >= 0.05
    assert only(events, ev.Routed)[0].route == "clarify"
    assert only(events, ev.Routed)[-1].question == reply
    assert end(events).status == "answered"


def test_a_follow_up_leans_on_its_own_session_and_on_no_other(person: Person) -> None:
    asked, complete = "How many people did Orlavane employ in 2024?", "How many did it employ in 2023?"
    first = person.watch(
        ["Orlavane employed 3,940 people at the end of 2024 [1]."],
        replace(DEEP, question=asked, route="single"),
        plans=[" =\n="],
    )
    session = only(first, ev.RunStarted)[0].session
    assert [s.runs for s in Sessions(person.store).recent()] == [1]
    follow_up = Request("and in 2023?", approve="always", session=session)
    plans = [(f"Before: {asked}\nAnswer: Orlavane employed", f" {complete}\n=")]
    events = person.watch([NOT_FOUND], follow_up, plans=plans)
    assert only(events, ev.Routed)[0].question == complete
    elsewhere = person.watch([NOT_FOUND], replace(follow_up, session=""), plans=[" =\n="])
    assert only(elsewhere, ev.Routed)[0].question == "and in 2023?"
    assert sorted(s.runs for s in Sessions(person.store).recent()) == [1, 2]


# --- steering -------------------------------------------------------------------------------------


def test_a_skipped_step_ends_without_a_finding_and_the_answer_says_so(person: Person) -> None:
    plan: dict[str, Any] = {
        "steps": ["What halted the Brevnes plant?", TWO_STEPS["steps"][0], "Where is #2?"]
    }
    written = "A fire at the Brevnes plant of Tolvang Ceramics halted production for seven weeks [1]."
    skips = person.when_asked(Steering.skip, GenerationCancelled("given up"))
    events = person.watch([plan, skips, written], ALWAYS)
    assert [n.note["found"] for n in only(events, ev.Noted)] == [True, False, True]
    assert [s.what for s in only(events, ev.Steered)] == ["skip"]
    found = answered(events)
    assert found.missing == ONE_STEP["steps"]
    assert found.answer.endswith("You skipped: Who supplies Orlavane's ceramic bearings?")
    assert "Not found" not in found.answer
    assert end(events).status == "answered"


def test_answering_now_before_anything_was_searched_says_nothing_of_the_documents(person: Person) -> None:
    do = person.at(ev.RunStarted, Steering.finish)
    events = person.watch([], DEEP, do, plans=[])
    (found,) = only(events, ev.Answered)
    assert (found.answer, found.share) == ("Stopped before an answer was found.", None)
    assert end(events).status == "stopped"


def test_a_paused_run_waits(person: Person) -> None:
    waited = threading.Event()

    def do(event: ev.Event) -> None:
        if isinstance(event, ev.Steered) and event.what == "pause":
            waited.set()
            time.sleep(0.1)
            person.steering.resume()

    script: list[Scripted] = [person.when_asked(Steering.pause, ONE_STEP), TRUE]
    events = person.watch(script, ALWAYS, do)
    assert waited.is_set()
    pause, resumed = only(events, ev.Steered)
    assert (pause.what, resumed.what) == ("pause", "resume")
    assert resumed.waited >= 0.1
    (run,) = Runs(person.store).recent(1)
    last = Runs(person.store).events(run.id)[-1]
    assert run.seconds == end(events).seconds == pytest.approx(last.elapsed - resumed.waited, abs=0.4)
    assert end(events).status == "answered"


def test_a_run_that_is_cancelled_while_it_waits_has_not_worked_meanwhile(person: Person) -> None:
    def cancel(steering: Steering) -> None:
        time.sleep(0.1)
        steering.cancel()

    with pytest.raises(GenerationCancelled):
        person.watch([ONE_STEP, INVENTED], DEEP, person.at(ev.Asked, cancel))
    (run,) = Runs(person.store).recent(1)
    assert run.seconds is not None
    assert Runs(person.store).events(run.id)[-1].elapsed - run.seconds >= 0.1


@pytest.mark.parametrize(
    ("act", "why", "status"),
    [
        (Steering.cancel, "cancelled", "cancelled"),
        (Steering.leave, "interrupted", "running"),  # left: its viewer closed
    ],
)
def test_a_run_that_ended_while_it_waited_for_a_decision_asks_again(
    person: Person, act: Callable[[Steering], None], why: str, status: str
) -> None:
    seen: list[ev.Event] = []

    def do(event: ev.Event) -> None:
        seen.append(event)
        if isinstance(event, ev.Asked):
            act(person.steering)

    with pytest.raises(GenerationCancelled):
        person.watch([TWO_STEPS, FIRST], ALWAYS, do, teaching=True)
    assert end(seen).status == why
    (ended,) = resumable(person.store)
    assert (ended.why, ended.run.status) == (why, status)
    kinds = [event.kind for event in Runs(person.store).events(ended.run.id)]
    assert ev.StepStarted.kind in kinds, "what had happened is stored"
    assert (ev.RunFinished.kind in kinds) == (why == "cancelled")
    assert Runs(person.store).decisions(ended.run.id) == []
    events = person.watch([TRUE], ALWAYS, person.replies("FINISH"), ended.run.id, teaching=True)
    assert [(d.action, d.source) for d in only(events, ev.Decided)] == [("FINISH", "human")]
    assert list(Labels(person.store).of_run(ended.run.id)) == [0]


def test_leaving_a_run_that_was_cancelled_leaves_it_cancelled() -> None:
    steering = Steering()
    steering.cancel()
    steering.leave()
    assert not steering.left


@pytest.fixture
def cancelled(person: Person) -> str:
    """A run that was cancelled after its plan was made."""
    cancels = person.when_asked(Steering.cancel, GenerationCancelled("cancelled"))
    with pytest.raises(GenerationCancelled):
        person.watch([TWO_STEPS, cancels], ALWAYS)
    (one,) = resumable(person.store)
    assert one.why == "cancelled"
    return one.run.id


def test_its_seconds_go_on(person: Person, cancelled: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.run._HEARTBEAT_SECONDS", 0.01)
    with person.store.transaction() as db:
        db.execute("UPDATE events SET elapsed = elapsed + 500 WHERE run_id = ?", [cancelled])
    slow = person.when_asked(lambda _steering: time.sleep(0.1), FIRST)
    events = person.watch([slow, TRUE], ALWAYS, run_id=cancelled)
    shown = [beat.elapsed for beat in only(events, ev.Heartbeat)]
    assert shown
    assert all(500 <= seconds < 600 for seconds in [*shown, end(events).seconds])


def test_who_resumes_a_run_too_late_changes_nothing(
    person: Person, cancelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs(person.store)
    before = runs.find(cancelled), runs.events(cancelled)
    monkeypatch.setattr(checkpoints, "in_use", lambda *_run: False)  # both have looked at the same moment
    with checkpoints.open_checkpoints(person.store, cancelled, lambda _log: None), pytest.raises(GoingOn):
        person.watch([], DEEP, run_id=cancelled)
    assert (runs.find(cancelled), runs.events(cancelled)) == before


def test_a_run_that_came_to_its_end_meanwhile_is_not_opened_again(
    person: Person, cancelled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, opened = Runs(person.store), checkpoints.open_checkpoints

    def ended_before(*which: Any, **how: Any) -> Any:
        runs.record(cancelled, [], end=RunEnd("answered", "", "So.", 1, 1, 1, 1, ""))
        return opened(*which, **how)

    monkeypatch.setattr(checkpoints, "open_checkpoints", ended_before)
    with pytest.raises(NotResumable):
        person.watch([], DEEP, run_id=cancelled)
    assert (runs.find(cancelled).status, runs.find(cancelled).answer) == ("answered", "So.")
