"""The conversation: reading its turns from the store, showing them, and finding words in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tui.terminal import counted

if TYPE_CHECKING:
    from agent.run import Resumable
    from traces.records import Collection
    from traces.runs import Run
    from tui.app.engine import Engine
    from tui.run.exchange import Exchange
    from tui.run.fold import RunFold
    from tui.settings.settings import Settings


_HISTORY = 200  # earlier questions that ↑ brings back
AT_ONCE = 8  # turns of a session that are loaded at a time


LOOKING: Final = "Looking at your library …"
"""Shown until it is read."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """The state at the start."""

    settings: Settings
    collections: Sequence[Collection]
    everywhere: Sequence[str]  # names of those that a question searches that names none
    history: Sequence[str]  # earlier questions, oldest first
    unfinished: Sequence[Resumable]  # without those that the user cancelled
    scope: Sequence[str]  # the collections that the next question searches; all if empty


@dataclass(frozen=True, slots=True)
class SessionLoaded:
    """A session's latest turns, oldest first, one run each; ``earlier`` are the runs before them."""

    session: str
    folds: Sequence[RunFold]
    earlier: Sequence[Run] = ()


def load_beginning(engine: Engine, session: str) -> Beginning:
    """Read the state at the start, or of a session. Raises `BadSetting`, `StoreError`."""
    from agent.run import resumable
    from traces.library import Library
    from traces.runs import Runs
    from tui.ask.asking import scope_of
    from tui.run.live import everywhere

    settings, collections = engine.settings(), Library(engine.store).collections()
    recent = Runs(engine.store).search(limit=_HISTORY)
    history = list(dict.fromkeys(run.question for run in recent))
    return Beginning(
        settings,
        collections,
        everywhere(collections),
        history[::-1],
        [entry for entry in resumable(engine.store) if entry.why not in {"cancelled", "going on"}],
        scope_of(session, settings),
    )


def load_session(engine: Engine, session: str, except_run: str = "") -> SessionLoaded:
    """Read a session's latest turns, except the run ``except_run``. Raises `UnknownSession`."""
    from traces.runs import Runs, Sessions

    session_id = Sessions(engine.store).find(session).id
    runs = [run for run in Runs(engine.store).of_session(session_id) if run.id != except_run]
    return SessionLoaded(session_id, load_turns(engine, runs[-AT_ONCE:]), runs[:-AT_ONCE])


def load_turns(engine: Engine, runs: Sequence[Run]) -> list[RunFold]:
    """Read some turns of one session."""
    from traces.runs import Ratings
    from tui.run.fold import fold_of

    with engine.store.connect():
        folds, ratings = [fold_of(engine.store, run) for run in runs], Ratings(engine.store)
        for fold in folds:
            rated = ratings.of(fold.run_id)
            fold.rating = rated.rating if rated else ""
    return folds


def load_resumed(engine: Engine, run_id: str) -> tuple[SessionLoaded, RunFold, str, bool]:
    """Read a run to resume. Raises `UnknownRun`, `UnknownSession`.

    Returns:
        Its session without this run, its fold so far, the model it began with ("" for the current setting),
        and whether it may search the web.
    """
    from traces.runs import Runs
    from tui.ask.asking import model_of, web_of
    from tui.run.fold import fold_of

    run = Runs(engine.store).find(run_id)
    before = load_session(engine, run.session, except_run=run.id) if run.session else SessionLoaded("", ())
    return before, fold_of(engine.store, run), model_of(run) or "", web_of(run)


