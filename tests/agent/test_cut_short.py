"""Research cut short: wherever the person, or the clock, cuts in, the run comes to its answer."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

import agent.events as ev
from agent.budget import ANSWER_NOW, Budget, BudgetExhausted, Stop
from agent.prompts import NOT_FOUND
from agent.run import Request, run
from agent.steering import Steering
from agent.steps import correct
from agent.web.gather import Gathered
from agent.web.waiting import within
from models.protocols import GenerationCancelled, Message, Reading
from tests.agent.conftest import UnsureReader
from tests.scripted import HashEmbedder, Scripted, ScriptedChat, ScriptedCompleter, WordReader
from traces.library import Library
from traces.store import Store

# The library has passages that sound alike, and none that is enough.
PLAN: dict[str, Any] = {"steps": ["Who painted the ceiling of the Zanzibar chapel?"]}
DEEP = Request("Who painted the ceiling of the Sixtus chapel in Zanzibar?", route="deep", approve="always")


class _Unmoved(WordReader):
    """Takes no passage for an answer."""

    def read(self, question: str, passages: Sequence[str]) -> list[Reading]:
        return [Reading(0.0, ()) for _ in passages]


Do = Callable[[ev.Event, Steering], None]
Watch = Callable[..., list[ev.Event]]


@pytest.fixture
def watch(library: Library, store: Store, embedder: HashEmbedder) -> Watch:
    """Runs a request and does something at its events; returns all of them."""

    def watching(
        replies: Sequence[Scripted],
        request: Request = DEEP,
        do: Do = lambda _event, _wheel: None,
        **parts: Any,
    ) -> list[ev.Event]:
        wheel = parts.pop("steering", None) or Steering()
        seen: list[ev.Event] = []
        with ScriptedChat(list(replies)) as chat:
            for event in run(
                request,
                chat=chat,
                embedder=embedder,
                store=store,
                steering=wheel,
                **{"reader": _Unmoved(), **parts},
            ):
                seen.append(event)
                do(event, wheel)
        return seen

    return watching


def _end(events: Sequence[ev.Event]) -> ev.RunFinished:
    assert isinstance(events[-1], ev.RunFinished)
    return events[-1]


def _nodes(events: Sequence[ev.Event]) -> Counter[str]:
    return Counter(event.node for event in events if isinstance(event, ev.NodeStarted))


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


@pytest.mark.parametrize("rung", ["reword", "widen"])
@pytest.mark.parametrize(
    ("cut", "why"), [(Steering.skip, "skip"), (Steering.finish, ANSWER_NOW), (_spend, "time budget")]
)
def test_a_correction_that_is_cut_short_is_not_made_over_and_over(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, rung: str, cut: Callable[[Steering], None], why: str
) -> None:
    wheel = Steering()
    _in_the_rung(rung, lambda: cut(wheel), monkeypatch)
    events = watch([PLAN, NOT_FOUND], steering=wheel)
    assert _end(events).status == "stopped"
    assert _nodes(events)["rerank"] <= 3
    if why == "skip":
        assert [n.note["found"] for n in events if isinstance(n, ev.Noted)] == [False]
        assert [s.what for s in events if isinstance(s, ev.Steered)] == ["skip"]
    else:
        assert _end(events).stopped_because == why


class _Web:
    """A web that takes its time, during which something happens."""

    def __init__(self, act: Callable[[], None]) -> None:
        self.act = act

    def gather(self, _query: str, *, stop: threading.Event, **_: Any) -> Gathered:
        """Waits as the real one does."""
        self.act()
        return within(10, stop, self._pages)

    def _pages(self) -> Gathered:
        threading.Event().wait(10)  # nobody waits for its end
        return Gathered((), ())


@pytest.mark.parametrize(
    ("wish", "why"), [(Steering.skip, "skip"), (Steering.finish, ANSWER_NOW), (None, "time budget")]
)
def test_waiting_for_the_web_can_be_cut_short_without_losing_the_run(
    watch: Watch, monkeypatch: pytest.MonkeyPatch, wish: Callable[[Steering], None] | None, why: str
) -> None:
    wheel = Steering()

    def act() -> None:
        if wish:
            wish(wheel)
        else:
            monkeypatch.setattr(Stop, "out_of_time", True)

    events = watch([PLAN, NOT_FOUND] if wish else [PLAN], steering=wheel, web=_Web(act))
    assert _end(events).status == "stopped"
    if why == "skip":
        assert [n.note["found"] for n in events if isinstance(n, ev.Noted)] == [False]
    else:
        assert _end(events).stopped_because == why


def test_cancelling_while_the_web_is_waited_for_cancels_the_run(watch: Watch) -> None:
    wheel = Steering()
    with pytest.raises(GenerationCancelled):
        watch([PLAN], steering=wheel, web=_Web(wheel.cancel))


# --- around a clarifying question -----------------------------------------------------------------


@pytest.mark.parametrize(("at", "reply"), [(ev.Routed, ""), (ev.Asked, ""), (ev.Asked, "the Ostra 180")])
def test_answering_now_ends_a_clarifying_question(watch: Watch, at: type[ev.Event], reply: str) -> None:
    def do(event: ev.Event, wheel: Steering) -> None:
        if isinstance(event, at):
            wheel.finish()
            if reply:
                wheel.reply(reply)

    request = Request("what about it?", approve="always", interactive=True)
    events = watch([], request, do, planner=ScriptedCompleter([" ASK What do you mean?"]))
    assert _end(events).stopped_because == ANSWER_NOW
    assert _nodes(events)["route"] == 1


def test_a_greeting_is_answered_even_where_the_person_wants_the_answer_now(watch: Watch) -> None:
    def do(event: ev.Event, wheel: Steering) -> None:
        if isinstance(event, ev.Routed):
            wheel.finish()

    assert _end(watch([], Request("Hello!"), do)).status == "answered"


# --- steps that were added ------------------------------------------------------------------------


UNTAKEN = "Added, and not taken any more: And when?"


def _warned(events: Sequence[ev.Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, ev.Warned)]


@pytest.mark.parametrize(
    ("request_", "replies"),
    [
        (replace(DEEP, route="single"), [NOT_FOUND]),
        (Request("Hello!"), []),
        (replace(DEEP, budget=Budget(steps=1)), [PLAN, NOT_FOUND]),
    ],
)
def test_an_added_step_that_is_not_taken_is_told(
    watch: Watch, request_: Request, replies: list[Scripted]
) -> None:
    wheel = Steering()
    wheel.add("And when?")
    events = watch(replies, request_, steering=wheel)
    assert UNTAKEN in _warned(events)


def test_a_step_that_is_added_while_the_answer_is_written_is_told_as_untaken(watch: Watch) -> None:
    wheel = Steering()

    def write(_messages: Sequence[Message]) -> str:
        wheel.add("And when?")
        return "Orlavane buys all of its ceramic bearings from a single supplier, Tolvang Ceramics [1]."

    question = "Who supplies Orlavane's ceramic bearings?"
    script: list[Scripted] = [{"steps": [question]}, write]
    request = replace(DEEP, question=question)
    events = watch(script, request, steering=wheel, reader=UnsureReader())
    assert _end(events).status == "answered"
    assert UNTAKEN in _warned(events)
