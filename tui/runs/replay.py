"""The replay of a stored run, event by event, with the widgets that showed it live.

`Player` holds the position and draws nothing.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from textual import on
from textual.app import ComposeResult
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from agent import events as ev
from traces.library import Library
from traces.runs import Run, Runs
from tui.app.base import DeepScreen
from tui.app.failure import failure_text
from tui.app.keys import bindings
from tui.app.reach import go_to_ask
from tui.app.work import Failed, in_background
from tui.run.exchange import Exchange, WaysOn
from tui.run.fold import EVERYTHING, Part, RunFold, stored_events
from tui.run.live import Meters, everywhere
from tui.run.panel import RunPanel
from tui.run.words import as_text, ending
from tui.runs.actions import RunState, run_state
from tui.terminal import duration

_MAX_WAIT = 1.0  # seconds: longer waits are shortened


class Player:
    """A position in the events of a run, and the fold up to there."""

    def __init__(self, events: Sequence[tuple[float, ev.Event]], run_id: str = "") -> None:
        self.events = [event for _, event in events]
        self._times = [seconds for seconds, _ in events]  # of work
        if self.events and isinstance(end := self.events[-1], ev.RunFinished):
            self._times = [min(seconds, end.seconds) for seconds in self._times]  # it was stored later
        waits = (min(max(0.0, after - before), _MAX_WAIT) for before, after in pairwise(self._times))
        self.clock = list(accumulate(waits, initial=0.0))  # when each is played, in seconds
        self._run_id = run_id
        self.position = 0  # the number of events that have happened
        self.fold = RunFold(run_id=run_id)  # after these
        self.steps = [
            n for n, event in enumerate(self.events, start=1) if isinstance(event, ev.StepStarted)
        ]

    @property
    def over(self) -> bool:
        return self.position >= len(self.events)

    @property
    def elapsed(self) -> float:
        """Seconds of the run until the position."""
        return self._times[self.position - 1] if self.position else 0.0

    @property
    def total(self) -> float:
        return self._times[-1] if self._times else 0.0

    @property
    def last_event(self) -> ev.Event | None:
        return self.events[self.position - 1] if self.position else None

    def seek(self, position: int) -> frozenset[Part]:
        """Go to a position, limited to the run, and return the parts of the view that change."""
        position = max(0, min(position, len(self.events)))
        if position == self.position:
            return frozenset()
        if position < self.position:
            self.fold = RunFold(run_id=self._run_id)
            self.fold.take_all(self.events[:position])
            changed = EVERYTHING
        else:
            changed = self.fold.take_all(self.events[self.position : position]) | {"meters"}
        self.position = position
        if not self.fold.over:  # heartbeats are not stored
            self.fold.elapsed = self.elapsed
        return changed

    def play(self, clock: float) -> frozenset[Part]:
        """Go to where it is after playing for ``clock`` seconds."""
        return self.seek(bisect_right(self.clock, clock))

    def step_position(self, by: int) -> int:
        """The position of the next research step (``by`` 1; else the end), or of the previous one (-1)."""
        if by > 0:
            return next((step for step in self.steps if step > self.position), len(self.events))
        return next((step for step in reversed(self.steps) if step < self.position), 0)


class PlayerBar(Widget, can_focus=True):
    """A track with the research steps marked, and the current event; a click on the track seeks."""

    HELP = """\
### The player

**Space** plays and pauses, **→** and **←** go one event forwards and back, `n` and `p` to the next and the
previous research step, **Home** and **End** to either end. Long waits are cut to a second.
"""
    DEFAULT_CSS = "PlayerBar { height: 2; padding: 0 1; background: $surface; }"

    @dataclass
    class Seek(Message):
        """The user seeks a position."""

        position: int

    def __init__(self) -> None:
        super().__init__()
        self._player: Player | None = None
        self._playing = False
        self._track = (0, 1)  # first column, width

    def show(self, player: Player, *, playing: bool) -> None:
        self._player, self._playing = player, playing
        self.refresh()

    def on_click(self, event: Click) -> None:
        begin, width = self._track
        column = event.x - self.styles.padding.left - begin
        if self._player is not None and event.y == 0 and 0 <= column < width:
            self.post_message(self.Seek(round(column / max(width - 1, 1) * len(self._player.events))))

    def render(self) -> Content:
        player = self._player
        if player is None:
            return Content("")
        count = len(player.events)
        sign = "▶" if self._playing else "■" if player.over else "‖"
        prefix = f"{sign} {player.position:>{len(str(count))}}/{count} "
        suffix = f" {duration(player.elapsed)} of {duration(player.total)}"
        width = max(4, self.content_size.width - len(prefix) - len(suffix))
        self._track = (len(prefix), width)
        current = _column(player.position, count, width)
        marks = {_column(step, count, width) for step in player.steps}
        cells = "".join(
            "●" if n == current else "┿" if n in marks else "━" if n < current else "─"
            for n in range(width)
        )
        track = Content.assemble(
            prefix, (cells[: current + 1], "$accent"), (cells[current + 1 :], "$foreground 50%"), suffix
        )
        event = player.last_event
        words = as_text(event) if event is not None else "Before the beginning: Space plays."
        if player.fold.finished is not None:
            words = f"end: {ending(player.fold)}, {duration(player.fold.elapsed)}"
        below = Content.styled(words, "$foreground 80%").truncate(self.content_size.width, ellipsis=True)
        return Content("\n").join([track, below])


def _column(position: int, count: int, width: int) -> int:
    return round(position / max(count, 1) * (width - 1))


_FRAME = 0.05  # seconds between two positions that are shown


class ReplayScreen(DeepScreen):
    """A stored run as it was shown, drawn from the fold of a `Player`."""

    MODE = "runs"
    PLACES = ("replay", "strip")
    CSS_PATH = "replay.tcss"
    BINDINGS = bindings("replay")
    HELP = """\
