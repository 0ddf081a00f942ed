"""The conversation: its turns, read from the store and shown, and words found in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from tui.app.keys import bindings

if TYPE_CHECKING:
    from agent.run import Resumable
    from traces.runs import Run
    from tui.app.engine import Engine
    from tui.run.exchange import Exchange
    from tui.run.fold import RunFold


_HISTORY = 200  # earlier questions that ↑ brings back


@dataclass
class Beginning(Message):
    """The state at the start: settings, collections, earlier questions, resumable runs."""

    model: str
    offline: bool
    collections: Sequence[tuple[str, int]]  # name, documents
    history: Sequence[str]  # oldest first
    unfinished: Sequence[Resumable]
    runs: int


@dataclass
class SessionLoaded(Message):
    """A session's latest turns, oldest first, one run each; and the runs before them."""

    session: str
    name: str
    folds: Sequence[RunFold]
    earlier: Sequence[Run] = ()


@dataclass
class TurnsLoaded(Message):
    """Earlier turns of a session, oldest first."""

    session: str
    folds: Sequence[RunFold]


@dataclass
class ResumeReady(Message):
    """A run to resume: its fold so far, and the model it began with ("" for the one that is set).

    ``before`` is its session without it; ``web``: whether it may search the web (None: as is set).
    """

    run_id: str
    before: SessionLoaded
    model: str
    web: bool | None
    fold: RunFold


def load_beginning(engine: Engine) -> Beginning:
    """Read the state at the start. Raises `BadSetting`, `StoreError`."""
    from agent.run import resumable
    from traces.library import Library
    from traces.runs import Runs
    from tui.runs.unfinished import offered

    settings = engine.settings()
    runs = Runs(engine.store)
    recent = runs.search(limit=_HISTORY)
    history = list(dict.fromkeys(run.question for run in recent))
    return Beginning(
        settings.model,
        not settings.web,
        [(c.name, c.documents) for c in Library(engine.store).collections()],
        history[::-1],
        offered(resumable(engine.store)),
        len(recent),
    )


def load_session(engine: Engine, session: str, but: str = "") -> SessionLoaded:
    """Read a session's latest turns, without the run ``but``. Raises `UnknownSession`."""
    from traces.runs import Runs
    from traces.sessions import Sessions

    with engine.store.connect():
        stored = Sessions(engine.store).find(session)
        runs = [run for run in Runs(engine.store).of_session(stored.id) if run.id != but]
        folds = [load_fold(engine, run) for run in runs[-AT_ONCE:]]
    return SessionLoaded(stored.id, stored.name, folds, runs[:-AT_ONCE])


def load_turns(engine: Engine, runs: Sequence[Run]) -> TurnsLoaded:
    """Read some turns of one session."""
    with engine.store.connect():
        return TurnsLoaded(runs[0].session, [load_fold(engine, run) for run in runs])


def load_resumed(engine: Engine, run_id: str) -> ResumeReady:
    """Read a run that is to be resumed. Raises `UnknownRun`, `UnknownSession`."""
    from traces.runs import Runs
    from tui.ask.asking import model_of, web_of

    run = Runs(engine.store).find(run_id)
    before = load_session(engine, run.session, but=run.id) if run.session else SessionLoaded("", "", ())
    return ResumeReady(run.id, before, model_of(run) or "", web_of(run), load_fold(engine, run))


def load_fold(engine: Engine, run: Run) -> RunFold:
    """A stored run, folded."""
    from traces.runs import Runs
    from tui.run.fold import Outcome, RunFold, events_of

    stored = Runs(engine.store).events(run.id)
    unfinished = "waiting" if run.status == "waiting" else "running"
    fold = RunFold(Outcome(unfinished=unfinished), run_id=run.id)
    fold.take_all(events_of(stored))
    fold.elapsed = stored[-1].elapsed if stored else 0.0
    return fold


AT_ONCE = 8
"""Turns of a session that are shown at first, and added each time more are wanted."""


