"""Ask: the conversation, the thinking beside it, the prompt beneath."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from tui.app.base import AlreadyHere, StoreChanged
from tui.app.failure import in_the_app
from tui.app.keys import bindings
from tui.app.work import Failed, in_background
from tui.ask.conversation import (
    Beginning,
    Conversation,
    FindBar,
    Finder,
    SessionLoaded,
    TurnsLoaded,
    load_beginning,
    load_session,
    load_turns,
)
from tui.ask.prompt import Prompt, PromptBox
from tui.ask.watching import WHILE_IT_RUNS, RunBar, Watches
from tui.run.meters import Meters
from tui.terminal import one_line

if TYPE_CHECKING:
    from agent.run import Resumable
    from traces.ratings import Rating
    from traces.runs import Run
    from tui.decisions.strip import DecisionStrip
    from tui.run.evidence import EvidenceList, Passage
    from tui.run.exchange import Exchange, WaysOn
    from tui.run.fold import Part, RunFold
    from tui.runs.list import Rated
    from tui.runs.unfinished import FoundUnfinished


class Answers(Watches):
    """A screen with actions on its last answer."""

    _rated: tuple[str, str] = ("", "")  # the run that was rated last, and how

    def put_question(self, text: str) -> None:
        """Put a question into the prompt, to be changed or asked."""
        self.query_one(Prompt).put(text)
        self.to_prompt()

    def action_copy(self, sources: bool = False) -> None:
        turns = [turn for turn in reversed(self.query_one(Conversation).turns) if turn.answer]
        if not turns:
            self.notify("There is no answer yet.")
            return
        self.app.copy_to_clipboard(turns[0].with_sources if sources else turns[0].answer)
        self.notify("Copied with its sources." if sources else "Answer copied.")

    def action_retry(self) -> None:
        exchange = self.query_one(Conversation).latest
        if exchange is not None and self.live is None:
            self.put_question(self._typed or exchange.question)

    def action_rate(self, rating: Rating) -> None:
        from tui.runs.list import rate

        if self.fold is not None and self.fold.over and self.fold.run_id:
            wanted = (self.fold.run_id, rating)
            self._rated = ("", "") if self._rated == wanted else wanted
            kept = rating if self._rated == wanted else None
            work = partial(rate, self.deepthink.engine.store, self.fold.run_id, kept)
            in_background(self, work, group="rate")

    def on_rated(self, message: Rated) -> None:
        """Confirm the rating."""
        self.notify(f"Rated as {message.rating}." if message.rating else "Rating removed.")

    def action_export(self) -> None:
        if self.fold is not None and self.fold.over and self.fold.run_id:
            from tui.runs.export import ExportScreen

            self.app.push_screen(ExportScreen(self.fold.run_id, self.fold.outcome.question))

    def on_ways_on_taken(self, event: WaysOn.Taken) -> None:
        """Ask in other words or everywhere, or search the library by hand."""
        if event.way == "search":
            self.app.call_later(self._search_library, event.question)
        elif event.way == "everywhere" and self.live is None:
            self.ask(event.question)
        else:
            self.put_question(event.question)

    def _search_library(self, question: str) -> None:
        from tui.library.screen import LibraryScreen
        from tui.library.search_panel import SearchPanel

        self.deepthink.action_mode("library")
        screen = self.app.screen
        if isinstance(screen, LibraryScreen):

            def search() -> None:
                screen.action_search()
                screen.query_one(SearchPanel).search_for(question)

            screen.call_after_refresh(search)  # it may be the first time that it is shown


_RECENT = 5  # questions that are shown


class Begins(Watches):
    """A screen that shows the state at the start, or the first steps."""

    _greeted: bool = False
    _welcome_waits: bool = False
    _away: bool = True
    _found: Beginning | None = None

    def on_mount(self) -> None:
        self.watch(self.app, "engine_states", self._introduce)

    def on_screen_suspend(self) -> None:
        """Another screen is shown, or only a window over this one, under which nothing changes."""
        self._away = self.app.current_mode != self.MODE

    def on_screen_resume(self) -> None:
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
        """Show the first steps at once or, while the user is typing, offer them."""
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
        from tui.ask.welcome import WelcomeScreen

        welcome = WelcomeScreen()

        def done(question: str | None) -> None:
            prompt.insert(welcome.typed)
            self.look_again()
            if question:
                prompt.remember(question)
                self.ask(question)

        self.app.push_screen(welcome, done)

    def action_back(self) -> None:
        """As before; then show the first steps if they are waiting."""
        super().action_back()
        if self._welcome_waits:
            self.look_again()

    def _offer(self, unfinished: Sequence[Resumable]) -> None:
        """Offer resumable runs in a line that takes neither the focus nor the view."""
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
        from tui.runs.unfinished import find_unfinished

        in_background(self, partial(find_unfinished, self.deepthink.engine.store), group="unfinished")

    def on_found_unfinished(self, message: FoundUnfinished) -> None:
        """Offer the resumable runs that were read."""
        from tui.runs.unfinished import UnfinishedScreen

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
        """Keep a failure before the first question in view."""
        if self.exchange is None:
            error = message.error
            text = f"✗ {error.title}: {error.message}\n\n{in_the_app(error, self.deepthink.keys)}"
            self.query_one(Conversation).introduce(Content(text))


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


_READ_ONLY = frozenset({"Conversation", "Answer", "Sources", "WaysOn", "PlanTree", "EvidenceList"})
"""Widgets that take no letters; by name, since most are imported once there is a run."""


class AskScreen(Answers, Begins):
    """The main screen."""

    MODE: ClassVar[str] = "ask"
    PLACES: ClassVar[tuple[str, ...]] = ("ask", "run")
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("ask"), *bindings("run")]
    CSS_PATH = "ask.tcss"
    AUTO_FOCUS = "Prompt"  # from the first frame on; by default it would be what comes first
    HELP = """\
