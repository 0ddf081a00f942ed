"""The Ask screen: the conversation, the thinking beside it, the prompt below.

The widgets that show a run are imported with the first run, so that the first frame does not wait for
them. Their messages are therefore handled by method name.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Static

from traces.records import ALL_COLLECTIONS
from tui.app.base import DeepScreen
from tui.app.failure import way_out
from tui.app.find import FindBar
from tui.app.keys import bindings
from tui.app.work import Failed, Job, in_background
from tui.ask.conversation import (
    LOOKING,
    Beginning,
    Conversation,
    SessionLoaded,
    load_beginning,
    load_resumed,
    load_session,
    load_turns,
)
from tui.ask.prompt import Prompt, PromptBox, Typed, begin, read
from tui.run.live import Begin, LiveRun, Meters, RunBar, Steers
from tui.terminal import counted, one_line

if TYPE_CHECKING:
    from agent import events as ev
    from agent.run import Resumable
    from traces.records import Collection
    from traces.runs import Rating
    from tui.decisions.strip import DecisionStrip
    from tui.run.exchange import AskedBox, Exchange, WaysOn
    from tui.run.fold import Part, RunFold
    from tui.run.panel import RunPanel
    from tui.runs.screen import RunsScreen

_RECENT = 5  # questions that are shown
_NO_ANSWER = "This question has no answer."
_EXAMPLES = 3  # questions that are suggested
_AT_ONCE = 1.0  # seconds: a letter that follows one that rates is the second of a question
_WHILE_IT_RUNS = frozenset({"pause", "finish", "skip", "add", "decide"})
_READ_ONLY = frozenset({"Conversation", "Answer", "Sources", "WaysOn", "PlanTree", "EvidenceList"})
"""Widgets that take no letters; by name, since most are imported with the first run."""


@dataclass(frozen=True, slots=True)
class _Rated:
    """A key that rated an answer, the run, and its rating before; the next key may take it back."""

    key: events.Key
    fold: RunFold | None
    before: str


class AskScreen(Steers, DeepScreen):
    """The main screen: a conversation, and one run at a time.

    Attributes:
        session: Id of the session that the next question belongs to; "" for a new one.
        collection_names: Names of the library's collections.
    """

    MODE = "ask"
    PLACES = ("ask", "run")
    BINDINGS = bindings("ask", "run")
    CSS_PATH = "ask.tcss"
    AUTO_FOCUS = "Prompt"  # from the first frame on; Textual's default is the first widget
    HELP = """\
### Ask

Type a question and press **Enter**. While a run is in progress, the line over the prompt says what you can
do to it. **Ctrl-L** shows the thinking: the plan, the evidence, the decisions.

