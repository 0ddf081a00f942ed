"""A run in a worker thread, the user's actions on it, and the lines that show both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from textual.content import Content
from textual.dom import DOMNode
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget

from traces.records import WEB_COLLECTION
from tui.app.keys import ACTIONS, Action
from tui.app.reach import ask_screen, deepthink
from tui.app.work import Job, in_background
from tui.terminal import duration, one_line

if TYPE_CHECKING:
    import threading

    from agent import events as ev
    from traces import records
    from tui.app.engine import Engine
    from tui.run.exchange import Exchange
    from tui.run.fold import Part, RunFold


Begin = Callable[..., "Generator[ev.Event]"]
"""`agent.run.run` or `agent.run.resume` with everything but the parts of the engine filled in."""


class LiveRun(Job["ev.Event"]):
    def __init__(
        self,
        engine: Engine,
        prepare: Callable[[LiveRun], Begin],  # runs in the thread: settings may have to be loaded first
        model: str = "",  # that it began with; "" for the current setting
        web: bool | None = None,  # whether it may search the web; None for the current setting
    ) -> None:
        from agent.steering import Steering

        super().__init__(self._run_events)
        self.steering = Steering(self.cancel)
        self.engine = engine
        self._prepare = prepare
        self._model = model
        self._web = web

    def tell(self, words: str) -> None:
        """Report what happens before the run itself begins; call it from the run's thread."""
        from agent import events as ev

        self.put(ev.NodeProgress("", 0, words))

    def leave(self) -> None:
        """Interrupt the run because the app ends, and wait a moment; it can be resumed in any case."""
        self.steering.leave()
        super().leave()

    def _run_events(self, _cancel: threading.Event) -> None:
        from tui.assemble import run_parts

        engine = self.engine
        begin = self._prepare(self)
        settings = engine.settings()
        if self._web is not None:
            settings = settings.model_copy(update={"web": self._web})
        parts = {"embedder": engine.embedder(), "reader": engine.reader(), "planner": engine.planner()}
        parts = run_parts(parts, engine.store, settings)
        with (
            engine.chat(self._model) as chat,
            closing(begin(steering=self.steering, chat=chat, **parts)) as events,
        ):
            for event in events:
                self.put(event)


_ASKING = "The run is already asking you."
_WITHOUT_DECISIONS = frozenset({"direct", "single"})  # routes without a plan
_DECISIONS = frozenset({"decide", "add"})  # the actions that need another decision
_WHILE_ASKED = {
    "approve": frozenset({"pause", "skip", "finish"}) | _DECISIONS,
    "decide": frozenset({"pause", "skip", "decide"}),
    "clarify": frozenset({"pause", "skip"}) | _DECISIONS,
}
"""The actions that do nothing while the run waits for a reply, by what it asks about."""


class Steers(Screen[None]):
    """Actions on the current run; they have no effect without one."""

    live: LiveRun | None = None  # the current run
    fold: RunFold | None = None  # its fold, or that of the last run
    exchange: Exchange | None = None  # the turn that shows it
    teaching: bool = False  # the user takes each decision, in this run and later ones
    deciding: bool = False  # the user takes the next decision

    @property
    def asked(self) -> ev.Asked | None:
        """What the current run asks the user, and waits for."""
        return self.fold.unanswered if self.live is not None and self.fold is not None else None

    @property
    def idle_actions(self) -> frozenset[str]:
        """The actions on the run that would do nothing now."""
        idle = _WHILE_ASKED[self.asked.about] if self.asked is not None else frozenset[str]()
        if self.fold is not None and self.fold.routed is None:
            idle |= {"add"}  # there may be no plan to add it to
        return idle | _DECISIONS if self.why_no_decision() else idle

    def cancel(self) -> None:
        """End the run without an answer."""
        if self.live is not None:
            self.live.steering.cancel()
            if self.fold is not None:
                self.fold.cancelling = True
            self.notify("Cancelling; it can be resumed.")

    def action_pause(self) -> None:
        if self.live is None or self.fold is None:
            return
        steering = self.live.steering
        if steering.paused:
            steering.resume()
            self.notify("Resumed.")
        elif self.asked is not None:
            self.notify(_ASKING, severity="warning")
        else:
            steering.pause()
            self.notify("Pausing after this step.")

    def action_finish(self) -> None:
        from tui.run.words import ANSWERING

        if self.live is None:
            return
        if self.asked is not None and self.asked.about == "approve":
            self.notify("The run waits for your choice.", severity="warning")
        elif self.fold is not None and self.fold.node in ANSWERING:
            self.notify("Nothing is searched any more; the answer is on its way.", severity="warning")
        else:
            self.live.steering.finish()
            self.notify("Answering now, from what was found.")

    def action_skip(self) -> None:
        from tui.run.words import IN_STEP

        if self.live is None:
            return
        if self.fold is not None and self.fold.node in IN_STEP:
            self.live.steering.skip()
            self.notify(f"Step {self.fold.step} skipped.")
        else:
            self.notify("There is no step to skip right now.", severity="warning")

    def action_decide(self) -> None:
        if self.live is None:
            return
        if self.asked is not None:
            self.notify(_ASKING, severity="warning")
            return
        if why := self.why_no_decision():
            self.notify(why, severity="warning")
            return
        self.deciding = True
        self.live.steering.teach(True)
        self.notify("The run waits for you at its next decision.")

    def why_no_decision(self) -> str:
        """Why the run will take no further decision, in a sentence; "" if it may."""
        from tui.run.words import ANSWERING

        fold = self.fold
        if fold is None:
            return ""
        if fold.routed is not None and fold.routed.route in _WITHOUT_DECISIONS:
            return "This run makes no decisions: it answers in one go."
        return "This run has made its last decision." if fold.node in ANSWERING else ""

    def action_teach(self) -> None:
        self.teaching = not self.teaching
        if self.live is not None:
            self.live.steering.teach(self.teaching)
        self.notify(
            "Teaching: each decision waits for you." if self.teaching else "Automatic decisions again."
        )

    def reply(self, text: str) -> None:
        """Hand the user's reply to the run; it also takes a decision that they asked for."""
        if self.live is None:
            return
        self.live.steering.reply(text)
        if self.deciding:
            self.deciding = False
            self.live.steering.teach(self.teaching)


