"""Decisions: those of one run, what the decider saw at each, and what the person says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container
from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from tui.app.actions import bindings
from tui.app.fold import EVERYTHING, RunFold
from tui.app.screens.base import DeepScreen
from tui.app.steering import Steers
from tui.app.widgets.decision_detail import DecisionDetail
from tui.app.widgets.decision_labels import LabelsChanged, drop_label, load_labels, store_label
from tui.app.widgets.decision_runs import RunRead, RunsListed, heading, list_runs, older, read_run
from tui.app.widgets.decision_strip import DecisionStrip
from tui.app.work import Failed

if TYPE_CHECKING:
    from traces.runs import Run, RunSummary

_LOOK_SECONDS = 0.4  # how often a live run is looked at; nothing is drawn unless it has come further

_EMPTY = """\
Whenever a run has finished a step of its plan it decides:

→ CONTINUE   take the next step
↻ REVISE     plan what is left anew
■ FINISH     answer from what was found

Each decision is kept with everything it was taken from, and shown here.
Press {ask} and ask something that takes more than one step.
"""


class DecisionsScreen(DeepScreen):
    """The run that goes on or was the last, else the newest stored one; the others by key."""

    MODE: ClassVar[str] = "decisions"
    PLACES: ClassVar[tuple[str, ...]] = ("decisions",)
    BINDINGS: ClassVar[list[BindingType]] = bindings("decisions")
    CSS_PATH = "decisions.tcss"
    AUTO_FOCUS: ClassVar[str | None] = ""  # what would have the focus may not be shown
    HELP = """
### Decisions

The decisions of one run, and beside them what the decider saw, why it decided so, and what another source
would have done.

- **[** and **]** go to the run before or after.
- **1 2 3** say what the decision under the cursor should have been: CONTINUE, REVISE, FINISH.
  **Backspace** takes it back. These labels are what a policy learns from, together with the outcomes.
- **t** turns *teach mode* on or off: a live run then waits at each decision until you take it, here with
  **1 2 3** on the last row, or on the Ask screen.
