"""Asking, and watching the run: from what was typed to the answer on the screen.

What shows a run is imported once there is one, so that the first frame need not wait for it; messages of
those widgets are therefore handled by the name of the method.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual import on

from tui.app.conversations import ResumeReady, SessionLoaded, load_resumed
from tui.app.live import Begin, LiveRun, RunEnded, RunEvents
from tui.app.question import Typed, begin, read
from tui.app.screens.base import DeepScreen
from tui.app.steering import Steers
from tui.app.ways_out import in_the_app
from tui.app.widgets.conversation import Conversation
from tui.app.widgets.meters import Meters
from tui.app.widgets.prompt import Prompt
from tui.app.widgets.run_bar import RunBar
from tui.app.work import in_background

if TYPE_CHECKING:
    from agent import events as ev
    from tui.app.fold import Part, RunFold
    from tui.app.widgets.asked import AskedBox
    from tui.app.widgets.exchange import Exchange

WHILE_IT_RUNS = frozenset({"pause", "finish", "skip", "add", "decide"})
"""Actions that are possible only while a run goes on."""


class Watches(Steers, DeepScreen):
    """A screen with a conversation, on which one run at a time goes on.

    Attributes:
        session: Id of the session that the next question belongs to; "" begins one.
        known: Names of the library's collections.
    """

    session: str = ""
    known: frozenset[str] = frozenset()
    _typed: str = ""

    def on_unmount(self) -> None:
        """The app is left; what was going on can be resumed."""
        if self.live is not None:
            self.live.leave()
            if self.fold is not None and self.fold.run_id:
                self.deepthink.left.append(self.fold.run_id)

    @on(Prompt.Sent)
    def _sent(self, event: Prompt.Sent) -> None:
        if self.live is not None:
            self.notify(
                f"A run goes on. {self.deepthink.key_of('run.add')} makes this one of its steps.",
                severity="warning",
            )
            self.query_one(Prompt).take_back(event.text)
            return
        self.ask(event.text)

    def ask(self, text: str) -> None:
        """Ask what was typed, as the next turn of the session."""
        typed = read(text, self.known)
        trouble = self._wrong_with(typed)
        if trouble:
            self.notify(trouble, severity="warning", markup=False)
            self.query_one(Prompt).take_back(text)
            return
        self._typed = text
        from tui.app.fold import RunFold

        def prepare(run: LiveRun) -> Begin:
            engine, session = self.deepthink.engine, self.session
            warn = partial(self.notify, severity="warning", timeout=10, markup=False)
            return begin(engine, typed, session, tell=run.tell, warn=warn, cancelled=run.steering.cancelled)

        self._start(typed.question, RunFold(), prepare)

    def _wrong_with(self, typed: Typed) -> str:
        """Why this is not asked, in a sentence; "" if nothing is wrong."""
        for word in typed.unknown:
            if word.startswith("@"):
                return f"There is no file or folder {word[1:]}."
            return f"No collection is called {word[1:]}; there are {', '.join(sorted(self.known))}."
        return "" if typed.question else "Write the question beside it."

    def on_asked_box_posed(self, event: AskedBox.Posed) -> None:
        """A question is there: the keys go to it, unless somebody is typing something else."""
        if self.exchange is None or self.exchange.question_box is not event.box:
            return  # it was taken away meanwhile
        if self.deciding or not self.query_one(Prompt).is_being_written:
            event.box.take_focus()
        else:
            key = self.deepthink.key_of("ask.citations")
            self.notify(f"{event.box.asked.question} {key} goes there.", title="The run asks", markup=False)

    async def open_session(self, loaded: SessionLoaded) -> None:
        """Show a session's latest turns in place of what is there; the next question belongs to it."""
        self.session, self._typed = loaded.session, ""
        self.fold = loaded.folds[-1] if loaded.folds else None
        conversation = self.query_one(Conversation)
        await conversation.open(loaded.folds, loaded.earlier)
        self.exchange = conversation.latest
        if self.fold is not None:
            self.run_begins()
            self.call_after_refresh(self.draw_all)
        else:
            self.query_one(Meters).clear_away()
            await self.run_is_gone()

    def resume(self, run_id: str) -> None:
        """Go on with a stored run, in its session."""
        load = partial(load_resumed, self.deepthink.engine, run_id)
        in_background(self, load, group="session", exclusive=True)

    @on(ResumeReady)
    async def _resume_ready(self, message: ResumeReady) -> None:
        if self.live is not None:
            self.notify("A run goes on; resume the other when it has ended.", severity="warning")
            return
        if message.before.session != self.session:
            await self.open_session(message.before)
        fold = message.fold
        fold.outcome.finished = None
        self._typed = fold.outcome.question

        def prepare(_run: LiveRun) -> Begin:
            from agent import run as agent_run

            return partial(agent_run.resume, message.run_id, interactive=True)

        self._start(self._typed, fold, prepare, message.model, message.web)

    def _start(
        self,
        question: str,
        fold: RunFold,
        prepare: Callable[[LiveRun], Begin],
        model: str = "",
        web: bool | None = None,
    ) -> None:
        self.fold = fold
        self.exchange = self.query_one(Conversation).begin(question)
        self.live, self.deciding = LiveRun(self.deepthink.engine, prepare, model, web), False
        self.live.steering.teach(self.teaching)
        self.query_one(RunBar).add_class("-on")
        self.refresh_bindings()
        self.run_begins()
        self.live.start(self)

    def on_exchange_ready(self, event: Exchange.Ready) -> None:
        """What shows the run is composed, for which nothing that comes later can be waited."""
        if event.exchange is self.exchange:
            self.draw_all()

    def run_begins(self) -> None:
        """A run begins: to be shown."""

    async def run_is_gone(self) -> None:
        """No run is shown any more."""

    def draw_thinking(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """What changed of a run's plan, evidence and decisions: to be shown."""

    def run_is_over(self, run_id: str) -> None:
        """A run has ended, and is stored."""

    def look_again(self) -> None:
        """What is stored may be other than before: to be read again."""

    @on(RunEvents)
    def _events(self, message: RunEvents) -> None:
        events = message.run.drain()
        if message.run is self.live:
            self._take(events)

    def _take(self, events: list[ev.Event]) -> None:
        assert self.fold is not None
        changed = self.fold.take_all(events)
        started = self.fold.outcome.started
        if started is not None and started.session:
            self.session = started.session
        self._draw(changed)

    def draw_all(self) -> None:
        """Draw everything of the run anew."""
        from tui.app.fold import EVERYTHING

        self._draw(EVERYTHING)

    def _draw(self, changed: frozenset[Part]) -> None:
        fold, exchange = self.fold, self.exchange
        if fold is None or exchange is None or not exchange.is_mounted or not changed:
            return
        exchange.show(fold, changed)
        self.query_one(Meters).show(fold, changed)
        # As it was asked for: the run itself is paused only after what is under way.
        self.query_one(RunBar).show_paused(self.live.steering.paused if self.live else fold.paused)
        self.draw_thinking(fold, changed)

    @on(RunEnded)
    def _run_ended(self, message: RunEnded) -> None:
        if message.run is not self.live or self.fold is None or self.exchange is None:
            return
        self._take(message.run.drain())
        self.live = None
        self.query_one(RunBar).remove_class("-on")
        self.exchange.unask()
        self.refresh_bindings()
        prompt = self.query_one(Prompt)
        failure = message.failure
        cancelled = failure is not None and failure.error.kind == "cancelled"
        if failure is not None and not (cancelled and self.fold.over):
            error, fold = failure.error, self.fold
            way_out = in_the_app(error, self.deepthink.keys)
            told = f"{error.title}: {error.message} {way_out}"
            fold.failure = "Cancelled before anything was done." if cancelled else told
            fold.asked = None
            self.draw_all()
        if failure is not None and not cancelled:
            self.post_message(failure)
        if failure is not None:
            prompt.take_back(self._typed)
        if self.fold.run_id:
            self.run_is_over(self.fold.run_id)
        self.look_again()  # it may be resumable, and may have read documents

    def on_exchange_unasked(self) -> None:
        """Keys go to the prompt, unless they have somewhere else to go by now."""
        if self.focused is None:
            self.to_prompt()

    def on_asked_box_replied(self, event: AskedBox.Replied) -> None:
        """Hand the reply to the run."""
        if self.exchange is not None:
            self.exchange.unask()
        self.to_prompt()
        self.reply(event.reply)

    def to_prompt(self) -> None:
        """Keys go to the prompt from the next one on; `focus` would let those pass that wait already."""
        self.set_focus(self.query_one(Prompt))

    def action_back(self) -> None:
        """To the prompt; from there cancel the run, or clear what is written."""
        prompt = self.query_one(Prompt)
        if self.focused is not prompt:
            self.to_prompt()
        elif self.live is not None:
            self.cancel()
        else:
            prompt.clear_away()

    def action_add(self) -> None:
        """The prompt's text becomes a step of the plan."""
        self.query_one(Prompt).call_later(self._add)  # behind the keys that were typed before

    def _add(self) -> None:
        prompt = self.query_one(Prompt)
        text = " ".join(prompt.text.split())
        if self.live is None:
            return
        if not text:
            key = self.deepthink.key_of("run.add")
            self.notify(f"Type a step in the prompt, then press {key}.", severity="warning")
            return
        if why := self.why_no_decision():
            self.notify(why, severity="warning")
            return
        self.live.steering.add(text)
        prompt.remember(text)
        self.notify("Added to the plan.")

    def paused_changed(self, paused: bool) -> None:
        """Call the action by what it does now."""
        self.query_one(RunBar).show_paused(paused)

    def teaching_changed(self) -> None:
        """Say it where the decider is named."""
        meters = self.query_one(Meters)
        meters.teaching = self.teaching
        meters.redraw()