class Conversation(VerticalScroll, can_focus=True):
    """Scrolls with the answer while the reader is at the end, and stays put otherwise."""

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

    @dataclass
    class EarlierWanted(Message):
        """These earlier turns are to be read and shown above the others."""

        runs: Sequence[Run]

    def __init__(self) -> None:
        super().__init__()
        self._earlier: Sequence[Run] = ()

    def compose(self) -> ComposeResult:
        with Vertical(id="turns"):
            yield Static(id="earlier", markup=False)
            yield Static(id="intro", markup=False)

    def on_mount(self) -> None:
        self.anchor()

    def introduce(self, words: Content) -> None:
        """Say what to do first."""
        self.query_one("#intro", Static).update(words)

    def begin(self, question: str) -> Exchange:
        """A new turn at the end."""
        from tui.run.exchange import Exchange

        self.query_one("#intro").display = False
        exchange = Exchange(question)
        self.query_one("#turns").mount(exchange)
        self.anchor()
        return exchange

    async def open(self, folds: Sequence[RunFold], earlier: Sequence[Run] = ()) -> None:
        """Show a session's latest turns in place of the current ones; ``earlier`` are read on demand."""
        await self.query("Exchange").remove()
        self._earlier = earlier
        self.query_one("#intro").display = not folds
        await self._put_above(folds)
        self.anchor()

    def want_earlier(self) -> None:
        """Ask for more of the earlier turns."""
        self._want(AT_ONCE)

    def want_all(self) -> None:
        """Ask for all of the earlier turns."""
        self._want(len(self._earlier))

    def _want(self, count: int) -> None:
        if self._earlier:
            wanted, self._earlier = self._earlier[-count:], self._earlier[:-count]
            self.post_message(self.EarlierWanted(wanted))

    async def show_earlier(self, folds: Sequence[RunFold]) -> None:
        """Show earlier turns; what is being read stays where it is."""
        height, at = self.virtual_size.height, self.scroll_y
        await self._put_above(folds)
        self.call_after_refresh(
            lambda: self.scroll_to(y=at + self.virtual_size.height - height, animate=False)
        )

    async def _put_above(self, folds: Sequence[RunFold]) -> None:
        from tui.run.exchange import Exchange

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
        from tui.run.exchange import Exchange

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


class FindBar(Input):
    """The line for the words; hidden until `open`. The screen searches when they change."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("find")
    HELP = """\
### Find in the conversation

Type words of a question or an answer. **Enter** and **↑** go to the place before, **↓** to the next one,
**Escape** back to the prompt.
"""
    DEFAULT_CSS = "FindBar, FindBar:focus { display: none; height: 3; border: round $accent; }"

    class Moved(Message):
        """Go on to another place: ``by`` 1 forwards, -1 backwards; 0 after the words have changed."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    class Closed(Message):
        """The user is done."""

    def __init__(self) -> None:
        super().__init__(placeholder="Words to find in the conversation")

    def open(self) -> None:
        """Show the line and take the keys."""
        self.display = True
        self.screen.set_focus(self)  # at once: what is typed next belongs here

    def tell(self, at: int, total: int) -> None:
        """Show which place of how many is marked; ``at`` begins with 1."""
        self.border_subtitle = (f"{at} of {total}" if total else "not found") if self.value.strip() else ""

    def watch_value(self, _value: str) -> None:
        """Search as the words are typed."""
        if self.display:
            self.post_message(self.Moved(0))

    def action_move(self, by: int) -> None:
        self.post_message(self.Moved(by))

    def action_close(self) -> None:
        self.display = False
        self.value = ""
        self.post_message(self.Closed())


class Finder:
    """The places of some words in the questions and answers that are shown; one of them is marked."""

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._words = ""
        self._at = -1
        self._marked: tuple[Static, Content, Content] | None = None  # text: before the mark, with it

    def find(self, words: str, by: int) -> tuple[int, int]:
        """Mark a place and scroll to it: the last one for new words, else ``by`` on, around the ends.

        Returns its number, from 1, and how many places there are; 0, 0 if none.
        """
        from tui.library.passage import find_words

        self.clear()
        places = [
            (block, span)
            for turn in self._conversation.turns
            for block in _texts(turn)
            for span in find_words(_content(block).plain, words)
        ]
        if not places:
            self._words, self._at = words, -1
            return 0, 0
        going_on = words == self._words and 0 <= self._at < len(places)
        self._at = (self._at + by) % len(places) if going_on else len(places) - 1
        self._words = words
        block, (start, end) = places[self._at]
        before = _content(block)
        marked = before.stylize("reverse bold", start, end)
        block.update(marked)
        self._marked = (block, before, marked)
        self._conversation.screen.scroll_to_widget(block)
        return self._at + 1, len(places)

    def clear(self) -> None:
        """Take the mark away, unless its text has been drawn anew since."""
        if self._marked is not None:
            block, before, marked = self._marked
            if block.content is marked:
                block.update(before)
        self._marked = None


def _texts(turn: Exchange) -> list[Static]:
    """The question and, once it is complete, the answer's blocks; one that is being written changes."""
    blocks = list(turn.query_one("Answer").query(Static)) if turn.answer else []
    return [turn.query_one(".question", Static), *(block for block in blocks if _content(block).plain)]


def _content(block: Static) -> Content:
    return block.content if isinstance(block.content, Content) else Content("")
