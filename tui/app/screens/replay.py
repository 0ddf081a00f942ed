"""A stored run, event by event, with the widgets that showed it live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from agent import events as ev
from traces.runs import Run, Runs
from traces.store import Store
from tui.app.actions import bindings
from tui.app.fold import EVERYTHING, Part
from tui.app.screens.base import DeepScreen
from tui.app.widgets.decision_labels import LabelsChanged, drop_label, load_labels, store_label
from tui.app.widgets.decision_strip import DecisionStrip
from tui.app.widgets.evidence import EvidenceList
from tui.app.widgets.exchange import Exchange
from tui.app.widgets.meters import Meters
from tui.app.widgets.player import Player
from tui.app.widgets.player_bar import PlayerBar
from tui.app.widgets.run_panel import RunPanel
from tui.app.work import Failed, in_background
from tui.imported import told_by
from tui.outcome import events_of

_FRAME = 0.05  # seconds; events that are closer together are shown together


class ReplayScreen(DeepScreen):
    """Exchange, panel and meters of a run, drawn from the fold of a `Player`.

    Args:
        run_id: A stored run.
    """

    MODE: ClassVar[str] = "runs"
    PLACES: ClassVar[Sequence[str]] = ("replay", "strip")
    CSS_PATH = "replay.tcss"
    BINDINGS: ClassVar[list[BindingType]] = bindings("replay")
    HELP = """\
### Replay

The run as it went, from its stored events. **Space** plays and pauses; `n` and `p` go from one research
step to another. **Tab** goes to the answer, whose citations open their passages, and to the plan, the
evidence and the decisions, where you can say what a decision should have been.
"""

    @dataclass
    class Ready(Message):
        """The run and its events, with the seconds when they happened."""

        run: Run
        events: list[ev.Event]
        at: list[float]

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id
        self._run: Run | None = None
        self.player = Player((), ())
        self._timer: Timer | None = None  # while it plays
        self._answered = False  # whether an answer is on the screen

    def body(self) -> ComposeResult:
        """Answer, panel, player, meters."""
        with Container(id="replay"):
            yield VerticalScroll(id="replay-answer")
            yield RunPanel()
        yield Static("Reading the run …", id="replay-none", classes="empty")
        yield PlayerBar()
        yield Meters()

    def on_mount(self) -> None:
        """Read the run."""
        self.add_class("-none")
        store, run_id = self.deepthink.engine.store, self._run_id
        in_background(self, lambda: _read(store, run_id), group="replay")

    @on(Ready)
    async def _ready(self, message: Ready) -> None:
        self._run, self.player = message.run, Player(message.events, message.at)
        meters = self.query_one(Meters)
        meters.offline = not any(isinstance(e, ev.Corrected) and e.rung == "web" for e in message.events)
        self.remove_class("-none")
        await self._new_exchange()
        self.query_one(PlayerBar).focus()
        load_labels(self, self._run_id)
        self.player.seek(len(message.events))
        self._draw(EVERYTHING)
        self.refresh_bindings()

    @on(Failed)
    def _failed(self, message: Failed) -> None:
        if self._run is None:
            told = f"✗ The run cannot be read.\n\n{message.error.message}\n{message.error.way_out}"
            self.query_one("#replay-none", Static).update(Content(told))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """There is nothing to play before the run was read."""
        return True if action == "close" else self._run is not None

    # Where one is

    async def _go(self, position: int) -> None:
        changed = self.player.seek(position)
        # What is shown of an answer only ever grows; one that was not given yet needs a fresh page.
        if self._answered and self.player.fold.outcome.answered is None:
            await self._new_exchange()
        self._draw(changed)

    async def _new_exchange(self) -> None:
        page = self.query_one("#replay-answer")
        await page.remove_children()
        assert self._run is not None
        await page.mount(Exchange(self._run.question))
        self._answered = False

    def _draw(self, changed: frozenset[Part]) -> None:
        fold = self.player.fold
        if changed:
            self._answered = fold.outcome.answered is not None
            self.set_class(self._answered, "-answered")  # where it is narrow, the answer has more room then
            self.query_one(Exchange).show(fold, changed)
            self.query_one(RunPanel).show(fold, changed)
            self.query_one(Meters).show(fold, changed)
        self.query_one(PlayerBar).show(self.player, playing=self._timer is not None)

    async def action_step(self, by: int) -> None:
        """One event on or back."""
        self._pause()
        await self._go(self.player.position + by)

    async def action_part(self, by: int) -> None:
        """To the next research step, or the one before."""
        await self._go(self.player.part(by))
        self._play_on()

    async def action_ends(self, which: int) -> None:
        """To the beginning (0) or the end (1)."""
        await self._go(which * len(self.player.events))
        self._play_on()

    @on(PlayerBar.Sought)
    async def _sought(self, message: PlayerBar.Sought) -> None:
        await self._go(message.position)
        self._play_on()

    # Playing

    async def action_play(self) -> None:
        """Play, from the beginning if it is at the end; or pause."""
        if self._timer is not None:
            self._pause()
        else:
            if self.player.over:
                await self._go(0)
            self._wait()
        self._draw(frozenset())

    def action_speed(self, by: int) -> None:
        """Faster or slower."""
        self.player.faster(by)
        self._play_on()
        self._draw(frozenset())

    def _wait(self) -> None:
        self._timer = self.set_timer(max(_FRAME, self.player.wait()), self._next)

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _play_on(self) -> None:
        """Count the wait anew from where it is now, if it plays."""
        if self._timer is not None:
            self._timer.stop()
            self._wait()

    async def _next(self) -> None:
        position = self.player.within(_FRAME)
        if position >= len(self.player.events):
            self._timer = None
        await self._go(position)
        if self._timer is not None:
            self._wait()

    # What else can be done with it

    def action_export(self) -> None:
        """Write it to a file."""
        if self._run is not None:
            from tui.app.screens.export import ExportScreen

            self.app.push_screen(ExportScreen(self._run.id, self._run.question))

    def action_close(self) -> None:
        """Back to where one came from."""
        self.dismiss()

    @on(Exchange.PassageWanted)
    @on(EvidenceList.Opened)
    def _open_passage(self, message: Exchange.PassageWanted | EvidenceList.Opened) -> None:
        from tui.app.screens.passage import PassageScreen

        self.app.push_screen(PassageScreen.of(message.passage))

    @on(DecisionStrip.Labelled)
    def _labelled(self, message: DecisionStrip.Labelled) -> None:
        store_label(self, self._run_id, message.seq, message.action)

    @on(DecisionStrip.Unlabelled)
    def _unlabelled(self, message: DecisionStrip.Unlabelled) -> None:
        drop_label(self, self._run_id, message.seq)

    @on(LabelsChanged)
    def _show_labels(self, message: LabelsChanged) -> None:
        self.query_one(DecisionStrip).show_labels(message.labels, message.stored)


def _read(store: Store, run_id: str) -> ReplayScreen.Ready:
    runs = Runs(store)
    with store.connect():
        run = runs.find(run_id)
        stored = runs.events(run.id)
        decisions = [] if stored else runs.decisions(run.id)
    if not stored:
        told = told_by(run, decisions)
        return ReplayScreen.Ready(run, told, [float(second) for second in range(len(told))])
    return ReplayScreen.Ready(run, events_of(stored), [entry.elapsed for entry in stored])