### Replay

The run as it happened, from its stored events. **Space** plays and pauses; `n` and `p` go to the next and
the previous research step. **Tab** goes to the answer, whose citations open their passages, and to the
plan, the evidence and the decisions, where you can say what a decision should have been.
"""

    def __init__(self, run_id: str) -> None:
        super().__init__()
        self._run_id = run_id
        self._run: Run | None = None
        self._state: RunState = ""
        self.player = Player(())
        self._timer: Timer | None = None  # while it plays
        self._played = 0.0  # seconds on the player's clock
        self._has_answer = False  # whether an answer is on the screen

    def body(self) -> ComposeResult:
        with Container(id="replay"):
            yield VerticalScroll(id="replay-answer")
            yield RunPanel()
        yield Static("Reading the run …", id="replay-none", classes="empty")
        yield PlayerBar()
        yield Meters()

    def on_mount(self) -> None:
        self.add_class("-none")
        store, run_id = self.deepthink.engine.store, self._run_id

        def read() -> tuple[Run, RunState, Player, list[str]]:
            run, names = Runs(store).find(run_id), everywhere(Library(store).collections())
            return run, run_state(store, run), Player(stored_events(store, run), run.id), names

        in_background(self, read, self._begin, group="replay")

    async def _begin(self, read: tuple[Run, RunState, Player, list[str]]) -> None:
        meters = self.query_one(Meters)
        self._run, self._state, self.player, meters.collections = read
        meters.offline = not any(
            isinstance(e, ev.Corrected) and e.rung == "web" for e in self.player.events
        )
        self.remove_class("-none")
        await self._new_exchange()
        self.query_one(PlayerBar).focus()
        self.player.seek(len(self.player.events))
        self._draw(EVERYTHING)
        self.refresh_bindings()

    @on(Failed)
    def _show_failure(self, message: Failed) -> None:
        if self._run is None:
            self.query_one("#replay-none", Static).update(failure_text(self, message.error))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "resume":
            return self._state == "resumable"
        if not hasattr(self, f"action_{action}"):
            return False  # the answer has keys for what only Ask does
        return True if action == "dismiss" else self._run is not None

    # The position

    async def _show(self, changed: frozenset[Part]) -> None:
        # An answer on the screen can only grow; before there is one, the page has to be new.
        if self._has_answer and self.player.fold.answered is None:
            await self._new_exchange()
        self._draw(changed)

    async def _new_exchange(self) -> None:
        page = self.query_one("#replay-answer")
        await page.remove_children()
        assert self._run is not None
        await page.mount(Exchange(self._run.question))
        self._has_answer = False

    def _draw(self, changed: frozenset[Part]) -> None:
        fold = self.player.fold
        if not self.query(Exchange):  # the screen was left while the run was read
            return
        if changed:
            self._has_answer = fold.answered is not None
            self.set_class(self._has_answer, "-answered")  # on a narrow screen, gives the answer more room
            self.query_one(Exchange).show(fold, changed)
            self.query_one(RunPanel).show(fold, changed)
            self.query_one(Meters).show(fold, changed)
        self.query_one(PlayerBar).show(self.player, playing=self._timer is not None)

    async def _move(self, position: int) -> None:
        """Go to a position, and play on from there if it plays."""
        await self._show(self.player.seek(position))
        self._played = self.player.clock[self.player.position - 1] if self.player.position else 0.0

    async def action_step(self, by: int) -> None:
        self._pause()
        await self._move(self.player.position + by)

    async def action_part(self, by: int) -> None:
        await self._move(self.player.step_position(by))

    async def action_ends(self, end: int) -> None:
        """Go to the beginning (0) or the end (1)."""
        await self._move(end * len(self.player.events))

    @on(PlayerBar.Seek)
    async def _seek(self, message: PlayerBar.Seek) -> None:
        await self._move(message.position)

    # Playing

    async def action_play(self) -> None:
        """Play, from the beginning if it is at the end; or pause."""
        if self._timer is not None:
            self._pause()
        else:
            if self.player.over:
                await self._move(0)
            self._timer = self.set_interval(_FRAME, self._play_on)
        self._draw(frozenset())

    def _pause(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    async def _play_on(self) -> None:
        self._played += _FRAME
        changed = self.player.play(self._played)
        if self.player.over:
            self._pause()
        await self._show(changed)

    # Other actions

    async def action_resume(self) -> None:
        self.dismiss()  # it shows the run only as far as it went
        (await go_to_ask(self)).resume(self._run_id)

    async def on_ways_on_chosen(self, event: WaysOn.Chosen) -> None:
        (await go_to_ask(self)).on_ways_on_chosen(event)
