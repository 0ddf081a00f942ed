"""Asking, and watching the run: from the typed text to the answer on the screen.

What shows a run is imported once there is one, so that the first frame need not wait for it; messages of
those widgets are therefore handled by the name of the method.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual import on
from textual.content import Content
from textual.widgets import Static

from traces.typed_path import existing_path
from tui.app.base import DeepScreen
from tui.app.failure import in_the_app
from tui.app.keys import ACTIONS, Action
from tui.app.offers import deepthink
from tui.app.work import in_background
from tui.ask.conversation import Conversation, ResumeReady, SessionLoaded, load_resumed
from tui.ask.prompt import Prompt
from tui.run.live import Begin, LiveRun, RunEnded, RunEvents, Steers
from tui.run.meters import Meters
from tui.terminal import one_line

if TYPE_CHECKING:
    from agent import events as ev
    from tui.app.engine import Engine
    from tui.run.asked import AskedBox
    from tui.run.exchange import Exchange
    from tui.run.fold import Part, RunFold


class RunBar(Static):
    """Each action of a run with its key; a click does it."""

    DEFAULT_CSS = """
    RunBar { height: 1; padding: 0 1; background: $surface; color: $foreground 85%; display: none; }
    RunBar.-on { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.auto_links = False
        self._paused = False

    def on_mount(self) -> None:
        self.redraw()

    def on_resize(self) -> None:
        self.redraw()

    def show_paused(self, paused: bool) -> None:
        """Call the first action by what it does now."""
        if paused != self._paused:
            self._paused = paused
            self.redraw()

    def redraw(self) -> None:
        """Draw the line."""
        for short in (False, True):
            line = Content("  ").join([self._piece(action, short=short) for action in ACTIONS["run"]])
            if line.cell_length <= self.size.width - 2:
                break
        self.update(line)

    def _piece(self, action: Action, *, short: bool) -> Content:
        key = deepthink(self).key_for(action)
        label = "Resume" if action.does == "pause" and self._paused else action.label
        label = label.split()[0] if short else label
        piece = Content(f"{key} {label.lower()}").stylize("bold $accent", 0, len(key))
        return piece.stylize(f"@click=screen.{action.does}")


_REFERENCE = re.compile(r"(?:^|(?<=\s))([#@])(\S+)")
_NAMED = 5  # files that cannot be read


@dataclass(frozen=True, slots=True)
class Typed:
    """A question with the collections (``#``), the paths (``@``) and the filters (``from:``) that it names.

    ``unknown`` are those it names that are not there: most likely mistyped, and nothing to go on from.
    """

    question: str
    collections: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()
    unknown: tuple[str, ...] = ()
    filters: tuple[tuple[str, str], ...] = ()


def read(text: str, known: frozenset[str]) -> Typed:
    """Take apart what was typed.

    Args:
        text: As it stands in the prompt.
        known: Names of collections. ``#1`` is part of the question, as is ``@`` before a word that is not
            written as a path.
    """
    collections: list[str] = []
    paths: list[Path] = []
    unknown: list[str] = []

    def taken(found: re.Match[str]) -> str:
        sign, word = found[1], found[2]
        if sign == "#" and word in known:
            collections.append(word)
            return ""
        if sign == "#" and known and word[0].isalpha():
            unknown.append(found[0])
        path = existing_path(word) if sign == "@" else None
        if path is not None:
            paths.append(path)
            return ""
        if sign == "@" and any(mark in word for mark in "/~"):
            unknown.append(found[0])
        return found[0]

    from agent.retrieval.filters import taken_from

    unfiltered, filters = taken_from(text)
    question = " ".join(_REFERENCE.sub(taken, unfiltered).split())
    return Typed(
        question,
        tuple(dict.fromkeys(collections)),
        tuple(dict.fromkeys(paths)),
        tuple(unknown),
        tuple(filters),
    )


def begin(
    engine: Engine,
    typed: Typed,
    session: str,
    *,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    cancelled: threading.Event,
) -> Begin:
    """Read what is to be read first, then what `agent.run.run` needs; for the thread of the run.

    Args:
        engine: Settings, store and embedder.
        typed: The question.
        session: Id of the session; "" begins one, and so does one that was deleted meanwhile.
        tell: Takes a few words about what is read.
        warn: Takes a sentence about what keeps nothing from being asked: a session that is gone, what in a
            folder cannot be read.
        cancelled: Ends the reading.

    Raises:
        BadFilter: a filter has a value that it cannot have.
        DeepthinkError: a file that is named, or all of a folder, cannot be read, or the settings cannot be
            used.
    """
    from agent import run as agent_run
    from agent.retrieval.filters import filters_of
    from tui.ask.asking import request
    from tui.library.intake import DEFAULT_COLLECTION

    settings = engine.settings()
    session = _still_there(engine, session, warn)
    collections = typed.collections
    if typed.paths:
        into = settings.collection or DEFAULT_COLLECTION
        _read_first(engine, typed.paths, into, tell, warn, cancelled)
        collections = tuple(dict.fromkeys([*collections, into])) if collections else ()
    return partial(
        agent_run.run,
        request(
            typed.question,
            settings,
            interactive=True,
            collections=collections,
            session=(session, ""),
            filters=filters_of(typed.filters),
        ),
    )


def _still_there(engine: Engine, session: str, warn: Callable[[str], None]) -> str:
    from traces.sessions import Sessions, UnknownSession

    try:
        return Sessions(engine.store).find(session).id if session else ""
    except UnknownSession:
        warn("The session was deleted; this question begins a new one.")
        return ""


def _read_first(
    engine: Engine,
    paths: tuple[Path, ...],
    into: str,
    tell: Callable[[str], None],
    warn: Callable[[str], None],
    cancelled: threading.Event,
) -> None:
    from agent.documents import ingest as ing
    from tui.library.intake import Intake, read_in

    named = {str(path.resolve()) for path in paths if not path.is_dir()}
    failed: list[ing.FileFailed] = []
    read = 0
    chosen = Intake(paths, (), into)
    events = read_in(chosen, engine.settings(), engine.store, engine.embedder(), cancelled)
    for event in events:
        if isinstance(event, ing.FileStarted):
            tell(f"reading {event.name}")
        elif isinstance(event, ing.PageRecognised):
            tell(f"recognising page {event.done_pages} of {event.total_pages}")
        elif isinstance(event, ing.FileDone):
            read += event.outcome != "removed"
        elif isinstance(event, ing.FileFailed):
            if event.source in named:
                raise event.error
            failed.append(event)
    if failed and not read:
        raise failed[0].error
    if failed:
        names = ", ".join(one_line(failure.name, 40) for failure in failed[:_NAMED])
        more = f" and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
        warn(f"Asked without what could not be read: {names}{more}.")


WHILE_IT_RUNS = frozenset({"pause", "finish", "skip", "add", "decide"})
"""Actions that are possible only during a run."""


class Watches(Steers, DeepScreen):
    """A screen with a conversation and one run at a time.

    Attributes:
        session: Id of the session that the next question belongs to; "" begins one.
        known: Names of the library's collections.
    """

    session: str = ""
    known: frozenset[str] = frozenset()
    _typed: str = ""

    def on_unmount(self) -> None:
        """Interrupt the run because the app ends; it can be resumed."""
        if self.live is not None:
            self.live.leave()
            if self.fold is not None and self.fold.run_id:
                self.deepthink.left.append(self.fold.run_id)

    @on(Prompt.Sent)
    def _sent(self, event: Prompt.Sent) -> None:
        if self.live is not None:
            self.notify(
                f"A run is in progress. {self.deepthink.key_of('run.add')} makes this one of its steps.",
                severity="warning",
            )
            self.query_one(Prompt).take_back(event.text)
            return
        self.ask(event.text)

    def ask(self, text: str) -> None:
        """Ask what was typed, as the next turn of the session."""
        typed = read(text, self.known)
        trouble = self._wrong_with(typed)
        if trouble:
            self.notify(trouble, severity="warning", markup=False)
            self.query_one(Prompt).take_back(text)
            return
        self._typed = text
        from tui.run.fold import RunFold

        def prepare(run: LiveRun) -> Begin:
            engine, session = self.deepthink.engine, self.session
            warn = partial(self.notify, severity="warning", timeout=10, markup=False)
            return begin(engine, typed, session, tell=run.tell, warn=warn, cancelled=run.steering.cancelled)

        self._start(typed.question, RunFold(), prepare)

    def _wrong_with(self, typed: Typed) -> str:
        """Why this is not asked, in a sentence; "" if nothing is wrong."""
        for word in typed.unknown:
            if word.startswith("@"):
                return f"There is no file or folder {word[1:]}."
            return f"No collection is called {word[1:]}; there are {', '.join(sorted(self.known))}."
        return "" if typed.question else "Write the question beside it."

    def on_asked_box_posed(self, event: AskedBox.Posed) -> None:
        """Focus a question of the run, unless the user is typing something else."""
        if self.exchange is None or self.exchange.question_box is not event.box:
            return  # it was taken away meanwhile
        if self.deciding or not self.query_one(Prompt).is_being_written:
            event.box.take_focus()
        else:
            key = self.deepthink.key_of("ask.citations")
            self.notify(f"{event.box.asked.question} {key} goes there.", title="The run asks", markup=False)

    async def open_session(self, loaded: SessionLoaded) -> None:
        """Show a session's latest turns in place of what is there; the next question belongs to it."""
        self.session, self._typed = loaded.session, ""
        self.fold = loaded.folds[-1] if loaded.folds else None
        conversation = self.query_one(Conversation)
        await conversation.open(loaded.folds, loaded.earlier)
        self.exchange = conversation.latest
        if self.fold is not None:
            self.run_begins()
            self.call_after_refresh(self.draw_all)
        else:
            self.query_one(Meters).clear_away()
            await self.run_is_gone()

    def resume(self, run_id: str) -> None:
        """Go on with a stored run, in its session."""
        load = partial(load_resumed, self.deepthink.engine, run_id)
        in_background(self, load, group="session", exclusive=True)

    @on(ResumeReady)
    async def _resume_ready(self, message: ResumeReady) -> None:
        if self.live is not None:
            self.notify("A run is in progress; resume the other when it has ended.", severity="warning")
            return
        if message.before.session != self.session:
            await self.open_session(message.before)
        fold = message.fold
        fold.outcome.finished = None
        self._typed = fold.outcome.question

        def prepare(_run: LiveRun) -> Begin:
            from agent import run as agent_run

            return partial(agent_run.resume, message.run_id, interactive=True)

        self._start(self._typed, fold, prepare, message.model, message.web)

    def _start(
        self,
        question: str,
        fold: RunFold,
        prepare: Callable[[LiveRun], Begin],
        model: str = "",
        web: bool | None = None,
    ) -> None:
        self.fold = fold
        self.exchange = self.query_one(Conversation).begin(question)
        self.live, self.deciding = LiveRun(self.deepthink.engine, prepare, model, web), False
        self.live.steering.teach(self.teaching)
        self.query_one(RunBar).add_class("-on")
        self.refresh_bindings()
        self.run_begins()
        self.live.start(self)

    def on_exchange_ready(self, event: Exchange.Ready) -> None:
        """What shows the run is composed, for which nothing that comes later can be waited."""
        if event.exchange is self.exchange:
            self.draw_all()

    def run_begins(self) -> None:
        """A run begins: to be shown."""

    async def run_is_gone(self) -> None:
        """No run is shown any more."""

    def draw_thinking(self, fold: RunFold, changed: frozenset[Part]) -> None:
        """What changed of a run's plan, evidence and decisions: to be shown."""

    def run_is_over(self, run_id: str) -> None:
        """A run has ended, and is stored."""

    def look_again(self) -> None:
        """What is stored may be other than before: to be read again."""

    @on(RunEvents)
    def _events(self, message: RunEvents) -> None:
        events = message.run.drain()
        if message.run is self.live:
            self._take(events)

    def _take(self, events: list[ev.Event]) -> None:
        assert self.fold is not None
        changed = self.fold.take_all(events)
        started = self.fold.outcome.started
        if started is not None and started.session:
            self.session = started.session
        self._draw(changed)

    def draw_all(self) -> None:
        """Redraw everything of the run."""
        from tui.run.fold import EVERYTHING

        self._draw(EVERYTHING)

    def _draw(self, changed: frozenset[Part]) -> None:
        fold, exchange = self.fold, self.exchange
        if fold is None or exchange is None or not exchange.is_mounted or not changed:
            return
        exchange.show(fold, changed)
        self.query_one(Meters).show(fold, changed)
        # As it was asked for: the run itself is paused only after what is under way.
        self.query_one(RunBar).show_paused(self.live.steering.paused if self.live else fold.paused)
        self.draw_thinking(fold, changed)

    @on(RunEnded)
    def _run_ended(self, message: RunEnded) -> None:
        if message.run is not self.live or self.fold is None or self.exchange is None:
            return
        self._take(message.run.drain())
        self.live = None
        self.query_one(RunBar).remove_class("-on")
        self.exchange.unask()
        self.refresh_bindings()
        prompt = self.query_one(Prompt)
        failure = message.failure
        cancelled = failure is not None and failure.error.kind == "cancelled"
        if failure is not None and not (cancelled and self.fold.over):
            error, fold = failure.error, self.fold
            way_out = in_the_app(error, self.deepthink.keys)
            text = f"{error.title}: {error.message} {way_out}"
            fold.failure = "Cancelled before anything was done." if cancelled else text
            fold.asked = None
            self.draw_all()
        if failure is not None and not cancelled:
            self.post_message(failure)
        if failure is not None:
            prompt.take_back(self._typed)
        if self.fold.run_id:
            self.run_is_over(self.fold.run_id)
        self.look_again()  # it may be resumable, and may have read documents

    def on_exchange_unasked(self) -> None:
        """Keys go to the prompt, unless they have somewhere else to go by now."""
        if self.focused is None:
            self.to_prompt()

    def on_asked_box_replied(self, event: AskedBox.Replied) -> None:
        """Hand the reply to the run."""
        if self.exchange is not None:
            self.exchange.unask()
        self.to_prompt()
        self.reply(event.reply)

    def to_prompt(self) -> None:
        """Keys go to the prompt from the next one on; `focus` would let those pass that wait already."""
        self.set_focus(self.query_one(Prompt))

    def action_back(self) -> None:
        """To the prompt; from there cancel the run, or clear what is written."""
        prompt = self.query_one(Prompt)
        if self.focused is not prompt:
            self.to_prompt()
        elif self.live is not None:
            self.cancel()
        else:
            prompt.clear_away()

    def action_add(self) -> None:
        self.query_one(Prompt).call_later(self._add)  # behind the keys that were typed before

    def _add(self) -> None:
        prompt = self.query_one(Prompt)
        text = " ".join(prompt.text.split())
        if self.live is None:
            return
        if not text:
            key = self.deepthink.key_of("run.add")
            self.notify(f"Type a step in the prompt, then press {key}.", severity="warning")
            return
        if why := self.why_no_decision():
            self.notify(why, severity="warning")
            return
        self.live.steering.add(text)
        prompt.remember(text)
        self.notify("Added to the plan.")

    def paused_changed(self, paused: bool) -> None:
        """Call the action by what it does now."""
        self.query_one(RunBar).show_paused(paused)

    def teaching_changed(self) -> None:
        """Say it where the decider is named."""
        meters = self.query_one(Meters)
        meters.teaching = self.teaching
        meters.redraw()