def a_run_goes_on(node: DOMNode) -> bool:
    screen = ask_screen(node)
    return isinstance(screen, Steers) and screen.live is not None


def load_anew(node: DOMNode) -> bool:
    """Load the models of the current settings; False during a run: then the next question loads them."""
    if a_run_goes_on(node):
        return False
    in_background(node.app, deepthink(node).engine.prepare, group="prepare")
    return True


_PARTS = {"meters", "status", "question"}
_GAP = "  ·  "
_MAX_NAMED = 3  # collections
_BESIDE_NAMES = 60  # cells of what stands beside their names


def everywhere(collections: Sequence[records.Collection]) -> list[str]:
    """The names of what a question searches that names no collection; reads the samples' folders."""
    from agent.documents.sample_library import without_samples

    filled = [collection for collection in collections if collection.documents]
    return [collection.name for collection in without_samples(filled)]


class Meters(Widget):
    """How the answer is made: model, collections, web, teaching, time."""

    DEFAULT_CSS = """
    Meters { height: 1; background: $panel; color: $foreground 85%; padding: 0 1; }
    """
    model: reactive[str] = reactive("")
    collections: reactive[Collection[str]] = reactive(())  # `everywhere`
    searched: reactive[Sequence[str]] = reactive(())  # by the run, or by the next question; all if empty
    filters: reactive[Sequence[str]] = reactive(())  # of the run, as written
    offline: reactive[bool] = reactive(True)
    teaching: reactive[bool] = reactive(False)

    def __init__(self, way_back: str = "") -> None:
        super().__init__()
        self._way_back = way_back  # what to do to search all collections again
        self._fold: RunFold | None = None
        self._started: ev.RunStarted | None = None

    def show(self, fold: RunFold, changed: frozenset[Part]) -> None:
        self._fold = fold
        if fold.started is not None and fold.started is not self._started:
            self._started = fold.started
            self.searched, self.filters = fold.started.collections, fold.started.filters
        if changed & _PARTS:
            self.refresh()

    def clear_away(self) -> None:
        self._fold, self.filters = None, ()
        self.refresh()

    def render(self) -> Content:
        """The line; if it is too long, the least important parts are left out."""
        started = self._fold.started if self._fold else None
        model = (started.chat_model if started else self.model).removeprefix("llama.cpp:")
        parts = [
            one_line(model, 40),
            self._scope(),
            one_line(" ".join(self.filters), 40),
            "web off" if self.offline else "web on",
            "teaching" if self.teaching else "",
            duration(self._fold.elapsed) if self._fold else "",
        ]
        parts = [part for part in parts if part]
        while len(_GAP.join(parts)) > self.content_size.width and len(parts) > 1:
            del parts[0]
        return Content(_GAP.join(parts))

    def _scope(self) -> str:
        """The collections that are searched, in words; "" if nothing is known about them."""
        library, searched = set(self.collections) - {WEB_COLLECTION}, self.searched
        if not searched or (library and library <= set(searched)):
            return "all your collections" if self.collections else ""
        more = f" and {len(searched) - _MAX_NAMED} more" if len(searched) > _MAX_NAMED else ""
        room = min(60, max(16, self.size.width - _BESIDE_NAMES))
        return f"only {one_line(', '.join(searched[:_MAX_NAMED]), room)}{more}{self._way_back}"


class RunBar(Widget):
    """The actions on a run with their keys; a click performs one."""

    DEFAULT_CSS = """
    RunBar { height: 1; padding: 0 1; background: $surface; color: $foreground 85%; display: none; }
    RunBar.-on { display: block; }
    """
    auto_links = reactive(False)
    paused: reactive[bool] = reactive(False)  # so that the first action is to resume
    idle: reactive[frozenset[str]] = reactive(frozenset())  # the actions that would do nothing

    def render(self) -> Content:
        idle = self.idle - {"pause"} if self.paused else self.idle
        actions = [one for one in ACTIONS["run"] if one.does not in idle]
        labels = ["Resume" if self.paused and one.does == "pause" else one.label for one in actions]
        words = [label.split()[0] for label in labels]
        short = [w if words.count(w) == 1 else label for w, label in zip(words, labels, strict=True)]
        for texts in (labels, short):
            line = Content("  ").join(map(self._piece, actions, texts))
            if line.cell_length <= self.content_size.width:
                break
        return line

    def _piece(self, action: Action, label: str) -> Content:
        key = deepthink(self).key_for(action.id)
        piece = Content(f"{key} {label.lower()}").stylize("bold $accent", 0, len(key))
        return piece.stylize(f"@click=screen.{action.does}")
