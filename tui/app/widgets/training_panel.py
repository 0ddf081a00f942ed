"""A training under way, or what came of the last one: phases, bar, plots, verdict, data sheet."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from tui.app.training_fold import TrainingFold
from tui.app.training_job import TrainingEnded, TrainingJob, TrainingTold, Wish
from tui.app.widgets.fact_lines import facts, titled
from tui.app.widgets.training_plot import TrainingPlots
from tui.app.widgets.training_words import Keys, doing, outcome, standing
from tui.app.work import Failed

_REDRAW = 0.25  # seconds between two pictures
_SILENT = 10.0  # seconds of a phase after which its length is told: silence looks like a hang


class TrainingPanel(VerticalScroll, can_focus=True):
    """Shows one training after the other; the last one stays until it is put away.

    Attributes:
        job: The training under way, or the last one; None while there was none.
        running: Whether it goes on.
        fold: What is known of it.
        failure: What it raised.
    """

    HELP = """\
### A training

The loss falls as it learns; what counts is the plot beside it, the utility on held-out questions, which has
to rise above the default schedule's. At the end the gate applies a rule that was stated before. You can go
to any other screen meanwhile; leaving the app stops it, and the same training goes on from where it was.
"""
    DEFAULT_CSS = """
    TrainingPanel { height: 1fr; padding: 0 1; scrollbar-gutter: stable; }
    TrainingPanel > Static { height: auto; margin-bottom: 1; }
    TrainingPanel TrainingPlots { margin-bottom: 1; }
    """

    class Changed(Message):
        """It began, came further or ended."""

        def __init__(self, *, ended: bool = False) -> None:
            super().__init__()
            self.ended = ended

    def __init__(self, keys: Callable[[], Keys], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self.job: TrainingJob | None = None
        self.running = False
        self.fold = TrainingFold()
        self.failure: Failed | None = None
        self._keys = keys
        self._phase, self._since = ("", ""), 0.0
        self._drawing: Timer | None = None

    def compose(self) -> ComposeResult:
        """What is going on, what came of it, the plots, what is learned from."""
        yield Static(id="standing")
        yield Static(id="outcome")
        yield TrainingPlots()
        yield Static(id="sheet")

    def on_mount(self) -> None:
        """While nothing is told, time still passes."""
        self.set_interval(1.0, self._tick)

    def begin(self, wish: Wish) -> None:
        """Start a training."""
        self.job, self.fold, self.failure = TrainingJob(wish), TrainingFold(), None
        self.running = True
        self._phase, self._since = ("", ""), time.monotonic()
        self.scroll_home(animate=False)
        self._draw()
        self.job.start(self)
        self.post_message(self.Changed())

    def stop(self) -> None:
        """Stop after the step under way."""
        if self.job is not None:
            self.job.cancel.set()
        self._draw()
        self.post_message(self.Changed())

    def put_away(self) -> None:
        """Forget the one that is over."""
        if not self.running:
            self.job = None

    @property
    def stopping(self) -> bool:
        """Whether it was asked to stop."""
        return self.job is not None and self.job.cancel.is_set()

    @property
    def sign(self) -> str:
        """How it goes, in a word; "" while there is none."""
        if self.job is None:
            return ""
        if self.running:
            return f"▸ {doing(self.fold)}"
        if self.failure is not None and self.failure.error.kind == "cancelled":
            return "■"
        return "✓" if self.fold.verdict is not None and self.fold.verdict.passed else "✗"

    def on_unmount(self) -> None:
        """The app is left; the same training goes on from where it was."""
        if self.job is not None and self.running:
            self.job.leave()

    def on_resize(self) -> None:
        """Bars and columns are as wide as there is room."""
        self._draw()

    @on(TrainingTold)
    def _told(self, message: TrainingTold) -> None:
        message.stop()
        if self._drawing is None and message.job is self.job:
            self._drawing = self.set_timer(_REDRAW, self._catch_up)

    def _catch_up(self) -> None:
        self._drawing = None
        if self.job is not None:
            self.fold.take(self.job.drain())
            self._draw()
            self.post_message(self.Changed())

    @on(TrainingEnded)
    def _ended(self, message: TrainingEnded) -> None:
        message.stop()
        self.fold.take(message.job.drain())
        self.running = False
        self.failure = message.failure
        self._draw()
        self.scroll_home(animate=False)
        self.post_message(self.Changed(ended=True))
        if message.failure is not None and message.failure.error.kind != "cancelled":
            self.post_message(message.failure)  # the app tells it as well

    def _tick(self) -> None:
        if self.running and time.monotonic() - self._since >= _SILENT:
            self._draw()

    def _draw(self) -> None:
        if self.job is None or not self.is_mounted:
            return
        fold, width = self.fold, max(self.scrollable_content_region.width - 1, 40)
        if (fold.phase, fold.message) != self._phase:
            self._phase, self._since = (fold.phase, fold.message), time.monotonic()
        lasted = time.monotonic() - self._since
        self.query_one("#standing", Static).update(
            Content("\n").join(
                standing(
                    fold,
                    self.job.wish,
                    running=self.running,
                    stopping=self.stopping,
                    lasted=lasted if lasted >= _SILENT else math.nan,
                    width=width,
                )
            )
        )
        came = outcome(fold, self.failure.error if self.failure else None, self._keys(), width)
        told = self.query_one("#outcome", Static)
        told.display = bool(came) and not self.running
        told.update(Content("\n").join(came))
        self.query_one(TrainingPlots).show(fold)
        sheet = self.query_one("#sheet", Static)
        sheet.display = bool(fold.sheet)
        rows = tuple(fold.sheet.items())
        sheet.update(Content("\n").join(titled("What is learned from", facts(rows, width))[:-1]))