Every `[n]` of the answer opens its passage.
"""

    def __init__(self) -> None:
        super().__init__()
        self.session = ""
        self.collection_names: frozenset[str] = frozenset()
        self._question_text = ""  # the current question, as it was typed
        self._keep_thinking_open = True  # whether to show the thinking of a live run
        self._greeted = False  # whether the first steps were shown, or are not needed
        self._beginning: Beginning | None = None
        self._early_question = ""  # asked before the names of the collections were known
        self._rated: _Rated | None = None  # by the last key
        self._storing_rating = threading.Lock()
        self._stored_ratings: dict[str, str] = {}  # by run, while another is being stored

    def body(self) -> ComposeResult:
        conversation = Conversation()
        with Horizontal(id="upper"):
            yield conversation
            yield Vertical(id="thinking")
        yield Static(id="offer", markup=False)
        yield FindBar(conversation.find, -1, "Words to find in the conversation")
        yield Meters(f" (#{ALL_COLLECTIONS}: all of yours)")
        yield RunBar()
        yield PromptBox()

    def on_mount(self) -> None:
        """Focus the prompt at once; the store is read in the background."""
        self.query_one(Prompt).focus()
        self.watch(self.app, "engine_states", self._introduce)

    def on_resize(self) -> None:
        self.call_later(self._uncover_question)  # once the class for the new width is set

    def on_unmount(self) -> None:
        """Interrupt the run when the app ends; it can be resumed."""
        if self.live is not None:
            self.live.leave()
            if self.fold is not None and self.fold.run_id:
                self.deepthink.interrupted_runs.append(self.fold.run_id)

    # --- the beginning --------------------------------------------------------------------------

    def entered(self) -> None:
        self.call_after_refresh(self.look_again)

    def look_again(self) -> None:
        """Read settings, collections and earlier questions."""
        load = partial(load_beginning, self.deepthink.engine, self.session)
        in_background(self, load, self._show_beginning, group="beginning", exclusive=True)

    def _show_beginning(self, beginning: Beginning) -> None:
        prompt, meters = self.query_one(Prompt), self.query_one(Meters)
        names = [collection.name for collection in beginning.collections]
        self.collection_names = frozenset(names)
        prompt.collections = [*names, ALL_COLLECTIONS] if names else []
        older = [text for text in beginning.history if text not in prompt.earlier]
        prompt.earlier = [*older, *prompt.earlier]  # questions asked here stay the latest, as typed
        settings = beginning.settings
        meters.model, meters.offline = settings.model, not settings.web
        meters.collections = beginning.everywhere
        if self.live is None:  # else it shows what is searched just now
            meters.searched, meters.filters = beginning.scope, ()
        self._beginning = beginning
        self._introduce()
        if self.live is None:
            self._offer(beginning.unfinished)
        early, self._early_question = self._early_question, ""
        if early:
            self._take_question(Prompt.Sent(early))
        if self._greeted or self.session or self.exchange is not None or not self.is_current:
            return
        if any(one.documents for one in beginning.collections) or beginning.history:
            self._greeted = True
        else:
            self._welcome()

    def _introduce(self) -> None:
        """Say what to do first: what is missing, what there is."""
        if self._beginning is not None:
            states = self.deepthink.engine_states
            missing = [part for part in ("model", "embedder") if states.get(part, ("",))[0] == "missing"]
            conversation = self.query_one(Conversation)
            room = max(20, min(90, conversation.size.width - 8))  # cells of a line between the margins
            conversation.introduce(_introduction(self._beginning, missing, room))

    def _welcome(self) -> None:
        """Show the first steps, unless the user is writing a question."""
        prompt = self.query_one(Prompt)
        if self._greeted or self.exchange is not None or not self.is_current or prompt.text.strip():
            return
        self._greeted = True
        from tui.ask.welcome import WelcomeScreen

        def after_welcome(question: str | None) -> None:
            self._beginning = None  # before the library was filled
            self.query_one(Conversation).introduce(Content(LOOKING))
            self.look_again()
            if question:
                prompt.remember(question)
                self.ask(question)

        self.app.push_screen(WelcomeScreen(), after_welcome)

    def _offer(self, unfinished: Sequence[Resumable]) -> None:
        """Offer resumable runs in a line that takes neither the focus nor the view."""
        line = self.query_one("#offer", Static)
        line.display = bool(unfinished)
        if unfinished:
            count = len(unfinished)
            runs = "A run was" if count == 1 else f"{count} runs were"
            question = one_line(unfinished[0].run.question, 60)
            key = self.deepthink.key_of("ask.unfinished")
            verb = "shows it" if count == 1 else "shows them"
            line.update(Content(f"↻ {runs} interrupted: “{question}” {key} {verb}."))

    async def action_unfinished(self) -> None:
        offered = self._beginning.unfinished if self._beginning is not None else ()
        await self.app.switch_mode("runs")
        cast("RunsScreen", self.app.screen).show_interrupted(offered[0].run.id if offered else "")

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        """Show a failure before the first question until there is one."""
        if self.exchange is None:
            self.query_one(Prompt).take_back(self._early_question)
            self._early_question = ""
            error = message.error
            text = f"✗ {error.title}: {error.message}\n\n{way_out(self, error)}"
            self.query_one(Conversation).introduce(Content(text))
            message.is_shown = self.is_current

    # --- asking ---------------------------------------------------------------------------------

    @on(Prompt.Sent)
    def _take_question(self, event: Prompt.Sent) -> None:
        box, prompt = self.exchange.box if self.exchange is not None else None, self.query_one(Prompt)
        if not event.text:
            if box is not None:
                self.action_citations()
        elif box is not None and event.text in box.choices:
            box.reply_with(box.choices[event.text])
        elif self.live is not None:
            if box is not None:
                prompt.border_subtitle = "Not asked yet: the run above comes first"
                self._uncover_question()
                self.scroll_to_widget(box, animate=False)
            elif key := self.deepthink.key_of("run.add"):
                self.notify(f"A run is in progress. {key} makes this one of its steps.", severity="warning")
            else:
                self._blocked_by_run("ask this")
            prompt.take_back(event.text)
        elif self._beginning is None and "#" in event.text:
            self._early_question = event.text
            self.notify("The question is asked once the collections are known.")
        else:
            self.ask(event.text)

    def ask(self, text: str) -> None:
        """Ask a typed question, as the next turn of the session."""
        typed = read(text, self.collection_names)
        trouble = self._refusal(typed)
        if trouble:
            self.notify(trouble, severity="warning", timeout=10, markup=False)
            self.query_one(Prompt).take_back(text)
            return
        self._question_text = text
        from tui.run.fold import RunFold

        def prepare(run: LiveRun) -> Begin:
            warn = partial(self.notify, severity="warning", timeout=10, markup=False)
            return begin(run, typed, self.session, warn)

        self._start(typed.question, RunFold(), LiveRun(self.deepthink.engine, prepare))

    def _refusal(self, typed: Typed) -> str:
        """Why this question cannot be asked, in a sentence; "" if it can."""
        for word in typed.unknown:
            if word.startswith("@"):
                return f"There is no file or folder {word[1:]}."
            return f"There is no collection {word[1:]}, only {', '.join(sorted(self.collection_names))}."
        return "" if typed.question else "Add a question to it."

    def on_asked_box_posed(self, event: AskedBox.Posed) -> None:
        """Focus a question of the run, unless the user is typing something else."""
        if self.exchange is None or self.exchange.box is not event.box:
            return  # it was removed meanwhile
        self._uncover_question()
        if self.deciding or not self.query_one(Prompt).is_being_written:
            event.box.take_focus()

    def _uncover_question(self) -> None:
        """Where the thinking would leave a question of the run little room, hide it."""
        box = self.exchange.box if self.exchange is not None else None
        if box is not None and self._thinking_covers:
            has_keys = self.focused is None or self.query_one("#thinking").has_focus_within
            self.remove_class("-thinking")
            if has_keys:
                box.take_focus()

    def on_asked_box_typed(self, event: AskedBox.Typed) -> None:
        self.focus_input()
        self.query_one(Prompt).insert(event.text)

    def on_exchange_ready(self, event: Exchange.Ready) -> None:
        """Draw the run once the turn is composed; no later message says so."""
        if event.exchange is self.exchange:
            self.draw_all()

    @on(Job.Progressed)
    def _take_events(self, message: Job.Progressed) -> None:
        events = message.job.drain()
        if message.job is self.live:
            self._fold_events(events)

    def _fold_events(self, events: list[ev.Event]) -> None:
        assert self.fold is not None
        changed = self.fold.take_all(events)
        started = self.fold.started
        if started is not None and started.session:
            self.session = started.session
        self._draw(changed)

    def draw_all(self) -> None:
        from tui.run.fold import EVERYTHING

        self._draw(EVERYTHING)

    def _draw(self, changed: frozenset[Part]) -> None:
        fold, exchange = self.fold, self.exchange
        if fold is None or exchange is None or not exchange.is_mounted or not changed:
            return
        fold.pausing = self.live is not None and self.live.steering.paused
        exchange.show(fold, changed)
        self.query_one(Meters).show(fold, changed)
        self._show_actions()
        for panel in self.query("RunPanel"):
            cast("RunPanel", panel).show(fold, changed)

    @on(Job.Ended)
    def _run_ended(self, message: Job.Ended) -> None:
        if message.job is not self.live or self.fold is None or self.exchange is None:
            return
        self._fold_events(message.job.drain())
        self.live = None
        self.query_one(RunBar).remove_class("-on")
        self._show_actions()
        self.exchange.unask()
        self.refresh_bindings()
        prompt = self.query_one(Prompt)
        failure = message.failure
        cancelled = failure is not None and failure.error.kind == "cancelled"
        if failure is not None and not (cancelled and self.fold.over):
            error, fold = failure.error, self.fold
            text = f"{error.title}: {error.message} {way_out(self, error)}"
            fold.failure = "Cancelled before anything was done." if cancelled else text
            fold.unanswered = None
            self.draw_all()
        if failure is not None and not cancelled:
            self.post_message(failure)
        self.call_after_refresh(self.query_one(Conversation).show_from_its_question, self.exchange)
        if failure is not None:
            prompt.take_back(self._question_text)
        self._put_thinking_away(self.fold)
        self.look_again()  # the run may be resumable, and may have added documents

    def on_exchange_unasked(self) -> None:
        """Focus the prompt, unless something else has the focus by now."""
        if self.focused is None:
            self.focus_input()

    def on_asked_box_replied(self, event: AskedBox.Replied) -> None:
        if self.exchange is not None:
            self.exchange.unask()
        self.focus_input()
        self.reply(event.reply)

    def focus_input(self) -> None:
        """Focus the prompt from the next key on; `focus` would take effect after keys that already wait."""
        self.set_focus(self.query_one(Prompt))

    def action_back(self) -> None:
        """Focus the prompt; from there, cancel the run or clear the text."""
        prompt = self.query_one(Prompt)
        if self.focused is not prompt:
            self.focus_input()
        elif self.live is not None:
            self.cancel()
        else:
            prompt.clear_away()

    def action_add(self) -> None:
        prompt = self.query_one(Prompt)
        text = " ".join(prompt.text.split())
        if self.live is None:
            return
        if not text:
            key = self.deepthink.key_of("run.add")
            self.notify(f"Type a step in the prompt, then press {key}.", severity="warning")
            return
        self.live.steering.add(text)
        prompt.remember(text)
        self.notify("Added to the plan.")

    # --- steering -------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Say at once, and until it ends, that the run is being cancelled."""
        super().cancel()
        self._draw(frozenset({"status"}))

    def action_pause(self) -> None:
        super().action_pause()
        self._draw(frozenset({"status"}))

    def action_teach(self) -> None:
        super().action_teach()
        self.query_one(Meters).teaching = self.teaching

    def _show_actions(self) -> None:
        """Show what can be done to the run: at once Resume after Pause, although the step goes on.

        Where it waits for the user, the prompt says so, since what is typed there is sent to no run.
        """
        bar, prompt, asked = self.query_one(RunBar), self.query_one(Prompt), self.asked
        if self.live is not None:
            bar.paused, bar.idle = self.live.steering.paused, self.idle_actions
        key = self.deepthink.key_for("ask.citations")
        wanted = "choice" if asked is not None and asked.options else "answer"
        prompt.border_title = f"The run waits for your {wanted}: {key} goes there" if asked else ""
        prompt.set_class(asked is not None, "-waited-for")
        if asked is None:
            prompt.border_subtitle = ""

    # --- sessions -------------------------------------------------------------------------------

    def action_sessions(self) -> None:
        from tui.runs.windows import SessionsScreen

        window = SessionsScreen()

        def after_choice(session: str | None) -> None:
            was_deleted = session is None and self.session in window.deleted
            if session is not None or was_deleted:
                self.go_to_session(session or "")

        self.app.push_screen(window, after_choice)

    def go_to_session(self, session: str) -> None:
        """Show a stored conversation; a new one if ``session`` is empty. Refused during a run."""
        if self._blocked_by_run():
            return
        if session:
            load = partial(load_session, self.deepthink.engine, session)
            in_background(self, load, self._session_loaded, group="session", exclusive=True)
        else:
            self.call_later(self._session_loaded, SessionLoaded("", ()))

    def _blocked_by_run(self, action: str = "change the session") -> bool:
        """Whether a run is in progress, so that the ``action`` is not possible; warn if so."""
        if self.live is not None:
            self.notify(f"A run is in progress; {action} when it has ended.", severity="warning")
        return self.live is not None

    def action_new_session(self) -> None:
        self.go_to_session("")

    async def _session_loaded(self, loaded: SessionLoaded) -> None:
        if not self._blocked_by_run():  # a run may have begun while the session was read
            await self.open_session(loaded)

    @on(Conversation.EarlierWanted)
    def _read_earlier(self, message: Conversation.EarlierWanted) -> None:
        load = partial(load_turns, self.deepthink.engine, message.runs)
        then = partial(self._show_earlier_turns, self.session)
        in_background(self, load, then, group="earlier")

    async def _show_earlier_turns(self, session: str, folds: Sequence[RunFold]) -> None:
        if session == self.session:  # another may have been opened meanwhile
            await self.query_one(Conversation).show_earlier(folds)
            if self.query_one(FindBar).display:
                self.call_after_refresh(self.query_one(FindBar).action_move, 0)

    async def open_session(self, loaded: SessionLoaded) -> None:
        """Show a session's latest turns instead of the current ones; the next question belongs to it."""
        self.session, self._question_text = loaded.session, ""
        self.fold = loaded.folds[-1] if loaded.folds else None
        conversation = self.query_one(Conversation)
        await conversation.open(loaded.folds, loaded.earlier)
        self.exchange = conversation.latest
        if self.fold is not None:
            self._show_thinking()
            self.call_after_refresh(self.draw_all)
        else:
            self.query_one(Meters).clear_away()
            await self._hide_thinking()
        self.call_after_refresh(self.look_again)  # for where the next question searches

    def resume(self, run_id: str) -> None:
        """Resume a stored run, in its session."""
        load = partial(load_resumed, self.deepthink.engine, run_id)
        in_background(self, load, self._resume_ready, group="session", exclusive=True)

    async def _resume_ready(self, ready: tuple[SessionLoaded, RunFold, str, bool]) -> None:
        before, fold, model, web = ready
        if self._blocked_by_run("resume the other"):
            return
        prompt = self.query_one(Prompt)
        if read(prompt.text, self.collection_names).question == fold.question:
            prompt.clear_away()  # it was taken back
        await self.open_session(before)  # without this run, which comes at its end
        fold.finished = None
        self._question_text = fold.question

        def prepare(_run: LiveRun) -> Begin:
            from agent import run as agent_run

            return partial(agent_run.resume, fold.run_id, interactive=True)

        live = LiveRun(self.deepthink.engine, prepare, model, web)
        self._start(self._question_text, fold, live)

    def _start(self, question: str, fold: RunFold, live: LiveRun) -> None:
        self.fold, self.live, self.deciding = fold, live, False
        self.exchange = self.query_one(Conversation).begin(question)
        live.steering.teach(self.teaching)
        self.query_one(RunBar).add_class("-on")
        self._show_actions()
        self.refresh_bindings()
        self._show_thinking()
        live.start(self)

    # --- the answer -----------------------------------------------------------------------------

    def action_citations(self) -> None:
        conversation = self.query_one(Conversation)
        exchange = conversation.latest_cited or conversation.latest
        if exchange is None:
            self.notify("There is no answer yet.")
            return
        if self._thinking_covers:
            self.remove_class("-thinking")
        exchange.go_to_citations()

    def put_question(self, text: str) -> None:
        """Put a question into the prompt, for the user to edit or send."""
        self.query_one(Prompt).put(text)
        self.focus_input()

    def action_copy(self, sources: bool = False) -> None:
        turn = self._turn
        if turn is None or not turn.answer:
            goes_on = turn is None or (turn is self.exchange and self.live is not None)
            self.notify("There is no answer yet." if goes_on else _NO_ANSWER)
            return
        self.app.copy_to_clipboard(turn.with_sources if sources else turn.answer)
        self.notify("Copied with its sources." if sources else "Answer copied.")

    def action_retry(self) -> None:
        exchange = self.query_one(Conversation).latest
        if exchange is None:
            self.notify("There is no question yet.")
        elif not self._blocked_by_run("ask again"):
            self.put_question(self._question_text or exchange.question)

    @property
    def _turn(self) -> Exchange | None:
        """The turn that has the focus, else the last one, if there is one."""
        conversation = self.query_one(Conversation)
        return next((turn for turn in conversation.turns if turn.has_focus_within), conversation.latest)

    def _ended_fold(self) -> RunFold | None:
        """The run of the turn that has the focus, else of the last one; None, and a word, if it goes on."""
        fold = self._turn.fold if self._turn else None
        if fold is not None and fold.over and fold.run_id:
            return fold
        goes_on = self._turn is self.exchange and self.live is not None
        self.notify("Its run is still going on." if goes_on else "Nothing is stored of this question.")
        return None

    def action_rate(self, rating: Rating) -> None:
        if (fold := self._ended_fold()) is None:
            return
        if fold.answer:
            self._rate(fold, "" if fold.rating == rating else rating)
        else:
            self.notify(_NO_ANSWER)

    def _rate(self, fold: RunFold, rating: str) -> None:
        from tui.runs.actions import rate

        self._stored_ratings.setdefault(fold.run_id, fold.rating)
        fold.rating = rating

        def work() -> Rating | None:
            with self._storing_rating:  # it stores what was chosen last, whichever key it began with
                try:
                    chosen = cast("Rating | None", fold.rating or None)
                    return rate(self.deepthink.engine.store, fold.run_id, chosen)
                except BaseException:
                    if fold.rating == rating:  # no later key is about to store another
                        fold.rating = self._stored_ratings.pop(fold.run_id, rating)
                    raise

        in_background(self, work, partial(self._confirm_rating, fold), group="rate")

    def _take_rating_back(self, fold: RunFold | None, rating: str) -> None:
        if fold is not None and fold.rating != rating:
            self._rate(fold, rating)

    def _confirm_rating(self, fold: RunFold, rating: Rating | None) -> None:
        from tui.runs.actions import rating_text

        self._stored_ratings.pop(fold.run_id, None)
        for turn in self.query_one(Conversation).turns:
            if turn.fold is fold:
                turn.show(fold, frozenset({"status"}))
        self.notify(rating_text(fold.run_id, rating))

    def action_plan(self) -> None:
        if (fold := self._ended_fold()) is not None:
            from tui.runs.windows import PlanScreen

            self.app.push_screen(PlanScreen(fold.run_id, fold.question))

    def action_export(self) -> None:
        if (fold := self._ended_fold()) is not None:
            from tui.runs.windows import ExportScreen

            self.app.push_screen(ExportScreen(fold.run_id, fold.question))

    def on_ways_on_chosen(self, event: WaysOn.Chosen) -> None:
        """Ask on; while a run is in progress, the question goes into the prompt."""
        if event.way == "search":
            go = partial(self.deepthink.in_library, lambda library: library.search_for(event.question))
            self.app.call_later(go)
        elif event.way == "everywhere" and self.live is None:
            self.ask(f"#{ALL_COLLECTIONS} {event.question}")
        elif event.way != "anew":
            self.put_question(event.question)
        elif not self._blocked_by_run():
            self.go_to_session("")
            self.put_question(event.question)

    # --- finding --------------------------------------------------------------------------------

    def action_find(self) -> None:
        conversation = self.query_one(Conversation)
        if conversation.latest is None:
            self.notify("There is no conversation yet.")
            return
        conversation.want_earlier(everything=True)
        self.query_one(FindBar).open()

    # --- the thinking ---------------------------------------------------------------------------

    @property
    def _thinking_covers(self) -> bool:
        """Whether the thinking leaves the conversation little room, since there are few columns."""
        return self.has_class("-narrow") and self.has_class("-thinking")

    def _show_thinking(self) -> None:
        """Mount the thinking, and show that of a live run beside the conversation if there is room."""
        from tui.run.panel import RunPanel

        self.query_one("#offer").display = False
        self.set_class(
            self.live is not None and self.has_class("-wide") and self._keep_thinking_open, "-thinking"
        )
        place = self.query_one("#thinking")
        if not place.query(RunPanel):
            place.mount(RunPanel())

    async def _hide_thinking(self) -> None:
        self.remove_class("-thinking")
        self.focus_input()
        await self.query("RunPanel").remove()

    def _put_thinking_away(self, fold: RunFold) -> None:
        """Hide the thinking of a run that has ended, unless it is read beside the answer."""
        from tui.decisions.strip import DecisionStrip

        has_focus = self.query_one("#thinking").has_focus_within
        if self._thinking_covers and has_focus:
            self.focus_input()
        if self._thinking_covers or not has_focus:
            self.remove_class("-thinking")
        for strip in self.query(DecisionStrip) if fold.run_id else ():
            strip.read_labels()

    def action_panel(self) -> None:
        """Show or hide the thinking; on a narrow screen, the question and the answer begin above it."""
        if self.fold is None:
            self.notify("There is nothing to show yet: ask a question first.")
            return
        self.focus_input()
        if self.has_class("-narrow") and self.live is None and self.exchange is not None:
            self.query_one(Conversation).show_from_its_question(self.exchange)
        self.toggle_class("-thinking")
        if self.live is not None:
            self._keep_thinking_open = self.has_class("-thinking")
        self.call_after_refresh(self._focus_panel)

    def _focus_panel(self) -> None:
        """Focus the question of the run if there is one to see, else the thinking if it is shown."""
        from tui.run.panel import RunPanel

        box = self.exchange.box if self.exchange is not None else None
        if box is not None and box.is_mounted and not self._thinking_covers:
            box.take_focus()
        elif self.query_one("#thinking").display:
            self.query_one(RunPanel).focus_first()

    def on_decision_strip_answered(self, event: DecisionStrip.Answered) -> None:
        if self.live is not None:
            self.live.steering.reply(event.action)

    # --- the frame ------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Put letters that are no command into the prompt, with one that rated just before them."""
        rated, self._rated = self._rated, None
        is_read_only = self.focused is None or type(self.focused).__name__ in _READ_ONLY
        if not (is_read_only and event.is_printable and event.character is not None):
            return
        text = event.character
        bound = self.active_bindings.get(event.key)
        if rated is not None and rated.key.key != event.key and event.time - rated.key.time < _AT_ONCE:
            text = f"{rated.key.character}{text}"
            # By way of the app, since it has yet to rate if the keys came in one burst.
            self.app.call_later(self._take_rating_back, rated.fold, rated.before)
        elif bound is not None:
            if bound.binding.action.startswith("screen.rate("):
                fold = self._turn.fold if self._turn else None
                self._rated = _Rated(event, fold, fold.rating if fold else "")
            return
        event.stop()
        self.focus_input()
        self.query_one(Prompt).insert(text)

    def action_scroll(self, direction: str) -> None:
        conversation = self.query_one(Conversation)
        if direction == "up" and not conversation.scroll_y:
            conversation.want_earlier()  # also where all that is shown fits the view
        elif direction == "up":
            conversation.scroll_page_up(animate=False)
        elif direction == "down":
            conversation.scroll_page_down(animate=False)
        else:
            conversation.anchor()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in _WHILE_IT_RUNS:
            return self.live is not None and not (action == "add" and action in self.idle_actions)
        return True


