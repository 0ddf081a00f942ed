"""Research cut short: wherever the person, or the clock, cuts in, the run comes to its answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

import agent.events as ev
from agent.budget import ANSWER_NOW, Budget, BudgetExhausted, Stop
from agent.prompts import NOT_FOUND
from agent.run import Request
from agent.steering import Steering
from agent.steps import correct
from agent.web.fetch import run_within
from agent.web.gather import Gathered
from agent.web.search import WebUnreachable
from models.protocols import GenerationCancelled
from tests.agent.conftest import Ask
from tests.agent.made import end, only, warnings
from tests.scripted import Scripted, ScriptedCompleter, WordReader

# The library has passages that sound alike, and none that is enough.
PLAN: dict[str, Any] = {"steps": ["Who painted the ceiling of the Zanzibar chapel?"]}
DEEP = Request("Who painted the ceiling of the Sixtus chapel in Zanzibar?", route="deep", approve="always")


@pytest.fixture
def watch(ask: Ask) -> Ask:
    """Asks for what the library does not know, of a reader that takes nothing for an answer."""
    return partial(ask, request=DEEP, reader=WordReader(reads=0.01))


def _nodes(events: Sequence[ev.Event]) -> Counter[str]:
    return Counter(event.node for event in only(events, ev.NodeStarted))


def _in_the_rung(rung: Any, act: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Has something happen while a correction is under way: then there is no race."""
    tried = correct._LADDER[rung]

    def trying(state: Any, deps: Any) -> Any:
        act()
        return tried(state, deps)

    monkeypatch.setitem(correct._LADDER, rung, trying)


# --- during a correction --------------------------------------------------------------------------


def _spend(_wheel: Steering) -> None:
    raise BudgetExhausted("time budget")


@pytest.mark.parametrize(
    ("rung", "cut", "why"),
    [
        ("reword", Steering.skip, "skip"),
        ("widen", Steering.finish, ANSWER_NOW),
        ("reword", _spend, "time budget"),
    ],
)
def test_a_correction_that_is_cut_short_is_not_made_over_and_over(
    watch: Ask, monkeypatch: pytest.MonkeyPatch, rung: str, cut: Callable[[Steering], None], why: str
) -> None:
    wheel = Steering()
    _in_the_rung(rung, lambda: cut(wheel), monkeypatch)
    events = watch([PLAN, NOT_FOUND], steering=wheel)
    assert end(events).status == "stopped"
    assert _nodes(events)["rerank"] <= 3
    if why == "skip":
        assert [n.note["found"] for n in only(events, ev.Noted)] == [False]
        assert [s.what for s in only(events, ev.Steered)] == ["skip"]
    else:
        assert end(events).stopped_because == why
        assert not only(events, ev.Warned), "the end says it"


def _ending(
    wish: Callable[[Steering], None] | None, wheel: Steering, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], None]:
    """What ends the research meanwhile: a wish of the user, or the time budget."""
    return partial(wish, wheel) if wish else partial(monkeypatch.setattr, Stop, "out_of_time", True)


class _Web:
    """A web that takes its time, during which something happens."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def gather(self, _query: str, *, stop: threading.Event, **_: Any) -> Gathered:
        self.act()
        return run_within(10, stop, self._pages, WebUnreachable("Too late."))

    def _pages(self) -> Gathered:
        threading.Event().wait(10)  # nobody waits for its end
        return Gathered((), ())


@pytest.mark.parametrize(
    ("wish", "why"), [(Steering.skip, "skip"), (Steering.finish, ANSWER_NOW), (None, "time budget")]
)
def test_waiting_for_the_web_can_be_cut_short_without_losing_the_run(
    watch: Ask, monkeypatch: pytest.MonkeyPatch, wish: Callable[[Steering], None] | None, why: str
) -> None:
    wheel = Steering()
    web = _Web(_ending(wish, wheel, monkeypatch))
    events = watch([PLAN, NOT_FOUND] if wish else [PLAN], steering=wheel, web=web)
    # Nothing is asked once the time is used up: the answer is what the question found by itself.
    assert end(events).status == ("stopped" if wish else "answered")
    if why == "skip":
        assert [n.note["found"] for n in only(events, ev.Noted)] == [False]
    else:
        assert end(events).stopped_because == why


def test_cancelling_while_the_web_is_waited_for_cancels_the_run(watch: Ask) -> None:
    wheel = Steering()
    with pytest.raises(GenerationCancelled):
        watch([PLAN], steering=wheel, web=_Web(wheel.cancel))


# --- while the taught planner writes ---------------------------------------------------------------


@pytest.mark.parametrize(("wish", "why"), [(Steering.finish, ANSWER_NOW), (None, "time budget")])
def test_the_taught_planner_stops_when_the_research_is_to_end(
    watch: Ask, monkeypatch: pytest.MonkeyPatch, wish: Callable[[Steering], None] | None, why: str
) -> None:
    wheel = Steering()
    replies = [NOT_FOUND] if wish else []
    with ScriptedCompleter([" =\n="], _ending(wish, wheel, monkeypatch)) as planner:
        events = watch(replies, steering=wheel, planner=planner)
    assert end(events).stopped_because == why
    assert not only(events, ev.Planned)


def test_cancelling_while_the_taught_planner_writes_cancels_the_run(watch: Ask) -> None:
    wheel = Steering()
    with ScriptedCompleter([" =\n="], wheel.cancel) as planner, pytest.raises(GenerationCancelled):
        watch([], steering=wheel, planner=planner)


def test_the_calls_of_the_taught_planner_are_counted(watch: Ask) -> None:
    with ScriptedCompleter([" =\n="]) as planner:
        events = watch([NOT_FOUND], request=replace(DEEP, route="single"), planner=planner)
    calls = only(events, ev.ModelCalled)
    assert [call.purpose for call in calls][:1] == ["plan"]
    assert end(events).model_calls == len(calls)
    assert end(events).generated == sum(call.generated for call in calls)


# --- around a clarifying question -----------------------------------------------------------------


@pytest.mark.parametrize(("at", "reply"), [(ev.Routed, ""), (ev.Asked, ""), (ev.Asked, "the Ostra 180")])
def test_answer_now_ends_clarifying_with_what_was_found(watch: Ask, at: type[ev.Event], reply: str) -> None:
    wheel = Steering()

    def do(event: ev.Event) -> None:
        if isinstance(event, at):
            wheel.finish()
            if reply:
                wheel.reply(reply)

    request = Request("what about it?", approve="always", interactive=True)
    planner = ScriptedCompleter([" ASK What do you mean?"])
    events = watch(
        ["Tolvang Ceramics supplies Orlavane [1]."], request=request, do=do, steering=wheel, planner=planner
    )
    assert (end(events).status, end(events).stopped_because) == ("answered", ANSWER_NOW)
    assert _nodes(events)["route"] == 1


# --- steps that were added ------------------------------------------------------------------------


UNTAKEN = "Added too late to be searched: And when?"


@pytest.mark.parametrize(
    ("request_", "replies"),
    [
        (replace(DEEP, route="single"), [NOT_FOUND]),
        (Request("Hello!"), []),
        (replace(DEEP, budget=Budget(steps=1)), [PLAN, NOT_FOUND]),
    ],
)
def test_an_added_step_not_taken_is_told(watch: Ask, request_: Request, replies: list[Scripted]) -> None:
    wheel = Steering()
    wheel.add("And when?")
    events = watch(replies, request=request_, steering=wheel)
    assert UNTAKEN in warnings(events)
