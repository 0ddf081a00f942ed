"""The line that tells where a replay is: position, time, speed, and what happened there in words."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.message import Message
from textual.widgets import Static

from tui.app.widgets.player import READING, Player, told
from tui.terminal import duration


class PlayerBar(Vertical, can_focus=True):
    """Two lines; research steps are marked on the track, and a click on it goes there."""

    HELP = """\
### The player

**Space** plays and pauses, **→** and **←** go one event on and back, `n` and `p` to the next research step
and the one before, **Home** and **End** to either end, `+` and `-` change the speed. Long waits are cut to
two seconds; the last speed lets each event stand as long as its words take to read.
"""
    DEFAULT_CSS = """
    PlayerBar { height: 2; padding: 0 1; background: $surface; }
    PlayerBar:focus { background-tint: $foreground 0%; }
    PlayerBar #player-words { color: $foreground 80%; text-wrap: nowrap; text-overflow: ellipsis; }
    """

    class Sought(Message):
        """The person wants to be at a position."""

        def __init__(self, position: int) -> None:
            super().__init__()
            self.position = position

    def __init__(self) -> None:
        super().__init__()
        self._player: Player | None = None
        self._playing = False
        self._track = (0, 1)  # column where it begins, columns

    def compose(self) -> ComposeResult:
        """Track and words."""
        yield Static(id="player-track", markup=False)
        yield Static(id="player-words", markup=False)

    def on_resize(self) -> None:
        """The track takes what is left of the line."""
        self._draw()

    def show(self, player: Player, *, playing: bool) -> None:
        """Tell where it is."""
        self._player, self._playing = player, playing
        self._draw()

    def on_click(self, event: Click) -> None:
        """Go to where the track was clicked."""
        begin, width = self._track
        column = event.x - self.styles.padding.left - begin
        if self._player is not None and event.y == 0 and 0 <= column < width:
            self.post_message(self.Sought(round(column / max(width - 1, 1) * len(self._player.events))))

    def _draw(self) -> None:
        player = self._player
        if player is None:
            return
        count = len(player.events)
        sign = "▶" if self._playing else "■" if player.over else "‖"
        before = f"{sign} {player.position:>{len(str(count))}}/{count} "
        speed = "reading" if player.speed == READING else f"{player.speed}×"
        after = f" {duration(player.elapsed)} of {duration(player.total)} · {speed}"
        width = max(4, self.content_size.width - len(before) - len(after))
        self._track = (len(before), width)
        here = _column(player.position, count, width)
        marks = {_column(step, count, width) for step in player.steps}
        cells = "".join(
            "●" if n == here else "┿" if n in marks else "━" if n < here else "─" for n in range(width)
        )
        track = Content.assemble(
            before, (cells[: here + 1], "$accent"), (cells[here + 1 :], "$foreground 50%"), after
        )
        self.query_one("#player-track", Static).update(track)
        words = told(player.last) if player.last is not None else "Before the beginning: Space plays."
        self.query_one("#player-words", Static).update(Content(words))


def _column(position: int, count: int, width: int) -> int:
    return round(position / max(count, 1) * (width - 1))
