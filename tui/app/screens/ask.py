"""Ask: the conversation, the thinking beside it, the prompt beneath."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from tui.app.actions import bindings
from tui.app.answering import Answers
from tui.app.beginning import Begins
from tui.app.conversations import (
    SessionLoaded,
    TurnsLoaded,
    load_session,
    load_turns,
)
from tui.app.messages import AlreadyHere, StoreChanged
from tui.app.watching import WHILE_IT_RUNS
from tui.app.widgets.conversation import Conversation
from tui.app.widgets.meters import Meters
from tui.app.widgets.prompt import Prompt, PromptBox
from tui.app.widgets.run_bar import RunBar
from tui.app.work import in_background

if TYPE_CHECKING:
    from tui.app.fold import Part, RunFold
    from tui.app.widgets.decision_labels import LabelsChanged
    from tui.app.widgets.decision_strip import DecisionStrip
    from tui.app.widgets.evidence import EvidenceList, Passage
    from tui.app.widgets.exchange import Exchange

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
        """Conversation and thinking side by side, the rest beneath."""
        with Horizontal(id="upper"):
            yield Conversation()
            yield Vertical(id="thinking")
        yield Static(id="offer", markup=False)
        yield Meters()
        yield RunBar()
        yield PromptBox()

    def on_mount(self) -> None:
        """Keys go to the prompt at once; what is stored is read behind it."""
        self.query_one(Prompt).focus()

    # --- sessions --------------------------------------------------------------------------------

    def action_sessions(self) -> None:
        """Choose a session to go on with."""
        from tui.app.screens.sessions import SessionsScreen

        window = SessionsScreen()

        def chosen(session: str | None) -> None:
            gone = session is None and self.session in window.deleted
            self._session_chosen("" if gone else session)

        self.app.push_screen(window, chosen)

    def _session_chosen(self, session: str | None) -> None:
        if session is None or self._a_run_goes_on():
            return
        if session:
            load = partial(load_session, self.deepthink.engine, session)
            in_background(self, load, group="session", exclusive=True)
        else:
            self.post_message(SessionLoaded("", "", ()))

    def _a_run_goes_on(self) -> bool:
        """Whether the session cannot be changed now, which is told."""
        if self.live is not None:
            self.notify("A run goes on; change the session when it has ended.", severity="warning")
        return self.live is not None

    def action_new_session(self) -> None:
        """Start a new conversation."""
        self._session_chosen("")

    @on(SessionLoaded)
    async def _session_loaded(self, message: SessionLoaded) -> None:
        if not self._a_run_goes_on():  # one may have begun while the session was read
            await self.open_session(message)

    def action_older(self) -> None:
        """Show more of the session's earlier turns."""
        self.query_one(Conversation).want_earlier()

    @on(Conversation.EarlierWanted)
    def _read_earlier(self, message: Conversation.EarlierWanted) -> None:
        in_background(self, partial(load_turns, self.deepthink.engine, message.runs), group="earlier")

    @on(TurnsLoaded)
    async def _earlier_read(self, message: TurnsLoaded) -> None:
        if message.session == self.session:  # another may have been opened meanwhile
            await self.query_one(Conversation).show_earlier(message.folds)

    def action_citations(self) -> None:
        """Go to what is asked, or to the last answer, at its first citation."""
        conversation = self.query_one(Conversation)
        exchange = conversation.latest_cited or conversation.latest
        if exchange is None:
            self.notify("There is no answer yet.")
        else:
            exchange.go_to_citations()

    # --- the thinking ----------------------------------------------------------------------------

    def run_begins(self) -> None:
        """The thinking of a live run is shown beside the conversation where there is room for it."""
        from tui.app.widgets.run_panel import RunPanel

        self.query_one("#offer").display = False
        self.set_class(self.live is not None and self.has_class("-wide") and self._watching, "-thinking")
        place = self.query_one("#thinking")
        if not place.query(RunPanel):
            place.mount(RunPanel())

    async def run_is_gone(self) -> None:
        """There is no thinking to be shown, and on a narrow screen the conversation is."""
        self.remove_class("-thinking")
        self.to_prompt()
        await self.query("RunPanel").remove()

    def draw_thinking(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """What changed of it."""
        from tui.app.widgets.run_panel import RunPanel

        for panel in self.query(RunPanel):
            panel.show(fold, changed)

    def run_is_over(self, run_id: str) -> None:
        """The answer has the screen, unless somebody is at the thinking; decisions they took are labels."""
        from tui.app.widgets.decision_labels import load_labels

        if not self.query_one("#thinking").has_focus_within:
            self.remove_class("-thinking")
        load_labels(self, run_id)

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
        from tui.app.widgets.run_panel import RunPanel

        if self.query_one("#thinking").display:
            self.query_one(RunPanel).focus_first()

    def on_evidence_list_opened(self, event: EvidenceList.Opened) -> None:
        """Open a passage that was found."""
        self._open_passage(event.passage)

    def on_exchange_passage_wanted(self, event: Exchange.PassageWanted) -> None:
        """Open a passage that is cited."""
        self._open_passage(event.passage)

    def _open_passage(self, passage: Passage) -> None:
        from tui.app.screens.passage import PassageScreen

        self.app.push_screen(PassageScreen.of(passage))

    def on_decision_strip_answered(self, event: DecisionStrip.Answered) -> None:
        """The run asked for a decision, and got it in the strip."""
        if self.live is not None:
            self.live.steering.reply(event.action)

    def on_decision_strip_labelled(self, event: DecisionStrip.Labelled) -> None:
        """Keep what a decision should have been."""
        from tui.app.widgets.decision_labels import store_label

        if self.fold is not None:
            store_label(self, self.fold.run_id, event.seq, event.action)

    def on_decision_strip_unlabelled(self, event: DecisionStrip.Unlabelled) -> None:
        """Take it back."""
        from tui.app.widgets.decision_labels import drop_label

        if self.fold is not None:
            drop_label(self, self.fold.run_id, event.seq)

    def on_labels_changed(self, event: LabelsChanged) -> None:
        """Show the labels as they are stored."""
        from tui.app.widgets.decision_strip import DecisionStrip

        if self.fold is not None and event.run_id == self.fold.run_id:
            for strip in self.query(DecisionStrip):
                strip.show_labels(event.labels, event.stored)

    # --- the frame -------------------------------------------------------------------------------

    @on(StoreChanged)
    def _store_changed(self) -> None:
        self.look_again()

    @on(AlreadyHere)
    def _already_here(self) -> None:
        self.to_prompt()

    def on_key(self, event: events.Key) -> None:
        """What is typed where nothing can be typed is meant for the prompt."""
        reading = self.focused is None or type(self.focused).__name__ in _READ_ONLY
        bound = event.key in self.active_bindings
        if reading and not bound and event.is_printable and event.character is not None:
            event.stop()
            self.to_prompt()
            self.query_one(Prompt).insert(event.character)

    def action_scroll(self, where: str) -> None:
        """Scroll the conversation from wherever one is."""
        conversation = self.query_one(Conversation)
        if where == "up":
            conversation.scroll_page_up(animate=False)
        elif where == "down":
            conversation.scroll_page_down(animate=False)
        else:
            conversation.anchor()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What is possible now."""
        if action in WHILE_IT_RUNS:
            return self.live is not None
        if action in {"new_session", "retry"}:
            return self.live is None
        if action == "older":
            return self.query_one(Conversation).has_earlier
        return True