### Ask

Type a question and press **Enter**. While the run goes on, the line over the prompt says what you can do to
it. **Ctrl-L** shows the thinking: the plan, the evidence, the decisions.

Every `[n]` of the answer opens its passage.
"""

    _watching: bool = True  # whether the thinking of a live run is to be shown

    def body(self) -> ComposeResult:
        with Horizontal(id="upper"):
            yield Conversation()
            yield Vertical(id="thinking")
        yield Static(id="offer", markup=False)
        yield FindBar()
        yield Meters()
        yield RunBar()
        yield PromptBox()

    def on_mount(self) -> None:
        """Keys go to the prompt at once; what is stored is read behind it."""
        self._finder = Finder(self.query_one(Conversation))
        self.query_one(Prompt).focus()

    # --- sessions --------------------------------------------------------------------------------

    def action_sessions(self) -> None:
        from tui.runs.sessions import SessionsScreen

        window = SessionsScreen()

        def chosen(session: str | None) -> None:
            gone = session is None and self.session in window.deleted
            if session is not None or gone:
                self.go_to_session(session or "")

        self.app.push_screen(window, chosen)

    def go_to_session(self, session: str) -> None:
        """Show a stored conversation; a new one if ``session`` is empty. Refused during a run."""
        if self._a_run_goes_on():
            return
        if session:
            load = partial(load_session, self.deepthink.engine, session)
            in_background(self, load, group="session", exclusive=True)
        else:
            self.post_message(SessionLoaded("", "", ()))

    def _a_run_goes_on(self) -> bool:
        """Whether a run is under way, so that the session cannot change; warn if so."""
        if self.live is not None:
            self.notify("A run is in progress; change the session when it has ended.", severity="warning")
        return self.live is not None

    def action_new_session(self) -> None:
        self.go_to_session("")

    @on(SessionLoaded)
    async def _session_loaded(self, message: SessionLoaded) -> None:
        if not self._a_run_goes_on():  # one may have begun while the session was read
            await self.open_session(message)

    def action_older(self) -> None:
        self.query_one(Conversation).want_earlier()

    @on(Conversation.EarlierWanted)
    def _read_earlier(self, message: Conversation.EarlierWanted) -> None:
        in_background(self, partial(load_turns, self.deepthink.engine, message.runs), group="earlier")

    @on(TurnsLoaded)
    async def _earlier_read(self, message: TurnsLoaded) -> None:
        if message.session == self.session:  # another may have been opened meanwhile
            await self.query_one(Conversation).show_earlier(message.folds)
            if self.query_one(FindBar).display:
                self.call_after_refresh(self._find, 0)

    def action_citations(self) -> None:
        conversation = self.query_one(Conversation)
        exchange = conversation.latest_cited or conversation.latest
        if exchange is None:
            self.notify("There is no answer yet.")
        else:
            exchange.go_to_citations()

    # --- finding ---------------------------------------------------------------------------------

    def action_find(self) -> None:
        conversation = self.query_one(Conversation)
        if conversation.latest is None:
            self.notify("There is no conversation yet.")
            return
        conversation.want_all()
        self.query_one(FindBar).open()

    @on(FindBar.Moved)
    def _find_moved(self, message: FindBar.Moved) -> None:
        self._find(message.by)

    def _find(self, by: int) -> None:
        bar = self.query_one(FindBar)
        bar.tell(*self._finder.find(bar.value, by))

    @on(FindBar.Closed)
    def _find_closed(self) -> None:
        self._finder.clear()
        self.to_prompt()

    # --- the thinking ----------------------------------------------------------------------------

    def run_begins(self) -> None:
        """The thinking of a live run is shown beside the conversation where there is room for it."""
        from tui.run.panel import RunPanel

        self.query_one("#offer").display = False
        self.set_class(self.live is not None and self.has_class("-wide") and self._watching, "-thinking")
        place = self.query_one("#thinking")
        if not place.query(RunPanel):
            place.mount(RunPanel())

    async def run_is_gone(self) -> None:
        """Hide the thinking."""
        self.remove_class("-thinking")
        self.to_prompt()
        await self.query("RunPanel").remove()

    def draw_thinking(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """What changed of it."""
        from tui.run.panel import RunPanel

        for panel in self.query(RunPanel):
            panel.show(fold, changed)

    def run_is_over(self, run_id: str) -> None:
        """Show the answer alone, unless the thinking has the focus, and read the labels."""
        from tui.decisions.strip import DecisionStrip

        if not self.query_one("#thinking").has_focus_within:
            self.remove_class("-thinking")
        for strip in self.query(DecisionStrip):
            strip.read_labels()

    def action_panel(self) -> None:
        """Show or hide the thinking; on a narrow screen it takes the conversation's place."""
        if self.fold is None:
            self.notify("There is nothing to show yet: ask a question first.")
            return
        self.to_prompt()
        self.toggle_class("-thinking")
        if self.live is not None:
            self._watching = self.has_class("-thinking")
        self.call_after_refresh(self._focus_panel)

    def _focus_panel(self) -> None:
        """The thinking has the keys if it is shown."""
        from tui.run.panel import RunPanel

        if self.query_one("#thinking").display:
            self.query_one(RunPanel).focus_first()

    def on_evidence_list_opened(self, event: EvidenceList.Opened) -> None:
        """Open a passage that was found."""
        self._open_passage(event.passage)

    def on_exchange_passage_wanted(self, event: Exchange.PassageWanted) -> None:
        """Open a passage that is cited."""
        self._open_passage(event.passage)

    def _open_passage(self, passage: Passage) -> None:
        from tui.library.passage import PassageScreen

        self.app.push_screen(PassageScreen.of(passage))

    def on_decision_strip_answered(self, event: DecisionStrip.Answered) -> None:
        """The run asked for a decision, and got it in the strip."""
        if self.live is not None:
            self.live.steering.reply(event.action)

    # --- the frame -------------------------------------------------------------------------------

    @on(StoreChanged)
    def _store_changed(self) -> None:
        self.look_again()

    @on(AlreadyHere)
    def _already_here(self) -> None:
        self.to_prompt()

    def on_key(self, event: events.Key) -> None:
        reading = self.focused is None or type(self.focused).__name__ in _READ_ONLY
        bound = event.key in self.active_bindings
        if reading and not bound and event.is_printable and event.character is not None:
            event.stop()
            self.to_prompt()
            self.query_one(Prompt).insert(event.character)

    def action_scroll(self, where: str) -> None:
        conversation = self.query_one(Conversation)
        if where == "up":
            conversation.scroll_page_up(animate=False)
        elif where == "down":
            conversation.scroll_page_down(animate=False)
        else:
            conversation.anchor()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in WHILE_IT_RUNS:
            return self.live is not None
        if action in {"new_session", "retry"}:
            return self.live is None
        if action == "older":
            return self.query_one(Conversation).has_earlier
        return True