def _introduction(beginning: Beginning, missing: Sequence[str], room: int) -> Content:
    """What to do first: fetch a model, add documents, or ask."""
    parts = []
    if missing:
        labels = {"model": "language model", "embedder": "embedder"}
        names = " and no ".join(labels[part] for part in missing)
        parts.append(Content(f"There is no {names} yet. F7 Models fetches one.\n\n").stylize("$warning"))
    from agent.documents.sample_library import is_sample

    filled = [one for one in beginning.collections if one.documents]
    if not filled:
        hint = "The library is empty. F3 Library adds documents; @path in a question reads a file first."
        return Content("").join([*parts, Content(hint)])
    parts.append(Content("Ask a question about your documents.\n\n").stylize("bold"))
    own = [one for one in filled if not is_sample(one)]
    note = "  (a sample, searched where it is named)" if own else ""
    lines = [
        f"  {one.name}  {counted(one.documents, 'document')}{note * (one not in own)}" for one in filled
    ]
    recent = [f"  {one_line(question, room)}" for question in beginning.history[: -_RECENT - 1 : -1]]
    if recent:
        lines += ["", "Asked recently (↑ brings them back, F10 opens the conversation):", *recent]
    elif examples := _examples(own):
        lines += ["", "For example:", *(f"  {one_line(question, room)}" for question in examples)]
    return Content("").join([*parts, Content("\n".join(lines))])


def _examples(own: Sequence[Collection]) -> list[str]:
    """Questions to begin with: what some documents are about, or the demo's where all are samples.

    The documents are of several kinds if there are: those of a series have titles that begin alike.
    """
    from agent.documents.sample_library import demo_question

    if not own:
        return [demo_question()]
    rows = zip_longest(*(collection.titles for collection in own))
    titles = [title for row in rows for title in row if title and any(map(str.isalpha, title))]
    kinds = {title.split()[0].casefold(): title for title in reversed(titles)}
    titles.sort(key=lambda title: title not in kinds.values())
    return [f"What is “{title}” about?" for title in titles[:_EXAMPLES]]