- **u** reads the stored runs again. **Tab** goes between the decisions and their details.
"""

    def __init__(self) -> None:
        super().__init__()
        self._stored: list[RunSummary] | None = None
        self._seen = 0
        self._complete = False
        self._shown = ""  # id of the run that is shown
        self._wanted = ""  # of the one that is being read
        self._asked_for = ""  # of the live run that was jumped to
        self._fold: RunFold | None = None
        self._run: Run | None = None
        self._drawn: tuple[object, ...] = ()
        self._timer: Timer | None = None

    def body(self) -> ComposeResult:
        """The run, its decisions, the one under the cursor."""
        yield Static(id="run")
        yield Static(id="told", classes="empty")
        with Container(id="both"):
            yield DecisionStrip(id="strip")
            yield DecisionDetail(id="detail")

    def on_mount(self) -> None:
        """Read what is stored; a live run is looked at now and then while this screen is."""
        self._tell("Reading the stored runs …")
        self._timer = self.set_interval(_LOOK_SECONDS, self._look, pause=True)
        list_runs(self, self.deepthink.engine.store)

    @on(events.ScreenResume)
    def _resumed(self) -> None:
        if self._timer is not None:
            self._timer.resume()
        if self._stored is not None:  # some have come, and some may be gone
            since = self._stored[-1].started if self._stored else None
            list_runs(self, self.deepthink.engine.store, since=since)
        self._look()

    @on(events.ScreenSuspend)
    def _suspended(self) -> None:
        if self._timer is not None:
            self._timer.pause()

    def show_run(self, run_id: str) -> None:
        """Show a run of that id, live or stored."""
        live = self._ask_fold()
        if live is not None and live.run_id == run_id:
            self._take(live, None)
            load_labels(self, run_id)
        else:
            self._wanted = run_id
            read_run(self, self.deepthink.engine.store, run_id)

    # --- the run of the main screen ------------------------------------------------------------

    def _asking(self) -> Steers | None:
        """The screen on which a run goes on, if it was opened."""
        try:
            (first, *_) = self.app.get_screen_stack("ask")
        except (KeyError, ValueError):
            return None
        return first if isinstance(first, Steers) else None

    def _ask_fold(self) -> RunFold | None:
        """The live or last run there, once it is known by its id and has something to show."""
        asking = self._asking()
        fold = asking.fold if asking is not None else None
        if fold is None or not fold.run_id or (fold.over and not fold.outcome.decisions):
            return None
        return fold

    def _look(self) -> None:
        fold = self._ask_fold()
        if fold is None:
            return
        if fold.run_id != self._asked_for:
            self._asked_for = fold.run_id
            self.show_run(fold.run_id)
        elif fold.run_id == self._shown and self._state_of(fold) != self._drawn:
            before = len(self._fold.outcome.decisions) if self._fold is fold else 0
            self._take(fold, None)
            if fold.over or before != len(fold.outcome.decisions):
                load_labels(self, fold.run_id)

    def _state_of(self, fold: RunFold) -> tuple[object, ...]:
        asking = self._asking()
        teaching = asking is not None and asking.teaching
        return (id(fold), len(fold.outcome.decisions), fold.asked, fold.over, fold.paused, teaching)

    # --- what is stored --------------------------------------------------------------------------

    @on(RunsListed)
    def _listed(self, message: RunsListed) -> None:
        before = (self._stored or []) if message.first else []
        more = older(message.runs, before)
        self._stored = [*before, *more]
        self._seen, self._complete = message.seen, message.complete
        self._show_heading()
        if not message.first:
            self._show_newest()
        elif more:
            self.show_run(more[0].id)
        elif self._complete:
            self.notify("There is no older run with decisions.")
        else:
            list_runs(self, self.deepthink.engine.store, self._seen)

    def _show_newest(self) -> None:
        if self._shown:
            return
        if self._stored:
            self.show_run(self._stored[0].id)
        elif self._ask_fold() is None:
            self._tell("No decisions yet", _EMPTY.format(ask=self.deepthink.key_of("app.ask") or "f2"))

    @on(RunRead)
    def _read(self, message: RunRead) -> None:
        if message.run.id == self._wanted:
            self._take(message.fold, message.run)
            self.query_one(DecisionStrip).show_labels(message.labels)

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if not self._shown:  # what goes wrong later is told by the app, and what is shown stays
            error = message.error
            self._stored = None
            again = f"{self.deepthink.key_of('decisions.reload') or 'u'} reads again."
            self._tell(
                f"✗ {error.title}", "\n".join(filter(None, (error.message, error.way_out, f"\n{again}")))
            )

    def _take(self, fold: RunFold, run: Run | None) -> None:
        self._fold, self._run = fold, run
        self._shown = self._wanted = fold.run_id
        self._drawn = self._state_of(fold)
        self.query_one("#told").display = False
        self.query_one("#both").display = True
        strip = self.query_one(DecisionStrip)
        strip.show(fold, EVERYTHING)
        self._show_heading()
        if self.focused is None:
            strip.focus()
        self.refresh_bindings()

    def _tell(self, title: str, text: str = "") -> None:
        style = "bold $error" if title.startswith("✗") else "bold $primary"
        told = self.query_one("#told", Static)
        told.update(Content.assemble((title, style), "\n\n", text))
        told.display = True
        self.query_one("#both").display = False
        self.query_one("#run", Static).update("")
        self.refresh_bindings()

    def _show_heading(self) -> None:
        fold = self._fold
        if fold is not None:
            asking = self._asking()
            live = asking is not None and fold is asking.fold and not fold.over
            teaching = live and asking is not None and asking.teaching
            told = heading(fold, self._run, live=live, teaching=teaching, place=self._place())
            self.query_one("#run", Static).update(told)

    def _place(self) -> str:
        order = self._order()
        if len(order) < 2 or self._shown not in order:
            return ""
        return f"run {order.index(self._shown) + 1} of {len(order)}{'' if self._complete else '+'}"

    def _order(self) -> list[str]:
        """Ids of the runs that can be gone to, newest first."""
        known = [run.id for run in self._stored or ()]
        fold = self._ask_fold()
        return [fold.run_id, *known] if fold is not None and fold.run_id not in known else known

    # --- what a person does ----------------------------------------------------------------------

    def action_run(self, newer: int) -> None:
        """Go to the run before (-1) or after (1)."""
        order = self._order()
        if not order:
            return
        at = order.index(self._wanted) if self._wanted in order else 0
        to = at - newer
        if 0 <= to < len(order):
            self.show_run(order[to])
        elif to < 0:
            self.notify("This is the newest run.")
        elif self._complete:
            self.notify("There is no older run with decisions.")
        else:
            list_runs(self, self.deepthink.engine.store, self._seen)

    def action_teach(self) -> None:
        """Be asked at each decision, or no more."""
        asking = self._asking()
        if asking is not None:
            asking.action_teach()
            self._look()

    def action_reload(self) -> None:
        """Read the stored runs again, from the newest."""
        self._stored, self._seen, self._complete = None, 0, False
        self._shown = self._wanted = self._asked_for = ""
        self._fold = self._run = None
        self._tell("Reading the stored runs …")
        list_runs(self, self.deepthink.engine.store)
        self._look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Runs can be changed once there are some; teaching needs the main screen."""
        if action == "run":
            return True if self._shown else None
        if action == "teach":
            return True if self._asking() is not None else None
        return True

    @on(DecisionStrip.Moved)
    def _moved(self, message: DecisionStrip.Moved) -> None:
        self.query_one(DecisionDetail).show(message.row)

    @on(DecisionStrip.Labelled)
    def _labelled(self, message: DecisionStrip.Labelled) -> None:
        store_label(self, self._shown, message.seq, message.action)

    @on(DecisionStrip.Unlabelled)
    def _unlabelled(self, message: DecisionStrip.Unlabelled) -> None:
        drop_label(self, self._shown, message.seq)

    @on(DecisionStrip.Answered)
    def _answered(self, message: DecisionStrip.Answered) -> None:
        asking = self._asking()
        if asking is not None and asking.live is not None and self._fold is self._ask_fold():
            asking.live.steering.reply(message.action)

    @on(LabelsChanged)
    def _labels(self, message: LabelsChanged) -> None:
        if message.run_id == self._shown:
            self.query_one(DecisionStrip).show_labels(message.labels, message.stored)
