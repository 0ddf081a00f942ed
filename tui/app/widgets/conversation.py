"""The conversation: its latest turns, more of the earlier ones when they are wanted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

if TYPE_CHECKING:
    from traces.runs import Run
    from tui.app.fold import RunFold
    from tui.app.widgets.exchange import Exchange

AT_ONCE = 8
"""Turns of a session that are shown at first, and added each time more are wanted."""


class Conversation(VerticalScroll, can_focus=True):
    """Follows its end while the reader is there, and stays put while they are not."""

    HELP = """\
### The conversation

**↑ ↓**, **PgUp** and **PgDn** scroll; it follows what is written while you are at its end. **Tab** goes
through the answers: in one, **→** goes to the next citation and **Enter** opens its passage.
"""
    DEFAULT_CSS = """
    Conversation { height: 1fr; padding: 1 0 0 0; }
    Conversation:focus { border-left: outer $accent; }
    /* At least as high as the view: what is shorter than it begins at its top, though it is anchored. */
    Conversation #turns { height: auto; min-height: 100%; }
    Conversation #earlier { color: $foreground 65%; padding: 0 1 1 1; display: none; }
    Conversation #intro { padding: 1 2; color: $foreground 80%; }
    """

    class EarlierWanted(Message):
        """These turns, not read yet, are to be shown above those that are there."""

        def __init__(self, runs: Sequence[Run]) -> None:
            super().__init__()
            self.runs = runs

    def __init__(self) -> None:
        super().__init__()
        self._earlier: Sequence[Run] = ()

    def compose(self) -> ComposeResult:
        """What to do first, until something was asked."""
        with Vertical(id="turns"):
            yield Static(id="earlier", markup=False)
            yield Static(id="intro", markup=False)

    def on_mount(self) -> None:
        """Follow the end."""
        self.anchor()

    def introduce(self, words: Content) -> None:
        """Say what to do first."""
        self.query_one("#intro", Static).update(words)

    def begin(self, question: str) -> Exchange:
        """A new turn at the end."""
        from tui.app.widgets.exchange import Exchange

        self.query_one("#intro").display = False
        exchange = Exchange(question)
        self.query_one("#turns").mount(exchange)
        self.anchor()
        return exchange

    async def open(self, folds: Sequence[RunFold], earlier: Sequence[Run] = ()) -> None:
        """Show a session's latest turns in place of those that are there; ``earlier`` can be had later."""
        await self.query("Exchange").remove()
        self._earlier = earlier
        self.query_one("#intro").display = not folds
        await self._put_above(folds)
        self.anchor()

    def want_earlier(self) -> None:
        """Ask for more of the earlier turns."""
        if self._earlier:
            wanted, self._earlier = self._earlier[-AT_ONCE:], self._earlier[:-AT_ONCE]
            self.post_message(self.EarlierWanted(wanted))

    async def show_earlier(self, folds: Sequence[RunFold]) -> None:
        """Show earlier turns; what is being read stays where it is."""
        height, at = self.virtual_size.height, self.scroll_y
        await self._put_above(folds)
        self.call_after_refresh(
            lambda: self.scroll_to(y=at + self.virtual_size.height - height, animate=False)
        )

    async def _put_above(self, folds: Sequence[RunFold]) -> None:
        from tui.app.widgets.exchange import Exchange

        exchanges = [Exchange(fold.outcome.question) for fold in folds]
        await self.query_one("#turns").mount_all(exchanges, after=self.query_one("#intro"))
        for exchange, fold in zip(exchanges, folds, strict=True):
            exchange.show(fold)
        line = self.query_one("#earlier", Static)
        count = len(self._earlier)
        line.display = bool(count)
        line.update(
            Content(f"▴ {count} earlier turn{'s' * (count != 1)}: scroll up here, or “Earlier turns”")
        )

    @property
    def turns(self) -> Sequence[Exchange]:
        """Those that are shown, oldest first."""
        from tui.app.widgets.exchange import Exchange

        return list(self.query(Exchange))

    @property
    def latest(self) -> Exchange | None:
        """The last turn."""
        return self.turns[-1] if self.turns else None

    @property
    def latest_cited(self) -> Exchange | None:
        """The last turn whose answer has citations, or that asks something."""
        turns = reversed(self.turns)
        return next((turn for turn in turns if turn.question_box or turn.has_citations), None)

    @property
    def has_earlier(self) -> bool:
        """Whether turns are not shown yet."""
        return bool(self._earlier)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """At the very top more of the earlier turns come."""
        super().watch_scroll_y(old, new)
        if new == 0 and old > 0:
            self.want_earlier()