class Conversation(VerticalScroll, can_focus=True):
    """Scrolls with the answer while the user is at the end, and stays put otherwise."""

    HELP = """\
### The conversation

**↑ ↓**, **PgUp** and **PgDn** scroll; it follows what is written while you are at its end. **Tab** goes
through the answers: in one, **→** goes to the next citation and **Enter** opens its passage.
"""
    DEFAULT_CSS = """
    Conversation { height: 1fr; padding: 1 0 0 0; }
    Conversation:focus { border-left: outer $accent; }
    /* At least as high as the view: shorter content begins at the top, although the view is anchored. */
    Conversation #turns { height: auto; min-height: 100%; }
    Conversation #earlier { color: $foreground 65%; padding: 0 1 1 1; display: none; }
    Conversation #intro { padding: 1 2; color: $foreground 80%; }
    """

    @dataclass
    class EarlierWanted(Message):
        """The screen should read these earlier turns and show them above the others."""

        runs: Sequence[Run]

    def __init__(self) -> None:
        super().__init__()
        self._earlier: Sequence[Run] = ()
        self._words = ""  # searched for last
        self._match = -1
        self._mark: tuple[Static, Content, Content] | None = None  # its text without and with the mark

    def compose(self) -> ComposeResult:
        with Vertical(id="turns"):
            yield Static(id="earlier", markup=False)
            yield Static(LOOKING, id="intro", markup=False)

    def on_mount(self) -> None:
        self.anchor()

    def introduce(self, words: Content) -> None:
        """Say what to do first."""
        self.query_one("#intro", Static).update(words)

    def begin(self, question: str) -> Exchange:
        """Add a new turn at the end."""
        from tui.run.exchange import Exchange

        self.query_one("#intro").display = False
        exchange = Exchange(question)
        self.query_one("#turns").mount(exchange)
        self.anchor()
        return exchange

    def show_from_its_question(self, exchange: Exchange) -> None:
        """Show a turn that has ended from its beginning; stay put if the user has scrolled away."""
        # The view can be past the end of content that has just become shorter. Released only, the anchor
        # would be back as soon as the content fits.
        if self.scroll_y >= self.max_scroll_y:
            self.anchor(False)
            self.scroll_to(y=exchange.virtual_region.y, animate=False, force=True)

    async def open(self, folds: Sequence[RunFold], earlier: Sequence[Run] = ()) -> None:
        """Replace the current turns by a session's latest; ``earlier`` are read on demand."""
        await self.query("Exchange").remove()
        self._earlier = earlier
        self.query_one("#intro").display = not folds
        await self._put_above(folds)
        self.anchor()

    def want_earlier(self, *, everything: bool = False) -> None:
        """Ask for some or all of the earlier turns."""
        if self._earlier:
            count = len(self._earlier) if everything else AT_ONCE
            runs, self._earlier = self._earlier[-count:], self._earlier[:-count]
            self.post_message(self.EarlierWanted(runs))

    async def show_earlier(self, folds: Sequence[RunFold]) -> None:
        """Show earlier turns above; what is in view stays where it is."""
        height, position = self.virtual_size.height, self.scroll_y
        await self._put_above(folds)
        self.call_after_refresh(
            lambda: self.scroll_to(y=position + self.virtual_size.height - height, animate=False)
        )

    async def _put_above(self, folds: Sequence[RunFold]) -> None:
        from tui.run.exchange import Exchange

        exchanges = [Exchange(fold.question) for fold in folds]
        await self.query_one("#turns").mount_all(exchanges, after=self.query_one("#intro"))
        for exchange, fold in zip(exchanges, folds, strict=True):
            exchange.show(fold)
        line = self.query_one("#earlier", Static)
        count = len(self._earlier)
        line.display = bool(count)
        line.update(f"▴ {counted(count, 'earlier turn')}: scroll up here")

    @property
    def turns(self) -> Sequence[Exchange]:
        """The turns that are shown, oldest first."""
        from tui.run.exchange import Exchange

        return list(self.query(Exchange))

    @property
    def latest(self) -> Exchange | None:
        return self.turns[-1] if self.turns else None

    @property
    def latest_cited(self) -> Exchange | None:
        """The last turn that has citations, asks the user something, or offers what to do next."""
        turns = reversed(self.turns)
        return next((turn for turn in turns if turn.box or turn.has_citations or turn.has_offers), None)

    def find(self, words: str, by: int) -> tuple[int, int]:
        """Mark a match and scroll to it: the last one for new words, else ``by`` further, wrapping around.

        Returns its number, from 1, and the number of matches; 0, 0 if there is none.
        """
        from tui.library.passage import find_words

        if self._mark is not None:
            block, original, highlighted = self._mark
            if block.content is highlighted:  # else its text has been redrawn since
                block.update(original)
            self._mark = None
        places = [
            (block, span)
            for turn in self.turns
            for block in _texts(turn)
            for span in find_words(_content(block).plain, words)
        ]
        continues = words == self._words and 0 <= self._match < len(places)
        self._match = (self._match + by) % len(places) if continues else len(places) - 1
        self._words = words
        if not places:
            return 0, 0
        block, (start, end) = places[self._match]
        original = _content(block)
        highlighted = original.stylize("reverse bold", start, end)
        block.update(highlighted)
        self._mark = (block, original, highlighted)
        self.screen.scroll_to_widget(block)
        return self._match + 1, len(places)

    def watch_scroll_y(self, old: float, new: float) -> None:
        """Load more of the earlier turns at the very top."""
        super().watch_scroll_y(old, new)
        if new == 0 and old > 0:
            self.want_earlier()


def _texts(turn: Exchange) -> list[Static]:
    """The question and, once it is complete, the blocks of the answer; before that they still change."""
    blocks = list(turn.query_one("Answer").query(Static)) if turn.answer else []
    return [turn.query_one(".question", Static), *(block for block in blocks if _content(block).plain)]


def _content(block: Static) -> Content:
    return block.content if isinstance(block.content, Content) else Content("")
