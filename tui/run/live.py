"""A run in a worker thread, and what a person does to it while they watch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from textual.dom import DOMNode
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from tui.app.offers import deepthink
from tui.app.work import Batch, Failed, failed, in_background

if TYPE_CHECKING:
    from agent import events as ev
    from tui.app.engine import Engine
    from tui.run.exchange import Exchange
    from tui.run.fold import RunFold

_MOMENT = 2.0  # seconds; a run stops within one
Begin = Callable[..., "Generator[ev.Event]"]
"""`agent.run.run` or `agent.run.resume` with everything but the parts of the engine filled in."""


@dataclass
class RunEvents(Message):
    """Events have come; the screen that shows the run drains them."""

    run: LiveRun


@dataclass
class RunEnded(Message):
    """The run's thread has ended; ``failure`` is what the run raised."""

    run: LiveRun
    failure: Failed | None


class LiveRun:
    """One run under way.

    Args:
        engine: Where its models and its store come from.
        prepare: Makes ``begin`` in the thread, where settings may still have to be loaded.
        model: The model it began with; "" for the one that is set.
        web: Whether it may search the web; None for what is set.
    """

    def __init__(
        self,
        engine: Engine,
        prepare: Callable[[LiveRun], Begin],
        model: str = "",
        web: bool | None = None,
    ) -> None:
        from agent.steering import Steering

        self.steering = Steering()
        self._engine = engine
        self._prepare = prepare
        self._model = model
        self._web = web
        self._events: Batch[ev.Event] = Batch(lambda: RunEvents(self))
        self._ended = threading.Event()

    def start(self, shown_by: Widget) -> None:
        """Begin; `RunEvents` and at last `RunEnded` are posted to ``shown_by``."""
        self._events.goes_to(shown_by)
        shown_by.run_worker(
            lambda: self._work(shown_by), thread=True, group="run", exit_on_error=False, name="run"
        )

    def tell(self, words: str) -> None:
        """Say what is done before the run proper begins; from its thread."""
        from agent import events as ev

        self._events.put(ev.NodeProgress("", 0, words))

    def leave(self) -> None:
        """Interrupt it because the app is left, and give it a moment to store what it has.

        It can be resumed either way.
        """
        self.steering.leave()
        self._ended.wait(_MOMENT)

    def drain(self) -> list[ev.Event]:
        """The events since the last time."""
        return self._events.drain()

    def _work(self, shown_by: Widget) -> None:
        failure: Failed | None = None
        try:
            begin = self._prepare(self)
            parts = self._parts()
            with (
                self._engine.chat(self._model) as chat,
                closing(begin(steering=self.steering, chat=chat, **parts)) as events,
            ):
                for event in events:
                    self._events.put(event)
        except BaseException as error:  # noqa: BLE001 - sent as a message: a worker never closes the app
            failure = failed(error)
        self._ended.set()
        shown_by.post_message(RunEnded(self, failure))

    def _parts(self) -> dict[str, Any]:
        from tui.assemble import open_web

        engine = self._engine
        embedder = engine.embedder()
        settings = engine.settings()
        if self._web is not None:
            settings = settings.model_copy(update={"web": self._web})
        return {
            "embedder": embedder,
            "reader": engine.reader(),
            "store": engine.store,
            "web": open_web(settings, engine.store, embedder),
            "learned": engine.learned(),
            "planner": engine.planner(),
        }


_AFTER_THE_LAST_DECISION = frozenset({"synthesise", "verify", "answer_directly"})  # nodes
_WITHOUT_DECISIONS = frozenset({"direct", "single"})  # routes of questions that take no plan


class Steers(Screen[None]):
    """Actions on the run under way; they are possible only while there is one.

    Attributes:
        live: The run under way.
        fold: What is known of it, or of the last one.
        exchange: Where it is shown.
        teaching: Whether the person takes each decision, in this run and those to come.
        deciding: Whether they take the next one.
    """

    live: LiveRun | None = None
    fold: RunFold | None = None
    exchange: Exchange | None = None
    teaching: bool = False
    deciding: bool = False

    def cancel(self) -> None:
        """End the run without an answer."""
        if self.live is not None:
            self.live.steering.cancel()
            self.notify("Cancelled; it can be resumed.")

    def action_pause(self) -> None:
        if self.live is None or self.fold is None:
            return
        steering = self.live.steering
        if steering.paused:
            steering.resume()
            self.notify("Resumed.")
        else:
            steering.pause()
            self.notify("Pausing after this step.")

    def action_finish(self) -> None:
        if self.live is not None:
            self.live.steering.finish()
            self.notify("Answering now, from what was found.")

    def action_skip(self) -> None:
        from tui.run.words import IN_STEP

        if self.live is None:
            return
        if self.fold is not None and self.fold.node in IN_STEP:
            self.live.steering.skip()
            self.notify(f"Step {self.fold.step} skipped.")
        else:
            self.notify("There is no step to skip right now.", severity="warning")

    def action_decide(self) -> None:
        if self.live is None:
            return
        if self.fold is not None and self.fold.asked is not None:
            self.notify("The run is already asking you.", severity="warning")
            return
        if why := self.why_no_decision():
            self.notify(why, severity="warning")
            return
        self.deciding = True
        self.live.steering.teach(True)
        self.notify("The run waits for you at its next decision.")

    def why_no_decision(self) -> str:
        """Why the run comes to no decision any more, in a sentence; "" if it may."""
        fold = self.fold
        if fold is None:
            return ""
        if fold.outcome.routed is not None and fold.outcome.routed.route in _WITHOUT_DECISIONS:
            return "This run makes no decisions: it answers in one go."
        return "This run has made its last decision." if fold.node in _AFTER_THE_LAST_DECISION else ""

    def action_teach(self) -> None:
        self.teaching = not self.teaching
        if self.live is not None:
            self.live.steering.teach(self.teaching)
        self.notify(
            "Teaching: each decision waits for you." if self.teaching else "Automatic decisions again."
        )

    def reply(self, text: str) -> None:
        """Hand the run what the person replied; the decision they asked for is taken with it."""
        if self.live is None:
            return
        self.live.steering.reply(text)
        if self.deciding:
            self.deciding = False
            self.live.steering.teach(self.teaching)


def a_run_goes_on(node: DOMNode) -> bool:
    """Whether a language model is at work for a run in this app."""
    try:
        screens = node.app.get_screen_stack("ask")
    except KeyError:
        return False
    return any(isinstance(screen, Steers) and screen.live is not None for screen in screens)


def load_anew(node: DOMNode) -> bool:
    """Load the models that the settings name now; False during a run: then the next question loads them."""
    if a_run_goes_on(node):
        return False
    in_background(node.app, deepthink(node).engine.prepare, group="prepare")
    return True
