"""The beginning: what is stored is read behind the prompt, and what to do first is said."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from textual import on
from textual.content import Content
from textual.widgets import Static

from tui.app.conversations import Beginning, load_beginning
from tui.app.watching import Watches
from tui.app.ways_out import in_the_app
from tui.app.widgets.conversation import Conversation
from tui.app.widgets.meters import Meters
from tui.app.widgets.prompt import Prompt
from tui.app.work import Failed, in_background
from tui.terminal import one_line

_RECENT = 5  # questions that are shown

if TYPE_CHECKING:
    from agent.run import Resumable
    from traces.runs import Run
    from tui.app.widgets.run_list_work import FoundUnfinished


class Begins(Watches):
    """A screen that says what there is: settings, collections, runs that can go on, or the first start."""

    _greeted: bool = False
    _welcome_waits: bool = False
    _away: bool = True
    _found: Beginning | None = None

    def on_mount(self) -> None:
        """What is missing is told once the engine knows."""
        self.watch(self.app, "engine_states", self._introduce)

    def on_screen_suspend(self) -> None:
        """Another screen is shown, or only a window over this one, under which nothing changes."""
        self._away = self.app.current_mode != self.MODE

    def on_screen_resume(self) -> None:
        """Documents, settings and runs may be others since one was here."""
        if self._away:
            self._away = False
            self.call_after_refresh(self.look_again)

    def look_again(self) -> None:
        """Read settings, collections and earlier questions."""
        load = partial(load_beginning, self.deepthink.engine)
        in_background(self, load, group="beginning", exclusive=True)

    @on(Beginning)
    def _begun(self, message: Beginning) -> None:
        prompt, meters, setting = self.query_one(Prompt), self.query_one(Meters), message.setting
        prompt.collections = [name for name, _ in message.collections]
        elsewhere = [text for text in message.history if text not in prompt.earlier]
        prompt.earlier = [*elsewhere, *prompt.earlier]  # what was asked here stays the latest, as typed
        self.known = frozenset(prompt.collections)
        meters.model, meters.offline, meters.collections = setting.model, setting.offline, self.known
        meters.redraw()
        self._found = message
        self._introduce()
        if self.live is None:
            self._offer(message.unfinished)
        if self._greeted or self.session or self.exchange is not None or not self.is_current:
            return
        if message.collections or message.runs:
            self._greeted = True
        else:  # behind the keys that were typed before: they are the prompt's
            self.app.call_later(prompt.call_later, self.call_later, self._welcome)

    def _introduce(self) -> None:
        """Say what to do first: what is missing, what there is."""
        if self._found is not None:
            states = self.deepthink.engine_states
            lacking = [part for part in ("model", "embedder") if states.get(part, ("",))[0] == "missing"]
            self.query_one(Conversation).introduce(_introduction(self._found, lacking))

    def _welcome(self) -> None:
        """The first steps, at once or, where somebody is typing, when they want them."""
        prompt, line = self.query_one(Prompt), self.query_one("#offer", Static)
        if self._greeted or self.exchange is not None or not self.is_current:
            return
        self._welcome_waits = bool(prompt.text.strip()) or prompt.is_being_written
        line.display = self._welcome_waits
        if self._welcome_waits:
            key = self.deepthink.key_of("run.cancel")
            line.update(Content(f"▸ Nothing is set up yet: {key} goes to it; ↑ brings back what you type."))
            return
        self._greeted = True
        from tui.app.screens.welcome import WelcomeScreen

        welcome = WelcomeScreen()

        def done(question: str | None) -> None:
            prompt.insert(welcome.typed)
            self.look_again()
            if question:
                prompt.remember(question)
                self.ask(question)

        self.app.push_screen(welcome, done)

    def action_back(self) -> None:
        """As ever; and to the first steps, if they wait for that."""
        super().action_back()
        if self._welcome_waits:
            self.look_again()

    def _offer(self, unfinished: Sequence[Resumable]) -> None:
        """Say what can go on, where it takes neither the keys nor the view from who is typing."""
        line = self.query_one("#offer", Static)
        line.display = bool(unfinished)
        if unfinished:
            count = len(unfinished)
            runs = "A run was" if count == 1 else f"{count} runs were"
            question = one_line(unfinished[0].run.question, 60)
            key = self.deepthink.key_of("ask.unfinished")
            does = "shows it" if count == 1 else "shows them"
            line.update(Content(f"↻ {runs} interrupted: “{question}” {key.upper()} {does}."))

    def action_unfinished(self) -> None:
        """Choose a run to go on with."""
        from tui.app.widgets.run_list_work import find_unfinished

        in_background(self, partial(find_unfinished, self.deepthink.engine.store), group="unfinished")

    def on_found_unfinished(self, message: FoundUnfinished) -> None:
        """Offer the runs that can go on, now that they are read."""
        from tui.app.screens.unfinished import UnfinishedScreen

        def chosen(run: Run | None) -> None:
            if run is not None:
                self.resume(run.id)
            else:
                self.look_again()  # some may have been given up

        here = self.fold.run_id if self.live is not None and self.fold is not None else ""
        found = [entry for entry in message.found if entry.run.id != here]
        if not self.is_current:
            return
        if found:
            self.app.push_screen(UnfinishedScreen(found), chosen)
        else:
            self.notify("No run was interrupted.")

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        """What went wrong before anything was asked stays where one looks."""
        if self.exchange is None:
            error = message.error
            told = f"✗ {error.title}: {error.message}\n\n{in_the_app(error, self.deepthink.keys)}"
            self.query_one(Conversation).introduce(Content(told))


def _introduction(found: Beginning, lacking: Sequence[str]) -> Content:
    """What to do first."""
    from agent.documents.sample_library import COLLECTIONS, demo_question

    parts = []
    if lacking:
        named = {"model": "language model", "embedder": "embedder"}
        names = " and no ".join(named[part] for part in lacking)
        parts.append(Content(f"There is no {names} yet. F7 Models fetches one.\n\n").stylize("$warning"))
    if not found.collections:
        added = "The library is empty. F3 Library adds documents; @path in a question reads a file first."
        return Content("").join([*parts, Content(added)])
    parts.append(Content("Ask a question about your documents.\n\n").stylize("bold"))
    lines = [f"  {name}  {count} document{'s' * (count != 1)}" for name, count in found.collections]
    recent = [f"  {one_line(question, 90)}" for question in found.history[: -_RECENT - 1 : -1]]
    if recent:
        lines += ["", "Asked recently (↑ brings them back, F10 opens the conversation):", *recent]
    elif set(COLLECTIONS) & {name for name, _ in found.collections}:
        lines += ["", "For example:", f"  {demo_question().question}"]
    return Content("").join([*parts, Content("\n".join(lines))])
